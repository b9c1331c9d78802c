#!/usr/bin/env python3
"""Methods for linear systems beside each other: what they need on a system, and the time of a multiply within each.

  tests/bench/methods.py [--device cuda] [--rounds 3] [--json FILE] BUILD gen:convect:n=1000 ...
  tests/bench/methods.py --precond none,jacobi,ilu0 [--method bicgstab] BUILD gen:convect:n=1000 ...

The time of a multiply is that of all an iteration does, divided by its multiplies: the difference of two warm solves with a
limited number of iterations and a tolerance that is out of reach. Methods take turns; median and half of the range that
holds the middle half of the rounds. Standard output has a table in Markdown.

With --precond the table has preconditioners beside each other, with one method: the time of an iteration is that of a warm
solve to the default tolerance, divided by its iterations."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

METHODS = ["bicgstab", "bicgstabl", "idr", "cg"]
OF_ITERATION = {"bicgstab": 2, "bicgstabl": 4, "idr": 5, "cg": 1}  # multiplies
FEW, MANY = 40, 240  # multiplies of the two solves


def report_of(options, arguments, folder):
    """The JSON report of a solve."""
    path = os.path.join(folder, "report.json")
    command = [os.path.join(options.build, "bicgstab"), "-q", "-d", options.device, "--json", path] + arguments
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def seconds_of(options, matrix, method, multiplies, folder):
    """Seconds of a warm solve, and its multiplies."""
    iterations = multiplies // OF_ITERATION[method]
    report = report_of(options, ["--method", method, "--scale", "none", "--verify", "off", "--repeat", "3", "-t", "1e-300",
                                 "-n", str(iterations), matrix], folder)
    run = report["runs"][0]
    return run["warm_solve_s"], iterations * OF_ITERATION[method]


def multiply_of(options, matrix, method, folder):
    """Microseconds of a multiply within the method."""
    long, many = seconds_of(options, matrix, method, MANY, folder)
    short, few = seconds_of(options, matrix, method, FEW, folder)
    return 1e6 * (long - short) / (many - few)


def solve_of(options, matrix, arguments, folder):
    """What a solve to the default tolerance needs, and the seconds of the whole command, which verifies the answer."""
    began = time.perf_counter()
    report = report_of(options, arguments + ["--verify", "full", matrix], folder)
    seconds = time.perf_counter() - began
    result = report["runs"][0]["result"]
    return {"outcome": result["outcome"], "iterations": result["iterations"], "multiplies": result["multiplies"],
            "method": result["method"], "seconds": seconds, "measure": result["measure"],
            "precond": report["runs"][0].get("preconditioner")}


def spread(values):
    """Median, and half of the range that holds the middle half."""
    if len(values) < 2:
        return values[0], 0
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return median, (high - low) / 2


def compare_preconditioners(options, folder):
    """A line a matrix and preconditioner."""
    lines = []
    print(f"| system | {options.method} with | outcome | iterations | s of the whole command | s to make it | "
          "us an iteration |")
    print("|---|---|---|---|---|---|---|")
    for matrix in options.matrices:
        for precond in options.precond.split(","):
            arguments = ["--precond", precond] + (["--method", options.method] if options.method != "auto" else [])
            solves = [solve_of(options, matrix, arguments, folder) for _ in range(options.rounds)]
            warm = report_of(options, arguments + ["--verify", "off", "--repeat", "3", matrix], folder)["runs"][0]
            us = 1e6 * warm["warm_solve_s"] / max(1, warm["result"]["iterations"])
            seconds = [solve["seconds"] for solve in solves]
            made = (solves[0]["precond"] or {}).get("prepare_s", 0)
            lines.append({"matrix": matrix, "asked": options.method, "asked_precond": precond, **solves[0],
                          "seconds": seconds, "us_iteration": us})
            median, half = spread(seconds)
            print(f"| {matrix} | {precond} | {solves[0]['outcome']} | {solves[0]['iterations']} "
                  f"| {median:.3f} +- {half:.3f} | {made:.3f} | {us:.1f} |", flush=True)
    return lines


def compare_methods(options, folder):
    """A line a matrix and method."""
    lines = []
    print("| system | method | outcome | iterations | multiplies | s of the whole command | us a multiply | of BiCGSTAB's |")
    print("|---|---|---|---|---|---|---|---|")
    for matrix in options.matrices:
        times = {method: [] for method in METHODS}
        for _ in range(options.rounds):
            for method in METHODS:
                times[method].append(multiply_of(options, matrix, method, folder))
        base = spread(times["bicgstab"])[0]
        for method in METHODS + [None]:
            found = solve_of(options, matrix, ["--method", method] if method else [], folder)
            median, half = spread(times[method]) if method else (None, None)
            lines.append({"matrix": matrix, "asked": method or "auto", **found, "us": times.get(method)})
            cells = [matrix, method or "auto", found["outcome"], found["iterations"], found["multiplies"],
                     f"{found['seconds']:.3f}"]
            cells += [f"{median:.1f} +- {half:.1f}", f"{median / base:.2f}"] if method else ["", ""]
            print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="one line a matrix and method")
    parser.add_argument("--precond", metavar="LIST", help="preconditioners, separated by commas, as bicgstab takes them")
    parser.add_argument("--method", default="bicgstab", help="with --precond: the method, or auto (default bicgstab)")
    parser.add_argument("build")
    parser.add_argument("matrices", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = compare_preconditioners(options, folder) if options.precond else compare_methods(options, folder)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
