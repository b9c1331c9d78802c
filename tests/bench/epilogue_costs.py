"""What a multiply in a solve takes longer than a plain one, for the model of -k auto (docs/auto.md).

usage: epilogue_costs.py [--build BUILD] [--seed N] [--unseen N] [--limit S] LINES.jsonl[.xz]
With --build, the programs there time large matrices and so many unseen ones (60) of bench_all.py, in f64 and f32, until S seconds
(300) have passed: by each backend a plain multiply (spmv), and one in 60 iterations of pagerank or bicgstab. LINES.jsonl gets a
line for each matrix and precision. Then, or without --build from the file as it is, a table in Markdown is printed: the extra
time of a backend is fitted as `any` us and `row` us a million rows, errors relative to the time in the solve. Below it stands how
many choices are within 10% of the best, by the plain times alone and with what was fitted to the other half of the lines.
Needs numpy. Exit status: 1 if there are no lines.
"""
import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench_all  # noqa: E402
from auto_fit import CANDIDATES  # noqa: E402

LARGE = ["gen:road:side=1200,seed=3", "gen:uniform:n=700000,degree=8", "gen:rmat:scale=19,degree=10", "gen:web:n=800000,seed=4",
         "gen:stencil:n=90", "gen:convect:n=1000", "gen:jump:n=1200", "gen:circuit:n=900000", "gen:fem:n=36",
         "gen:stencil:points=27,n=70", "gen:chain:scale=21", "gen:aniso:n=100,dims=3", "gen:road:side=700",
         "gen:uniform:n=250000,degree=20", "gen:jump:n=80,dims=3"]
SYSTEMS = ("stencil", "fem", "convect", "jump", "aniso", "circuit", "saddle")
SOLVE = {"pagerank": ["--method", "power", "--damping", "0.999", "--edges", "in"],
         "bicgstab": ["--method", "bicgstab", "--precond", "none"]}


def report(command, path):
    """The first line of a program's JSON, or None."""
    if os.path.exists(path):
        os.remove(path)
    try:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def seconds(runs, key):
    return {run["backend"]: run[key]["median_s"] for run in runs if run.get(key) and run[key].get("median_s")}


def measure(build, source, precision, folder):
    """The line of a matrix, or None if a program refuses it."""
    program = "bicgstab" if source.split(":")[1] in SYSTEMS else "pagerank"
    usual = ["-q", "-k", ",".join(CANDIDATES), "-d", "cuda", "-p", precision, "--verify", "off", source]
    form = "--values" if program == "bicgstab" else "--pattern"
    path = os.path.join(folder, "report.json")
    plain = report([f"{build}/spmv", form, "--seconds", "0.02", "--batches", "7", "--jsonl", path, *usual], path)
    solve = report([f"{build}/{program}", "--no-resident", "-n", "60", "-t", "1e-30", *SOLVE[program], "--json", path, *usual],
                   path)
    if plain is None or solve is None:
        return None
    matrix = plain["matrices"][0]
    return {"source": source, "program": program, "precision": precision, "nrows": matrix["nrows"], "nnz": matrix["nnz"],
            "plain_s": seconds(matrix["runs"], "hot"), "solve_s": seconds(solve["runs"], "apply")}


def measure_all(options):
    end = time.monotonic() + options.limit
    with tempfile.TemporaryDirectory() as folder, open(options.lines, "w", encoding="utf-8") as file:
        for source in LARGE + bench_all.unseen(options.seed, options.unseen):
            for precision in ("f64", "f32"):
                line = measure(options.build, source, precision, folder) if time.monotonic() < end else None
                if line:
                    file.write(json.dumps(line) + "\n")


def fit(lines):
    """The extra time of each backend in us: of any multiply, and of a million rows. Outliers count less in each round."""
    found = {}
    for name in CANDIDATES:
        of = [line for line in lines if name in line["plain_s"] and name in line["solve_s"]]
        if len(of) < 4:
            continue
        rows = numpy.array([line["nrows"] / 1e6 for line in of])
        solve = numpy.array([line["solve_s"][name] * 1e6 for line in of])
        extra = solve - numpy.array([line["plain_s"][name] * 1e6 for line in of])
        terms, weight = numpy.stack([numpy.ones_like(rows), rows], 1), 1 / solve
        for _ in range(10):
            found[name] = numpy.linalg.lstsq(terms * weight[:, None], extra * weight, rcond=None)[0]
            error = numpy.abs(terms @ found[name] - extra) / solve
            weight = 1 / solve / numpy.sqrt(numpy.maximum(1, 10 * error))
    return found


def ratios(lines, extra):
    """For each line the time of the backend that is chosen, divided by the least."""
    result = []
    for line in lines:
        known = [name for name in line["solve_s"] if name in line["plain_s"] and (extra is None or name in extra)]
        expected = {name: line["plain_s"][name] * 1e6 +
                    (0 if extra is None else extra[name] @ [1, line["nrows"] / 1e6]) for name in known}
        if expected:
            result.append(line["solve_s"][min(expected, key=expected.get)] / min(line["solve_s"][name] for name in known))
    return numpy.array(result)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build")
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--unseen", type=int, default=60)
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("lines")
    options = parser.parse_args()
    if options.build:
        measure_all(options)
    with (lzma.open if options.lines.endswith(".xz") else open)(options.lines, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    if not lines:
        print(f"{options.lines}: no lines", file=sys.stderr)
        return 1
    print("| backend | any, us | row, us a million |\n|---|---:|---:|")
    for name, (of_any, of_row) in fit(lines).items():
        print(f"| {name} | {of_any:.1f} | {of_row:.1f} |")
    parts = [[line for k, line in enumerate(lines) if k // 2 % 2 == part] for part in (0, 1)]
    for what, found in (("plain times", ratios(lines, None)),
                        ("with the extra time", numpy.concatenate([ratios(parts[0], fit(parts[1])), ratios(parts[1], fit(parts[0]))]))):
        print(f"\n{what}: of {len(found)} choices {100 * (found <= 1.1).mean():.1f}% within 10%, worst {found.max():.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
