#!/usr/bin/env python3
"""Solves systems by a list of command lines of bicgstab and judges each answer independently of it. Standard library alone.

usage: systems.py [--program FILE] [--variant OPTIONS]... [--limit SECONDS] [--runs N] [--patterns] [--precision f64|f32]
                  [--json FILE] [--markdown FILE] WHAT...
WHAT: a folder, of which all .mtx and .mtx.gz are taken; such a file; or gen:NAME. Square systems are solved; other files, vectors
and, without --patterns, files without values (graphs) are named as left out.
--variant '--precond jacobi' is one command line; it may be given again, and an empty one is the program's default. Ratios are to
the first one. Without any: '--precond none', '--precond jacobi' and the default.

The right-hand side b is A times ones, each element rounded once, and is given to the program as a file. The answer x is read from
the file that the program writes, and everything about it is computed here, from the entries as this script reads them:
  residual        ||b - A x|| / ||b||, 2-norms; in exact fractions where rounding could decide whether it meets the tolerance
  backward error  componentwise: the largest |b - A x|_i / (|A| |x| + |b|)_i
  forward error   the largest |x_i - 1|
A system is solved where the program ends with 0 and the residual meets the tolerance. A false claim is an exit 0 with a residual
above it. Time is that of the report's phases from the assembled rows to the answer: transform, upload, prepare, solve, download;
with --runs N the median of N runs, in which the command lines take turns. A solve that takes longer than the limit, reading
included, is interrupted.

--json gets a line a system; --markdown the page docs/systems.md; standard output a line a solve and the summary.
Exit status: 0; 1 if a claim was false, a program crashed, or an option is wrong.
"""
import argparse
import array
import gzip
import json
import math
import os
import shlex
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import textwrap
from fractions import Fraction

DEFAULT_VARIANTS = ["--precond none", "--precond jacobi", ""]
PHASES = ("transform", "upload", "prepare", "solve", "download")
REFUSALS = {1: "usage", 3: "refused", 4: "not available", 6: "out of memory", 7: "verification failed", 8: "not written",
            9: "device error", 130: "time limit"}
GRACE = 20  # seconds that an interrupted program has to write its report
USELESS = 0.1  # a forward error above it is counted


class LeftOut(Exception):
    """Not a system that can be solved here; says why."""


class Matrix:
    """Rows of (columns, values); repeated entries are kept beside each other, which a product adds up."""

    def __init__(self, n, rows, symmetric):
        self.n, self.rows = n, rows
        self.nnz = sum(len(cols) for cols, _ in rows)
        self.symmetric = symmetric
        diagonal = [math.fsum(v for j, v in zip(*row) if j == i) for i, row in enumerate(rows)]
        self.zero_diagonals = sum(1 for value in diagonal if value == 0)
        sizes = [max((abs(v) for v in row[1]), default=0.0) for row in rows]
        least = min((size for size in sizes if size > 0), default=0.0)
        self.row_spread = max(sizes, default=0.0) / least if least > 0 else None
        self.empty_rows = sum(1 for size in sizes if size == 0)

    @staticmethod
    def of_triplets(n, row, col, val):
        rows = [([], []) for _ in range(n)]
        for i, j, v in zip(row, col, val):
            rows[i][0].append(j)
            rows[i][1].append(v)
        symmetric = sorted(zip(row, col, val)) == sorted(zip(col, row, val))
        return Matrix(n, rows, symmetric)

    def times_ones(self):
        return array.array("d", (math.fsum(values) for _, values in self.rows))


def read_market(path, patterns):
    """A Matrix Market file, parsed here and not by windrow."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="latin-1") as file:
        banner = file.readline().lower().split()
        if banner[:2] != ["%%matrixmarket", "matrix"] or len(banner) < 5:
            raise LeftOut("no Matrix Market file")
        if banner[2] != "coordinate":
            raise LeftOut("an array")
        field, symmetry = banner[3], banner[4]
        if field == "pattern" and not patterns:
            raise LeftOut("no values")
        if field not in ("real", "integer", "pattern", "double"):
            raise LeftOut(field)
        if symmetry not in ("general", "symmetric", "skew-symmetric"):
            raise LeftOut(symmetry)
        lines = (line for line in file if line.strip() and not line.startswith("%"))
        nrows, ncols, _ = (int(word) for word in next(lines).split())
        if nrows != ncols:
            raise LeftOut(f"{nrows} x {ncols}")
        row, col, val = [], [], []
        for line in lines:
            words = line.split()
            i, j, v = int(words[0]) - 1, int(words[1]) - 1, 1.0 if field == "pattern" else float(words[2])
            row.append(i), col.append(j), val.append(v)
            if i != j and symmetry != "general":
                row.append(j), col.append(i), val.append(-v if symmetry == "skew-symmetric" else v)
    return Matrix.of_triplets(nrows, row, col, val)


def read_binary(path):
    """What --save-binary wrote: io/binary_file.h has the layout."""
    with open(path, "rb") as file:
        page = file.read(4096)
        flags, = struct.unpack_from("=I", page, 20)
        nrows, ncols, nnz = struct.unpack_from("=3q", page, 24)
        if nrows != ncols or not flags & 2:
            raise LeftOut("no values" if nrows == ncols else f"{nrows} x {ncols}")
        arrays = []
        for section, (kind, count) in enumerate((("q", nrows + 1), ("i", nnz), ("d", nnz))):
            offset, size, _ = struct.unpack_from("=3Q", page, 64 + 24 * section)
            values = array.array(kind)
            file.seek(offset)
            values.frombytes(file.read(size))
            assert len(values) == count, "the layout of io/binary_file.h"
            arrays.append(values)
    pointer, col, val = arrays
    row = [i for i in range(nrows) for _ in range(pointer[i], pointer[i + 1])]
    return Matrix.of_triplets(nrows, row, col, val)


def read_generated(options, name, folder):
    path = os.path.join(folder, "generated.wrm")
    command = [options.program, "-q", "-d", "cpu", "-n", "1", "--verify", "off", "--save-binary", path, name]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if not os.path.exists(path):
        raise SystemExit(f"systems: {name}: {done.stderr.strip()}")
    matrix = read_binary(path)
    os.remove(path)
    return matrix


def write_npy(path, values):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    if sys.byteorder != "little":
        values = array.array("d", values)
        values.byteswap()
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())


def read_npy(path):
    """The file that windrow wrote: <f8, one dimension."""
    with open(path, "rb") as file:
        data = file.read()
    length, = struct.unpack_from("<H", data, 8)
    values = array.array("d", data[10 + length:])
    if sys.byteorder != "little":
        values.byteswap()
    return values


def norm(values):
    """Without overflow or underflow on the way; nan if a value is not finite."""
    if not all(map(math.isfinite, values)):
        return math.nan
    largest = max(map(abs, values), default=0.0)
    return largest * math.sqrt(math.fsum((v / largest) ** 2 for v in values)) if largest > 0 else 0.0


def exact_meets(matrix, b, x, tolerance):
    """Whether ||b - A x|| <= tolerance ||b||, in fractions; up to 10^-12 more of it passes."""
    square = Fraction(0)
    for i, (cols, values) in enumerate(matrix.rows):
        r = Fraction(b[i]) - sum(Fraction(v) * Fraction(x[j]) for j, v in zip(cols, values))
        square += r * r
    limit = Fraction(tolerance) * (1 + Fraction(1, 10**12))
    return square <= limit * limit * sum(Fraction(v) ** 2 for v in b)


def judge(matrix, b, x, tolerance):
    """Residual, backward and forward error of x, and whether the residual meets the tolerance."""
    if len(x) != matrix.n or not all(math.isfinite(v) for v in x):
        return {"residual": None, "backward_error": None, "forward_error": None, "met": False}
    residual, rounding, backward = array.array("d"), array.array("d"), 0.0
    for i, (cols, values) in enumerate(matrix.rows):
        products = [-v * x[j] for j, v in zip(cols, values)]
        sizes = math.fsum(map(abs, products)) if all(map(math.isfinite, products)) else math.inf
        r = math.fsum([b[i]] + products) if math.isfinite(sizes) else math.inf
        residual.append(r)
        rounding.append(2.0**-52 * sizes)  # a product and the sum are rounded once each
        if r != 0:
            backward = max(backward, abs(r) / (sizes + abs(b[i])) if math.isfinite(sizes) else 1.0)
    size, doubt, limit = norm(residual), norm(rounding), tolerance * norm(b)
    met = size <= limit
    if not (size + doubt <= limit or size - doubt > limit * (1 + 1e-12)):
        met = exact_meets(matrix, b, x, tolerance)
    return {"residual": size / norm(b) if norm(b) > 0 and math.isfinite(size) else (0.0 if size == 0 else None),
            "backward_error": backward, "forward_error": max((abs(v - 1) for v in x), default=0.0), "met": met}


def run_once(command, limit):
    """Exit status, what was said on standard error, and whether the limit was passed. A program that is interrupted and does not
    end soon is killed; its status is then None."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, said = process.communicate(timeout=limit)
        return process.returncode, said, False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=GRACE)
        return process.returncode, said, True
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, "", True


def solve(options, name, matrix, b, variant, folder):
    """One system by one command line: what the program said, and what is true."""
    paths = {key: os.path.join(folder, key) for key in ("b.npy", "x.npy", "report.json")}
    for key in ("x.npy", "report.json"):
        if os.path.exists(paths[key]):
            os.remove(paths[key])
    command = [options.program, "-q", "-p", options.precision, "-b", paths["b.npy"], "-o", paths["x.npy"], "--json",
               paths["report.json"]] + shlex.split(variant) + [name]
    code, said, late = run_once(command, options.limit)
    if code == 1:
        raise SystemExit(f"systems: {shlex.join(command)}: {said.strip()}")
    found = {"options": variant, "exit": code, "outcome": REFUSALS.get(code, f"exit {code}"), "iterations": None,
             "multiplies": None, "time_s": None, "message": None, "residual": None, "backward_error": None,
             "forward_error": None, "solved": False, "false_claim": False}
    if code is None or code < 0:
        found["outcome"] = f"signal {-code}" if not late else "time limit"
        return found
    if said.strip():
        found["message"] = said.strip().splitlines()[-1].replace(name, os.path.basename(name))
    if os.path.exists(paths["report.json"]):
        with open(paths["report.json"], encoding="utf-8") as file:
            add_report(found, json.load(file))
    if late:
        found["outcome"] = "time limit"
    if os.path.exists(paths["x.npy"]) and "tolerance" in found:
        truth = judge(matrix, b, read_npy(paths["x.npy"]), found["tolerance"])
        found["solved"] = code == 0 and truth["met"]
        found.update((key, truth[key]) for key in ("residual", "backward_error", "forward_error"))
    found["false_claim"] = code == 0 and not found["solved"]  # also a claim without an answer or a report
    if found["false_claim"]:
        found["outcome"] = "false claim"
    return found


def add_report(found, report):
    """What the program's report says of its one run."""
    run = report["runs"][0]
    found["machine"] = {"cpu": report["machine"]["cpu"], "device": run["device"], "windrow": report["versions"]["windrow"],
                        "date": report["clocks"]["date"][:10]}
    found["tolerance"] = report["problem"]["tolerance"]
    if not run["ran"]:
        return
    result = run["result"]
    if found["exit"] in (0, 2, 5):
        found["outcome"] = result["outcome"]
    found.update(iterations=result["iterations"], multiplies=result["multiplies"], note=result["note"],
                 time_s=sum(run["ledger"]["phases"][phase]["s"] for phase in PHASES),
                 reported_residual=run["verification"].get("measure"),
                 reported_backward_error=run["verification"].get("backward_error"))


def solve_all(options, name, matrix, b, variants, folder):
    """By every command line; those that solve it take turns for further runs, and the median time counts."""
    solves = [solve(options, name, matrix, b, variant, folder) for variant in variants]
    times = [[found["time_s"]] for found in solves]
    for _ in range(1, options.runs):
        for k, variant in enumerate(variants):
            if solves[k]["solved"]:
                again = solve(options, name, matrix, b, variant, folder)
                times[k].append(again["time_s"])
                if not again["solved"]:  # then the run that failed is what counts
                    solves[k] = again
    for found, its_times in zip(solves, times):
        if found["solved"]:
            found["time_s"] = statistics.median(its_times)
    return solves


# ---- what there is to solve ----

def short(path):
    name = os.path.basename(path)
    for ending in (".gz", ".mtx"):
        name = name.removesuffix(ending)
    return name


def systems(options, left_out, folder):
    """(set, name, what the program is given, matrix) of every system, one after the other."""
    for what in options.what:
        paths = [what]
        if os.path.isdir(what):
            paths = [os.path.join(what, entry) for entry in sorted(os.listdir(what)) if entry.endswith((".mtx", ".mtx.gz"))]
        for path in paths:
            generated = path.startswith("gen:")
            try:
                matrix = read_generated(options, path, folder) if generated else read_market(path, options.patterns)
            except LeftOut as why:
                left_out.append((short(path), str(why)))
                continue
            group = "generated" if generated else os.path.basename(os.path.dirname(os.path.abspath(path)))
            yield group, path if generated else short(path), path, matrix


def measure(options, variants, left_out):
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for group, name, path, matrix in systems(options, left_out, folder):
            b = matrix.times_ones()
            record = {"system": name, "set": group, "n": matrix.n, "nnz": matrix.nnz, "symmetric": matrix.symmetric,
                      "zero_diagonals": matrix.zero_diagonals, "empty_rows": matrix.empty_rows,
                      "row_spread": matrix.row_spread}
            if not all(map(math.isfinite, b)):
                left_out.append((name, "A times ones is not finite"))
                continue
            write_npy(os.path.join(folder, "b.npy"), b)
            record["solves"] = solve_all(options, path, matrix, b, variants, folder)
            for variant, found in zip(variants, record["solves"]):
                print(f"{name:34} {label(variant):28} {found['outcome']:16} {cost(found)}", flush=True)
            records.append(record)
            if options.json:
                with open(options.json, "a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
    return records


# ---- what is written ----

def label(variant):
    return variant or "default"


def number(value):
    if value is None:
        return "-"
    if value == 0 or 0.95 <= value < 999.5:
        return f"{value:.0f}"
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def seconds(value):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale or unit == "us":
            return f"{value / scale:.3g} {unit}" if value < 999.5 * scale else f"{value / scale:.0f} {unit}"
    return None


def cost(found):
    if found["time_s"] is None:
        return ""
    return f"{found['iterations']} / {found['multiplies']}, {seconds(found['time_s'])}"


def ratios(records, which, key):
    """Of the systems that both this variant and the first one solve: this one's figure over the first one's."""
    pairs = [(record["solves"][which][key], record["solves"][0][key]) for record in records
             if record["solves"][which]["solved"] and record["solves"][0]["solved"]]
    return [ours / first for ours, first in pairs if ours is not None and first]


def summary(records, variants):
    """Rows of the table of all: a variant each, then any of them."""
    groups = list(dict.fromkeys(record["set"] for record in records))
    sizes = {group: sum(1 for record in records if record["set"] == group) for group in groups}
    head = ["command line", f"solved of {len(records)}"] + [f"{group}, {sizes[group]}" for group in groups]
    rows = [head + ["false claims", f"forward error > {USELESS}", "time, median (largest)", "multiplies, median", "otherwise"]]

    def solved_row(name, is_solved):
        return [name, str(sum(map(is_solved, records)))] + [
            str(sum(1 for record in records if record["set"] == group and is_solved(record))) for group in groups]

    for which, variant in enumerate(variants):
        solves = [record["solves"][which] for record in records]
        others = [found["outcome"] for found in solves if not found["solved"]]
        time, multiplies = ratios(records, which, "time_s"), ratios(records, which, "multiplies")
        rows.append(solved_row(f"`{label(variant)}`", lambda record, k=which: record["solves"][k]["solved"]) + [
            str(sum(found["false_claim"] for found in solves)),
            str(sum(found["solved"] and found["forward_error"] > USELESS for found in solves)),
            f"{statistics.median(time):.2f} ({max(time):.2f})" if time else "-",
            f"{statistics.median(multiplies):.2f}" if multiplies else "-",
            ", ".join(f"{others.count(outcome)} {outcome}" for outcome in sorted(set(others)))])
    if len(variants) > 1:
        rows.append(solved_row("any of them", lambda record: any(found["solved"] for found in record["solves"])) +
                    ["", "", "", "", ""])
    return rows


def table(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def paragraph(text):
    return textwrap.fill(text, 124, break_long_words=False, break_on_hyphens=False) + "\n"


def system_row(record):
    kind = "symmetric" if record["symmetric"] else ""
    row = [record["system"], str(record["n"]), str(record["nnz"]), kind, str(record["zero_diagonals"] or ""),
           number(record["row_spread"])]
    return row + [cost(found) if found["solved"] else found["outcome"] for found in record["solves"]]


def accuracy_row(record):
    return [record["system"]] + [
        " / ".join(number(found[key]) for key in ("residual", "backward_error", "forward_error"))
        if found["residual"] is not None else "" for found in record["solves"]]


def page(options, records, variants, left_out):
    machines = [found["machine"] for record in records for found in record["solves"] if "machine" in found]
    machine = machines[0] if machines else {"cpu": "?", "device": "?", "windrow": "?", "date": "?"}
    solved = [sum(record["solves"][k]["solved"] for record in records) for k in range(len(variants))]
    any_solved = sum(any(found["solved"] for found in record["solves"]) for record in records)
    claims = sum(found["exit"] == 0 for record in records for found in record["solves"])
    false = sum(found["false_claim"] for record in records for found in record["solves"])
    names = " and ".join(filter(None, [", ".join(f"`{label(v)}` {s}" for v, s in zip(variants[:-1], solved)),
                                       f"`{label(variants[-1])}` {solved[-1]}"]))
    parts = ["# Which systems are solved\n", paragraph(
        f"`sh tests/bench/systems.sh` made this page on {machine['date']} with windrow {machine['windrow']} on {machine['device']} "
        f"({machine['cpu']}), in {options.precision}. Each of {len(records)} systems was given to `bicgstab` with each command "
        f"line, b being A times ones and the time at most {options.limit:g} s. The numbers of solved systems are: {names}; by "
        f"any of them {any_solved}. Of {claims} answers with exit 0, {false} had a residual above the tolerance when the script computed it "
        "from the matrix and the answer."), table(summary(records, variants)), "", paragraph(
        "Time is from the assembled rows to the answer. Ratios of times and of multiplies are to "
        f"`{label(variants[0])}`, over the systems that both solve. *Forward error > {USELESS}* counts solved systems in which "
        "an element of x is off by more than that."), """## Iterations / multiplies, and time
""", table([["system", "n", "entries", "kind", "zero diagonals", "row spread"] + [f"`{label(v)}`" for v in variants]] +
           [system_row(record) for record in records]), """
*Row spread* compares the largest elements of the rows, by size: the greatest of them over the least.

## Residual / backward error / forward error

The relative residual, the componentwise backward error and the largest error of an element: of the answer or, after a run that
failed, of the best iterate that it wrote.
""", table([["system"] + [f"`{label(v)}`" for v in variants]] + [accuracy_row(record) for record in records])]
    if left_out:
        parts.append("\n" + paragraph("Left out: " + ", ".join(f"{name} ({why})" for name, why in left_out) + ".").rstrip())
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/bicgstab")
    parser.add_argument("--variant", action="append", help="options of the program, in one argument")
    parser.add_argument("--limit", type=float, default=60, help="seconds a solve")
    parser.add_argument("--runs", type=int, default=1, help="of each solve; the median time counts")
    parser.add_argument("--precision", choices=("f64", "f32"), default="f64")
    parser.add_argument("--patterns", action="store_true", help="files without values, too")
    parser.add_argument("--json", help="a line a system")
    parser.add_argument("--markdown", help="the page")
    parser.add_argument("what", nargs="+")
    options = parser.parse_args()
    if options.runs < 1 or not options.limit > 0:
        parser.error("--runs and --limit are positive")
    variants = options.variant if options.variant is not None else DEFAULT_VARIANTS
    left_out = []
    if options.json:
        open(options.json, "w", encoding="utf-8").close()
    records = measure(options, variants, left_out)
    if not records:
        raise SystemExit("systems: nothing to solve" + "".join(f"; {name}: {why}" for name, why in left_out))
    print(table(summary(records, variants)))
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write(page(options, records, variants, left_out))
    bad = [found for record in records for found in record["solves"] if found["false_claim"] or "signal" in found["outcome"]]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
