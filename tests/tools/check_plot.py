"""Checks of tools/plot.py, for tests/cli/plot.sh: numbers by hand and by plain loops, bad reports, and how pictures look.

usage: check_plot.py FOLDER, which has fresh/spmv.json, pagerank.json and .csv, bicgstab.json and .csv. The last line counts.
"""
import contextlib
import copy
import csv
import io
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
import traceback
import types
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLOT = os.path.join(ROOT, "tools", "plot.py")
PUBLISHED = os.path.join(ROOT, "docs", "benchmarks")
sys.path.insert(0, os.path.join(ROOT, "tools"))
import plot  # noqa: E402
import plot_data  # noqa: E402

counts = {"passed": 0, "failed": 0, "skipped": 0}


def check(good, what):
    counts["passed" if good else "failed"] += 1
    if not good:
        where = traceback.extract_stack()[-2]
        print(f"check_plot.py:{where.lineno}: {what}", file=sys.stderr)


def close(a, b, within=1e-12):
    return a is not None and b is not None and abs(a - b) <= within * abs(b)


# --- Reports made by hand -------------------------------------------------------------------------------------------------


def spmv_run(label, seconds, prepare=1e-3, place="cuda", **more):
    ran = seconds is not None
    return {"label": label, "backend": label.split(":")[0], "place": place, "status": "WR_OK" if ran else "WR_EUNAVAILABLE",
            "reason": None if ran else "no card", "ran": ran, "plan": {"apply_bytes": 8e6}, "sectors": None,
            "prepare_s": prepare,
            "hot": {"median_s": seconds}, "cold": None, "verification": {"level": "full", "multiplied_right": True}, **more}


def spmv_report(matrices, settings=""):
    """matrices: {source: runs}."""
    return {"schema": 1, "program": "spmv", "machine": {"cpu": "a CPU"}, "settings": settings, "exit_code": 0,
            "places": [{"place": "cuda", "status": "WR_OK", "device": "a card", "read_bandwidth": 4e12}],
            "matrices": [{"source": source, "precision": "f64", "status": "WR_OK", "nrows": 10, "ncols": 10, "nnz": 1000000,
                          "has_values": True, "runs": runs} for source, runs in matrices.items()]}


def solver_report(program, label, solve, history, outcome="converged", settings=""):
    return {"schema": 1, "program": program, "settings": settings, "machine": {"cpu": "a CPU"},
            "problem": {"source": "gen:small", "precision": "f64", "nnz": 1000, "has_values": True},
            "runs": [{"label": label, "place": "host", "ran": True, "setup_s": 0.5, "plan": {"apply_bytes": 1e6},
                      "ledger": {"phases": {"solve": {"s": solve}}}, "apply": {"median_s": 1e-3, "read_bandwidth": 2e9},
                      "result": {"outcome": outcome, "iterations": 10, "multiplies": 20},
                      "history": {"iteration": [k for k, _ in history], "measure": [m for _, m in history]},
                      "verification": {"level": "full", "multiplied_right": True, "met_tolerance": True}}]}


def data_of(*reports):
    data = plot_data.Data()
    for report in reports:
        data.add(copy.deepcopy(report))
    data.settle()
    return data


def table_of(rows):
    """{(cell of the columns before the first number): {heading: value}} of rows with a heading."""
    heading, *rest = [list(row) for row in rows]
    return heading, [dict(zip(heading, row)) for row in rest]


# Four matrices. a is best on two, twice and 1.1 times the best on the others; b did not run on D; c is wrong on A and not
# timed on B.
BY_HAND = {
    "A": [spmv_run("a", 1e-3), spmv_run("b", 3e-3),
          spmv_run("c", 1e-4, verification={"level": "full", "multiplied_right": False})],
    "B": [spmv_run("a", 2e-3), spmv_run("b", 1e-3), spmv_run("c", None, ran=True, hot=None)],
    "C": [spmv_run("a", 5e-3), spmv_run("b", 7.5e-3), spmv_run("c", 5e-3)],
    "D": [spmv_run("a", 1.1e-3), spmv_run("b", None), spmv_run("c", 1e-3)],
    "E": [spmv_run("a", None), spmv_run("b", float("nan"))],
}
SHARES = {  # within a factor of 1, 1.05, 1.1, 1.2, 1.5, 2, 4, 10
    "a": (2, 2, 3, 3, 3, 4, 4, 4),
    "b": (1, 1, 1, 1, 2, 2, 3, 3),
    "c": (2, 2, 2, 2, 2, 2, 2, 2),
}


def test_profile():
    heading, rows = table_of(plot_data.profile_rows(data_of(spmv_report(BY_HAND))))
    check([row["backend"] for row in rows] == ["a", "b", "c"] or [row["backend"] for row in rows] == ["a", "c", "b"],
          "the best backend is not first")
    for row in rows:
        check(row["matrices"] == 4, f"{row['backend']}: of {row['matrices']} matrices; on E nothing ran")
        shares = [row[f"within {factor:g}"] for factor in plot_data.FACTORS]
        check(all(close(4 * share, n) or share == n == 0 for share, n in zip(shares, SHARES[row["backend"]])),
              f"{row['backend']}: shares {shares}")
    by_name = {row["backend"]: row for row in rows}
    check(close(by_name["a"]["geometric mean"], (1 * 2 * 1 * 1.1) ** 0.25), "the geometric mean of a is wrong")
    check(by_name["b"]["ran"] == 3 and close(by_name["b"]["worst"], 3) and by_name["b"]["worst on"] == "A",
          "b's worst is wrong")
    check(by_name["c"]["ran"] == 2, "wrong and untimed products count")


def test_heatmap():
    _, rows = table_of(plot_data.heatmap_rows(data_of(spmv_report(BY_HAND))))
    by_name = {row["matrix"]: row for row in rows}
    check(set(by_name) == set("ABCD"), "the heat map has other rows")
    check(close(by_name["B"]["least time s"], 1e-3) and close(by_name["B"]["a"], 2) and by_name["B"]["c"] is None,
          "row B is wrong")
    check(by_name["A"]["c"] is None, "a wrong product has a time")


def test_roofline():
    run = spmv_run("a", 2e-3, sectors={"streams": 200000, "x": 50000})
    _, [row] = table_of(plot_data.roofline_rows(data_of(spmv_report({"gen:A": [run]}))))
    check(row["matrix"] == "A" and close(row["flop/byte"], 0.25) and close(row["GFLOP/s"], 1) and close(row["GB/s"], 4),
          f"the roofline has {row}")
    check(close(row["share of read bandwidth"], 0.001) and close(row["flop/sector"], 8), "shares of the roof are wrong")
    check(close(row["share of sectors"], 250000 / 2e-3 / 225e9), "the share of sectors is wrong")


def test_vectors():
    """Reports of one and of four vectors: two runs, and four times the operations."""
    one, four = (spmv_report({"A": [spmv_run("a", t, vectors=k, plan={"apply_bytes": 8e6 * k})]})
                 for k, t in ((1, 1e-3), (4, 2e-3)))
    data = data_of(one, four)
    check(list(data.cases["spmv", "A", "f64", True].runs) == ["a (vectors 1)", "a (vectors 4)"] and not data.notes,
          "one and four vectors are one run")
    _, rows = table_of(plot_data.roofline_rows(data))
    check(len(rows) == 2 and close(rows[0]["GFLOP/s"], 2) and close(rows[1]["GFLOP/s"], 4), f"operations of vectors: {rows}")
    check(all(close(row["flop/byte"], 0.25) for row in rows), f"operations a byte of vectors: {rows}")
    check(plot_data.curves(data.groups(), "vectors") == {"A, f64": {"a": [(1, 1e-3), (4, 2e-3)]}}, "no curve over vectors")
    del one["matrices"][0]["runs"][0]["vectors"]
    check(list(data_of(one, one).cases["spmv", "A", "f64", True].runs) == ["a"], "a report without vectors has not one")


def brute_force(lines, last):
    """The envelope by looking at every k; of equal lines the one so far stays."""
    found = []
    for k in range(1, last + 1):
        totals = {name: prepare + k * multiply for name, (prepare, multiply) in lines.items()}
        least = min(totals.values())
        if not found or totals[found[-1][1]] > least:
            found.append((k, min((name for name in lines if totals[name] == least), key=lambda name: lines[name][1])))
    return found


def test_breakeven():
    check(plot_data.envelope({}) == [], "no line has an envelope")
    check(plot_data.envelope({"a": (0.0, 2.0), "b": (10.0, 1.0)}) == [(1, "a"), (11, "b")],
          "10 + k < 2 k is not found at 11")
    check(plot_data.envelope({"a": (3.0, 2.0), "b": (3.0, 2.0), "c": (9.0, 5.0)}) == [(1, "a")],
          "equal lines change places")
    rng = random.Random(4)
    for _ in range(200):  # whole numbers, so that sums are exact
        lines = {f"l{k}": (float(rng.randrange(400)), float(rng.randrange(1, 40))) for k in range(rng.randrange(1, 9))}
        found, wanted = plot_data.envelope(lines), brute_force(lines, 500)
        check([step for step in found if step[0] <= 500] == wanted, f"{lines}: {found}, not {wanted}")
    report = spmv_report({"A": [spmv_run("slow", 2e-3, 0), spmv_run("fast", 1e-3, 10.5e-3), spmv_run("never", 3e-3, 1),
                                spmv_run("unknown", 1e-5, None)]})
    _, rows = table_of(plot_data.breakeven_rows(data_of(report)))
    found = {row["backend"]: (row["least from"], row["least until"]) for row in rows}
    check(found == {"slow": (1, 10), "fast": (11, None), "never": (None, None)}, f"least from and until: {found}")


def test_convergence():
    history = [(1, 0.5), (5, 0.25), (10, 1e-9)]
    data = data_of(solver_report("bicgstab", "cpu_csr", 2.0, history, settings='method = "auto"\n'),
                   solver_report("bicgstab", "cpu_csr", 1.0, [(10, 1.0)], "stagnated", settings='method = "idr"\n'))
    _, rows = table_of(plot_data.convergence_rows(data))
    mine = [row for row in rows if row["backend"] == "cpu_csr (auto)"]
    check([row["iteration"] for row in mine] == [1, 5, 10] and [row["measure"] for row in mine] == [0.5, 0.25, 1e-9],
          "the history is another one")
    check(all(close(row["multiplies"], 2 * row["iteration"]) and close(row["seconds"], 0.2 * row["iteration"])
              for row in mine),
          "multiplies or seconds of an iteration are wrong")
    _, rows = table_of(plot_data.profile_rows(data))
    by_name = {row["backend"]: row for row in rows}
    check(by_name["cpu_csr (auto)"]["within 1"] == 1, "the run that converged is not the best")
    check(by_name["cpu_csr (idr)"]["ran"] == 0, "a run that did not converge counts")


def test_curves():
    matrices = {"gen:A": [spmv_run("base", 4e-3)] + [spmv_run(f"k:sigma={s}:x=on", t) for s, t in ((5, 4e-3), (7, 2e-3))],
                "gen:B": [spmv_run("base", 1e-3)] + [spmv_run(f"k:sigma={s}:x=on", t) for s, t in ((5, 4e-3), (7, 1e-3))]}
    data = data_of(spmv_report(matrices))
    panels = plot_data.curves(data.groups(), "sigma", "base")
    check(list(panels) == ["k:x=on, f64"], f"panels {list(panels)}")
    lines = panels["k:x=on, f64"]
    check(lines["A"] == [(5, 1.0), (7, 2.0)] and lines["B"] == [(5, 0.25), (7, 1.0)], f"speed-ups {lines}")
    check(close(lines["geometric mean"][0][1], 0.5) and close(lines["geometric mean"][1][1], math.sqrt(2)),
          "the mean is wrong")
    check(plot_data.curves(data.groups(), "sigma", "absent") == {}, "speed-ups over a run that is not there")
    threads = [spmv_report({"gen:A": [spmv_run("a", 1e-3 / n, place="host"), spmv_run("b:c=2", 2e-3, place="host")]},
                           f"threads = {n}\n") for n in (4, 1, 2)]
    panels = plot_data.curves(data_of(*threads).groups(), "threads")
    check(panels == {"A, f64": {"a": [(1, 1e-3), (2, 5e-4), (4, 2.5e-4)], "b:c=2": [(1, 2e-3), (2, 2e-3), (4, 2e-3)]}},
          f"times over threads: {panels}")


def test_names():
    one, other = (spmv_report({"A": [spmv_run("a", t)]}) for t in (1e-3, 2e-3))
    data = data_of(one, other)
    check([run.time for run in next(iter(data.cases.values())).runs.values()] == [2e-3],
          "the last of two equal runs does not count")
    check(any("measured again" in note for note in data.notes), "nothing says that a run was measured again")
    one["settings"], other["settings"] = "threads = 1\n", "threads = 2\n"
    check(list(next(iter(data_of(one, other).cases.values())).runs) == ["a"], "the threads of a host tell runs on a card apart")
    other["places"][0]["device"] = "another card"
    names = set(next(iter(data_of(one, other).cases.values())).runs)
    check(names == {"a (a card)", "a (another card)"}, f"runs on two cards are {names}")
    files = spmv_report({f"/d/{path}": [spmv_run("a", 1)] for path in ("e/add32.mtx.gz", "f.x.mtx", "g")})
    for pattern, wanted in (("add32", "e/add32.mtx.gz"), ("add32.mtx.gz", "e/add32.mtx.gz"), ("f.x", "f.x.mtx"), ("g", "g"),
                            ("/d/g", "g"), ("*.gz", "e/add32.mtx.gz")):
        data = plot_data.Data()
        data.add(copy.deepcopy(files))
        data.settle([pattern])
        check([data.shown(case.source) for case in data.cases.values()] == [wanted], f"--matrix {pattern} is not {wanted}")
    data = plot_data.Data()
    data.add(copy.deepcopy(files))
    data.settle(["add", "g"], ["b"])
    check(data.notes[0] == "--matrix add fits nothing; there are add32, f.x, g" and data.notes[1].endswith("there are a"),
          f"notes on names that do not exist: {data.notes}")
    check(plot_data.common_folder(["/d/a", "b"]) == plot_data.common_folder(["gen:a"]) == plot_data.common_folder(["a"]) == "",
          "a common folder where there is none")
    data = plot_data.Data()
    data.add(spmv_report({"gen:A": [spmv_run("a", 1), spmv_run("b", 1)], "gen:AB": [spmv_run("ab", 1)]}))
    data.settle(["A"], ["a", "b*"], ["f64"])
    check([(case.source, list(case.runs)) for case in data.cases.values()] == [("gen:A", ["a", "b"])],
          "--matrix or --run is wrong")


def test_text():
    special = "a_b%c&d#e$f{g}h~i^j\\k<l>m|n\"o"
    row = plot_data.latex_rows([[special, None, 0.5, 12, 1234.5678]])
    check(row.endswith("&  & 0.5 & 12 & 1.23e+03 \\\\\n"), f"the LaTeX row is {row}")
    back = row.split(" & ", maxsplit=1)[0]
    check(not re.search(r"(?<!\\)[_%&#$]", back) and not re.search(r"[~^<>|\"]", back),
          f"{back} has what LaTeX reads as its own")
    for letter, words in sorted(plot_data.LATEX.items(), key=lambda pair: -len(pair[1])):
        back = back.replace(words, letter) if len(words) > 2 else back
    back = re.sub(r"\\([_%&#${}])", r"\1", back)
    check(back == special, f"{special} comes back as {back}")
    data = data_of(spmv_report({'a,"b"': [spmv_run("x_1", 1e-3), spmv_run("y", 2e-3)]}))
    options = types.SimpleNamespace(x=[], against=None)
    rows = list(csv.reader(io.StringIO(plot.table("heatmap", data, options, "csv"))))
    check(rows == [["group", "matrix", "least time s", "x_1", "y"], ["f64", 'a,"b"', "0.001", "1.0", "2.0"]],
          f"CSV has {rows}")


# --- Bad reports ----------------------------------------------------------------------------------------------------------


BAD = {
    "empty.json": "", "blank.json": " \n\n", "brace.json": "{",
    "words.json": "this is no JSON\nand no report\n", "list.json": "[1, 2]",
    "null.json": "null", "nothing.json": '{"program": "spmv"}',
    "number.json": '{"program": "spmv", "matrices": 7, "places": 1}',
    "program.json": '{"program": ["spmv"]}', "runs.json": '{"program": "bicgstab", "runs": {"a": 1}, "problem": []}',
    "deep.json": "[" * 100000,
    "long.json": '{"program": "spmv", "matrices": [' + "9" * 10000 + "]}", "binary.json": "\0\1\2\xff",
    "foreign.json": '{"package": "x", "version": 1}',
    "matrix.json": '{"program": "spmv", "matrices": [null, 1, {"runs": [1, null]}]}',
}


def call(arguments, **environment):
    # What another user's matplotlibrc says must not matter, nor the order of sets.
    return subprocess.run([sys.executable, PLOT, *arguments], capture_output=True, text=True, cwd=work, timeout=300,
                          env={**os.environ, **environment}, check=False)


def refused(arguments, sentence, code=1, **environment):
    done = call(arguments, **environment)
    check(done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}: {done.stderr}")
    check(sentence in done.stderr and "Traceback" not in done.stderr, f"{arguments} says {done.stderr}, not {sentence}")
    check(code == 2 or all(line.startswith("plot.py: ") for line in done.stderr.splitlines()),
          f"{arguments}: {done.stderr}")
    check(done.stdout == "", f"{arguments} prints {done.stdout}")


def test_bad():
    for name, content in BAD.items():
        path = os.path.join(work, name)
        with open(path, "w", encoding="latin-1") as file:
            file.write(content)
        data = plot_data.Data()
        data.read(path)
        data.settle()
        check(not any(case.runs for case in data.cases.values()) or name == "matrix.json", f"{name} has runs")
        for kind in plot.KINDS:
            plot.table(kind, data, types.SimpleNamespace(x=["threads"], against=None), "csv")
    good = json.dumps(spmv_report({"A": [spmv_run("a", 1e-3), spmv_run("b", 2e-3)]}))
    path = os.path.join(work, "cut.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'{good}\n{good[:100]}\n{good}\n{{"other": 1}}\n{good[:50]}')
    data = plot_data.Data()
    data.read(path)
    data.settle()
    check(len(data.pending) == 4 and len(data.cases) == 1, "lines around a broken one are lost")
    notes = " ".join(data.notes)
    check("line 2 is no JSON" in notes and "1 of 3 JSON values" in notes,
          f"notes {data.notes}")
    refused(["empty.json"], "empty.json is empty")
    refused(["profile", "words.json"], "line 1 is no JSON")
    refused(["profile", "deep.json", "-o", "x.svg"], "is no JSON")
    refused(["absent.json"], "absent.json cannot be read: No such file")
    refused(["profile", "cut.jsonl", "--csv", "--matrix", "Z"], "nothing is left to draw")
    refused(["--csv", "cut.jsonl"], "need the name of a picture", 2)
    refused(["curves", "cut.jsonl"], "curves need --x", 2)
    refused(["profile"], "no file is named", 2)
    refused(["wrong", "cut.jsonl"], "'wrong' is no file and no picture (profile, heatmap, ")
    refused(["profile", "heatmap", "cut.jsonl"], "'heatmap' is no file; one picture is named")
    refused(["cut.jsonl", "-o", "x.pdf"], "-o x.pdf is one file for one picture", 2)
    refused(["profile", "cut.jsonl", "--csv", "--latex"], "choose one", 2)
    refused(["profile", "cut.jsonl", "--csv", "-o", "x.csv"], "print on standard output", 2)
    refused(["convergence", "cut.jsonl", "--csv"], "no run has a history")
    fake = os.path.join(work, "fake", "matplotlib")
    os.makedirs(fake)
    with open(os.path.join(fake, "__init__.py"), "w", encoding="utf-8") as file:
        file.write('raise ImportError("none here", name="matplotlib")\n')
    refused(["profile", "cut.jsonl"], "matplotlib is missing", PYTHONPATH=os.path.dirname(fake))
    done = call(["profile", "cut.jsonl", "--csv"], PYTHONPATH=os.path.dirname(fake))
    check(done.returncode == 0 and done.stdout.startswith("group,backend"), "--csv needs matplotlib")


def test_lack():
    """What is said where there is no picture."""
    report = spmv_report({"A": [spmv_run("a:c=1", 1e-3, plan=None)]}, "threads = 3\n")
    report["matrices"][0]["runs"][0]["place"] = "host"
    data = data_of(report)
    for kind, said, more in (("profile", "at least two backends; the only one with times is a:c=1", {}),
                             ("breakeven", "at least two backends", {}), ("roofline", "its bytes", {}),
                             ("curves", "--x nosuch: the runs have threads, vectors, c", {"knobs": ["c", "nosuch"]}),
                             ("curves", "--against b: the runs are a:c=1", {"knobs": ["c"], "against": "b"})):
        sentence = plot_data.lack(kind, data, **more)
        check(said in sentence, f"{kind} says '{sentence}', not '{said}'")
    data = plot_data.Data(cold=True)
    data.add(report)
    data.settle()
    check(plot_data.lack("heatmap", data) == "no cold times: run spmv --cold", "nothing says that cold times are missing")


def places_in(value, path=()):
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places_in(child, path + (key,))


def test_damaged(pictures):
    """A member of a good report is another thing: nothing fails, whatever is drawn."""
    whole = [spmv_report(BY_HAND), solver_report("bicgstab", "cpu_csr", 2.0, [(1, 0.5), (2, 0.1)])]
    rng = random.Random(7)
    options = types.SimpleNamespace(x=["threads"], against=None)
    for trial in range(400):
        reports = copy.deepcopy(whole)
        for _ in range(rng.randrange(1, 4)):
            path = rng.choice([path for path in places_in(reports) if len(path) > 1])
            at = reports
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = rng.choice([None, [], {}, "x", -1, 0, 1e400, float("nan"), True, [[]], 10 ** 400, 1e-99, 1e99, 3])
        data = plot_data.Data()
        try:
            for report in plot_data.reports(reports):
                if report:
                    data.add(report)
            data.settle()
            for kind in plot.KINDS:
                plot.table(kind, data, options, "tex")
                if pictures and trial % 40 == 0:
                    figure = getattr(pictures, kind)(data, options)
                    if figure:
                        figure.canvas.draw()
        except Exception:  # whatever it is, it is the failure
            check(False, f"trial {trial}: {traceback.format_exc()}")
            return
    check(True, "")


# --- Pictures -------------------------------------------------------------------------------------------------------------


def linear(c):
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def rgb(colour):
    return [linear(int(colour[k:k + 2], 16) / 255) for k in (1, 3, 5)]


def contrast(one, other):
    """WCAG 2.2, of two colours in linear light."""
    low, high = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05 for r, g, b in (one, other))
    return high / low


# Machado, Oliveira and Fernandes (IEEE TVCG 15, 2009), severity 1: without red, without green cones.
BLIND = {"none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
         "red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
         "green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881))}


def lab(light):
    x, y, z = (sum(m * c for m, c in zip(row, light)) for row in
               ((0.4339, 0.3762, 0.1899), (0.2126, 0.7152, 0.0722), (0.0177, 0.1095, 0.8730)))
    x, y, z = (max(t, 0) ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_colours(pictures):
    white, dark = rgb("#ffffff"), rgb("#0d1117")
    most = math.sqrt(contrast(white, dark))  # more has no colour on both pages
    for page in (white, dark):
        check(contrast(rgb(pictures.TEXT), page) > most - 0.02,
              f"text has a contrast of {contrast(rgb(pictures.TEXT), page):.2f}")
        for colour in pictures.COLOURS:
            check(contrast(rgb(colour), page) >= 3, f"{colour} has a contrast of {contrast(rgb(colour), page):.2f}")
    for one, other in itertools.combinations(pictures.COLOURS, 2):
        for name, matrix in BLIND.items():
            seen = [lab([sum(m * c for m, c in zip(row, rgb(colour))) for row in matrix]) for colour in (one, other)]
            check(math.dist(*seen) > 15, f"{one} and {other} are {math.dist(*seen):.1f} apart without {name}")
    check(len(set(pictures.MARKERS)) == len(pictures.COLOURS), "two backends have the same marker")
    import matplotlib
    shades = matplotlib.colormaps["viridis_r"] if hasattr(matplotlib, "colormaps") else matplotlib.cm.get_cmap("viridis_r")
    for k in range(256):
        number = pictures.contrast_text(shades(k))
        light = [linear(c) for c in shades(k)[:3]]
        check(contrast(rgb(number), light) >= 4.5,
              f"numbers on shade {k} have a contrast of {contrast(rgb(number), light):.2f}")


def drawn(pictures, figure):
    """[(words, box, angle)] of what is drawn, and the box of the page."""
    from matplotlib.text import Text
    found = []
    plain = Text.draw

    def noted(self, renderer, *arguments, **more):
        if self.get_visible() and self.get_text().strip():
            found.append((self.get_text(), self.get_window_extent(renderer), self.get_rotation()))
        return plain(self, renderer, *arguments, **more)
    Text.draw = noted
    try:
        figure.canvas.draw()
    finally:
        Text.draw = plain
    return found, pictures.page(figure)


def overlap(one, other):
    return min(one.x1, other.x1) - max(one.x0, other.x0) > 0.5 and min(one.y1, other.y1) - max(one.y0, other.y0) > 0.5


def check_picture(pictures, figure, name):
    """Its texts: drawn as text, on the page, apart from each other."""
    content = pictures.image(figure, "svg")
    tree = xml.etree.ElementTree.fromstring(content)
    texts = {"".join(element.itertext()).strip() for element in tree.iter("{http://www.w3.org/2000/svg}text")}
    check(len(content) < 4e6, f"{name} is larger than 4 MB")
    found, page = drawn(pictures, figure)
    page = page.transformed(figure.dpi_scale_trans)
    for words, box, _ in found:
        check(box.x0 >= page.x0 and box.x1 <= page.x1 and box.y0 >= page.y0 and box.y1 <= page.y1,
              f"{name}: '{words}' is cut off: {box} {page}")
        for line in words.replace(r"\$", "$").split("\n"):
            check(line.strip() in texts, f"{name}: the SVG does not have the text '{line}'")
    wide, high = (float(length) for length in tree.get("viewBox").split()[2:])
    # Two renderers' widths of a text differ by some percent.
    check(abs(wide - page.width) < 2 + 0.02 * wide and abs(high - page.height) < 2 + 0.02 * high,
          f"{name}: the page is not that of its texts: {wide, high} {page}")
    level = [(words, box) for words, box, angle in found if angle in (0, 90)]
    clashes = [(a[0], b[0]) for a, b in itertools.combinations(sorted(level, key=lambda pair: pair[1].x0)[:700], 2)
               if overlap(a[1], b[1])]
    check(not clashes, f"{name}: {len(clashes)} texts overlap, such as {clashes[:3]}")
    check(b"font-face" not in content and not re.search(rb"\d{4}-\d\d-\d\dT", content),
          f"{name}: a font or a date is in it")
    return texts


LONG = "gen:" + "a_%&#$<>\"'{}\\~^$é" * 12 + "x" * 20
HARD = {
    "one matrix, one run": lambda: spmv_report({"A": [spmv_run("a", 1e-3)]}),
    "one matrix": lambda: spmv_report({"A": [spmv_run("a", 1e-3), spmv_run("b", 1e-3)]}),
    "one matrix, one run, no roof": lambda: {**spmv_report({"A": [spmv_run("a", 1e-3)]}), "places": []},
    "all times null": lambda: spmv_report({"A": [spmv_run("a", None), spmv_run("b", None)]}),
    "extreme times": lambda: spmv_report({
        "A": [spmv_run("a", 1e-99), spmv_run("b", 1e99, prepare=0)], "B": [spmv_run("a", 1e-9)]}),
    "long names": lambda: spmv_report({LONG + str(m): [
        spmv_run(LONG[4:] + str(k), 1e-3 * (k + 1)) for k in range(12)] for m in range(4)}),
    "40 backends": lambda: spmv_report({f"m{m}": [
        spmv_run(f"_b{k}", 1e-4 * (1 + (7 * k + m) % 41), 1e-3 * (40 - k)) for k in range(40)] for m in range(3)}),
    "letters that XML lacks": lambda: spmv_report({
        "\0\x1b[1m\n\ud800\ufffe": [spmv_run("a\tb\r", 1e-3), spmv_run("\x7f", 2e-3)]}),
    "sectors": lambda: spmv_report({"A": [spmv_run("a", 2e-6, sectors={"streams": 2e5, "x": 2e5}), spmv_run("b", 4e-6)],
                                    "B": [spmv_run("a", 3e-6, sectors={"streams": 3e5, "x": 1e5})]}),
    "150 matrices": lambda: spmv_report({f"matrix{m}": [spmv_run(f"b{k}", 1e-4 * (1 + (7 * k + 3 * m) % 41)) for k in range(40)]
                                         for m in range(150)}),
    "1500 matrices": lambda: spmv_report({f"matrix{m}": [spmv_run(f"b{k}", 1e-4 * (1 + (7 * k + 3 * m) % 41)) for k in range(3)]
                                          for m in range(1500)}),
}


def test_hard(pictures):
    options = types.SimpleNamespace(x=[], against=None)
    for name, make in HARD.items():
        data = data_of(make())
        for kind in ("profile", "heatmap", "roofline", "breakeven", "convergence"):
            if name == "1500 matrices" and kind != "heatmap":
                continue
            figure = getattr(pictures, kind)(data, options)
            nothing = name == "all times null" or kind == "convergence" or name.startswith("one matrix, one run") and kind != "roofline"
            check((figure is None) == nothing, f"{name}: {kind} is {'missing' if figure is None else 'made of nothing'}")
            if figure:
                check_picture(pictures, figure, f"{name}, {kind}")


def test_styles(pictures):
    """A colour means one run in all pictures, whatever is chosen, and the eight best have colours."""
    backends = [spmv_run(f"b{k}", 1e-4 * (1 + 7 * k % 20), 10.0 ** (k % 5 - 6)) for k in range(20)]
    report = spmv_report({"m0": backends, "m1": backends})
    runs = [f"b{k}" for k in (3, 19, 5, 12)]
    colours = {}
    for chosen in ((), runs):
        data = plot_data.Data()
        data.add(copy.deepcopy(report))
        data.settle((), chosen)
        for kind in ("profile", "roofline", "breakeven"):
            figure = getattr(pictures, kind)(data, types.SimpleNamespace(x=[], against=None))
            legend = figure.axes[-1]
            for line, label in zip(legend.lines, legend.texts):
                if re.fullmatch(r"b\d+", label.get_text()):
                    colours.setdefault(label.get_text(), set()).add((line.get_color(), line.get_marker()))
    check(len(colours) > 8 and all(len(looks) == 1 for looks in colours.values()), f"runs change their look: {colours}")
    best = {colour for k in range(20) if 7 * k % 20 < 8 for colour, _ in colours.get(f"b{k}", ())}
    check(best == set(pictures.COLOURS), "the eight best runs have not eight colours")
    looks = [pictures.Styles([str(k) for k in range(8)], {str(k): 8 * k for k in range(8)}).look(str(k)) for k in range(8)]
    check(len({(look["color"], look["marker"]) for look in looks}) == 8, "two runs of one picture look the same")
    lines = {f"c{k}": [(1, 20.0 - k), (2, 19.0 - k)] for k in range(9)}
    check(pictures.curves_ranked([lines], None) == [f"c{k}" for k in range(8, -1, -1)], "the fastest curve is not first")


def test_convergence_picture(pictures):
    """The tolerance and the change of a method are drawn; titles keep the last part of a path and stay in their panel."""
    report = solver_report("bicgstab", "cpu_csr", 2.0, [(1, 0.5), (5, 0.25), (10, 1e-9)])
    report["problem"].update(source="/some/folder/" + "long_folder/" * 9 + "base.mtx.gz", tolerance=1e-8)
    other = solver_report("bicgstab", "cpu_csr", 1.0, [(1, 0.5)])
    other["problem"]["source"] = "/some/folder/a.mtx"
    report["runs"][0]["result"]["method_changes"] = "bicgstab; from iteration 6 on idr, as it stagnated"
    data = data_of(report, other)
    figure = pictures.convergence(data, types.SimpleNamespace(x=[], against=None))
    texts = check_picture(pictures, figure, "two long paths")
    check({"tolerance", "from here on another method", "a.mtx, bicgstab, f64"} <= texts, f"the picture has {texts}")
    check(any(t.startswith("long_folder/") and "/base.mtx.gz" in t for t in texts), f"a title lost its file's name: {texts}")
    axes = figure.axes[0]
    check(any(set(line.get_ydata()) == {1e-8} for line in axes.lines), "there is no line at the tolerance")
    marks = [tuple(line.get_xydata()[0]) for line in axes.lines if line.get_marker() == "|"]
    check(marks == [(5, 0.25)], f"the method changed at {marks}")
    for stop, tolerance in (("bound", None), ("change", 1e-8)):
        report = solver_report("pagerank", "cpu_csr", 1, [(1, 0.5)], settings=f"stop = {stop}\n")
        report["problem"]["tolerance"] = 1e-8
        [case] = data_of(report).cases.values()
        check(case.runs["cpu_csr"].tolerance == tolerance, f"--stop {stop}: the tolerance of changes is not {tolerance}")
    check(pictures.cut_in_middle("abcdefgh/ijkl.mtx", 12) == "ab…/ijkl.mtx", "the last part of a path is cut")


def test_roof(pictures):
    for bytes_moved, above in ((8e6, False), (8e9, True)):
        data = data_of(spmv_report({"A": [spmv_run("a", 1e-3, plan={"apply_bytes": bytes_moved})]}))
        label = pictures.roofline(data, types.SimpleNamespace(x=[], against=None)).axes[0].get_xlabel()
        check(("from a cache" in label) == above, f"{bytes_moved:g} bytes in 1 ms at 4 TB/s: {label}")


def test_page(pictures):
    figure = pictures.profile(data_of(spmv_report(BY_HAND)), types.SimpleNamespace(x=[], against=None))
    figure.axes[0].set_xlabel("a label that is wider than its axis " * 4)
    check_picture(pictures, figure, "a long label")


def labels_in(path):
    with open(path, "rb") as file:
        tree = xml.etree.ElementTree.fromstring(file.read())
    return {"".join(element.itertext()).strip() for element in tree.iter("{http://www.w3.org/2000/svg}text")}


def test_published(pictures):
    """Pictures of the published reports. Those that pages show are as plot.py makes them now, up to matplotlib's version."""
    sweep = os.path.join(PUBLISHED, "2026-11-21-h200", "merbit_sigma.json")
    schedules = os.path.join(PUBLISHED, "2026-11-22-epyc", "cpu_bsr.jsonl")
    for path, page, options in ((sweep, "merbit_sigma.svg", types.SimpleNamespace(x=["sigma"], against="cusparse_coo")),
                                (schedules, "cpu_bsr.svg", types.SimpleNamespace(x=["threads", "chunks"], against=None))):
        data = plot_data.Data()
        data.read(path)
        data.settle()
        texts = check_picture(pictures, pictures.curves(data, options), page)
        shown = labels_in(os.path.join(ROOT, "docs", page))
        check(texts == shown, f"docs/{page} is not as plot.py makes it: {sorted(texts ^ shown)[:6]}")
    path = os.path.join(PUBLISHED, "2026-11-22-h200", "spmv.json")
    data = plot_data.Data()
    data.read(path)
    data.settle()
    options = types.SimpleNamespace(x=[], against=None)
    for kind in ("profile", "heatmap", "roofline", "breakeven"):
        texts = check_picture(pictures, getattr(pictures, kind)(data, options), f"spmv.json, {kind}")
        check("merbit" in texts and "cusparse_coo" in texts, f"{kind} does not name merbit")
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    _, rows = table_of(plot_data.profile_rows(data))
    for precision, values in (("f32", True), ("f64", False)):
        mine = [m for m in report["matrices"] if (m["precision"], m["has_values"]) == (precision, values)]
        title = precision + ("" if values else ", pattern")
        for row in (row for row in rows if row["group"] == title):
            within = 0
            for m in mine:
                times = {r["label"]: r["hot"]["median_s"] for r in m["runs"]
                         if r["ran"] and r["verification"]["multiplied_right"]}
                within += times.get(row["backend"], math.inf) <= 1.5 * min(times.values())
            check(close(row["within 1.5"], within / len(mine)) or row["within 1.5"] == within == 0,
                  f"{title}, {row['backend']}")


def test_fresh(pictures):
    """Of a small run on this machine: tables have the report's own numbers, and the pictures are made by the command."""
    fresh = os.path.join(work, "fresh")
    reports = {}
    for name in ("spmv", "pagerank", "bicgstab"):
        with open(os.path.join(fresh, name + ".json"), encoding="utf-8") as file:
            reports[name] = json.load(file)
    done = call(["breakeven", "fresh/spmv.json", "--csv"])
    rows = {(row["group"], row["matrix"], row["backend"]): row for row in csv.DictReader(io.StringIO(done.stdout))}
    runs = 0
    for matrix in reports["spmv"]["matrices"]:
        patterns = any(not m["has_values"] for m in reports["spmv"]["matrices"])
        group = matrix["precision"] + (", pattern" if patterns and not matrix["has_values"] else "")
        for run in (run for run in matrix["runs"] if run["ran"]):
            row = rows.get((group, matrix["source"][4:], run["label"]))
            wanted = (run["hot"]["median_s"], run["prepare_s"])
            check(row and (float(row["multiply s"]), float(row["prepare s"])) == wanted,
                  f"{matrix['source']}, {run['label']}: the row is {row}")
            runs += 1
    check(runs == len(rows) > 5, f"{len(rows)} rows of {runs} runs")
    for program in ("pagerank", "bicgstab"):
        done = call(["convergence", f"fresh/{program}.json", "--csv"])
        found = [(row["backend"], row["iteration"], float(row["measure"])) for row in csv.DictReader(io.StringIO(done.stdout))]
        with open(os.path.join(fresh, program + ".csv"), encoding="utf-8") as file:
            wanted = [(row["backend"], row["iteration"], float(row["measure"])) for row in csv.DictReader(file)]
        check(found == wanted and len(found) > 10, f"{program}: the picture's history is not that of --history")
    if not pictures:
        return
    files = [f"fresh/{name}.json" for name in reports]
    for folder, seed in (("once", "1"), ("again", "2")):
        done = call([*files, "-o", folder], PYTHONHASHSEED=seed)
        check(done.returncode == 0 and done.stderr == "", f"the command ends with {done.returncode}: {done.stderr}")
    names = sorted(os.listdir(os.path.join(work, "once")))
    check(names == sorted(f"{kind}.svg" for kind in plot.KINDS if kind != "curves"), f"the pictures are {names}")
    for name in names:
        with open(os.path.join(work, "once", name), "rb") as one, open(os.path.join(work, "again", name), "rb") as other:
            check(one.read() == other.read(), f"{name} is not the same bytes twice")
    check({"web:n=3000, pagerank, f64, pattern", "iterations", "reference"} <= labels_in(os.path.join(work, "once",
          "convergence.svg")),
          "the convergence picture lacks labels")
    for ending, begins in ((".png", b"\x89PNG"), (".pdf", b"%PDF"), (".csv", b"group,"), (".tex", b"group & ")):
        done = call(["heatmap", *files, "-o", "x" + ending])
        with open(os.path.join(work, "x" + ending), "rb") as file:
            check(done.returncode == 0 and file.read(6).startswith(begins[:6]), f"-o x{ending} makes something else")
    refused(["heatmap", *files, "-o", "x.gif"], "the ending is none of")
    refused(["heatmap", *files, "-o", "no/such/folder/x.svg"], "cannot be written: No such file")
    refused(["roofline", "fresh/spmv.json", "--run", "none"], "no run is of the matrices, runs and precisions asked for")


def main():
    test_profile()
    test_heatmap()
    test_roofline()
    test_vectors()
    test_breakeven()
    test_convergence()
    test_curves()
    test_names()
    test_text()
    test_lack()
    test_bad()
    with contextlib.redirect_stderr(io.StringIO()):
        pictures = plot.drawing()
    test_damaged(pictures)
    test_fresh(pictures)
    if pictures:
        test_colours(pictures)
        test_hard(pictures)
        test_styles(pictures)
        test_convergence_picture(pictures)
        test_roof(pictures)
        test_page(pictures)
        test_published(pictures)
    else:
        counts["skipped"] += 1
        print("[plot] skipped: matplotlib is missing, which draws pictures", file=sys.stderr)
    print("check_plot: {passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return counts["failed"] > 0


work = sys.argv[1]
sys.exit(main())
