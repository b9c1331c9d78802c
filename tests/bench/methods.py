#!/usr/bin/env python3
"""Methods for linear systems beside each other: what they need on a system, and the time of a multiply within each.

  tests/bench/methods.py [--device cuda] [--rounds 3] [--json FILE] BUILD gen:convect:n=1000 ...

The time of a multiply is that of all an iteration does, divided by its multiplies: the difference of two warm solves with a
limited number of iterations and a tolerance that is out of reach. Methods take turns; median and half of the range that
holds the middle half of the rounds. Standard output has a table in Markdown."""

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


def solve_of(options, matrix, method, folder):
    """What a solve to the default tolerance needs, and the seconds of the whole command, which verifies the answer."""
    began = time.perf_counter()
    report = report_of(options, (["--method", method] if method else []) + ["--verify", "full", matrix], folder)
    seconds = time.perf_counter() - began
    result = report["runs"][0]["result"]
    return {"outcome": result["outcome"], "iterations": result["iterations"], "multiplies": result["multiplies"],
            "method": result["method"], "seconds": seconds, "measure": result["measure"]}


def spread(values):
    """Median, and half of the range that holds the middle half."""
    if len(values) < 2:
        return values[0], 0
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return median, (high - low) / 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="one line a matrix and method")
    parser.add_argument("build")
    parser.add_argument("matrices", nargs="+")
    options = parser.parse_args()
    lines = []
    print("| system | method | outcome | iterations | multiplies | s of the whole command | us a multiply | of BiCGSTAB's |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for matrix in options.matrices:
            times = {method: [] for method in METHODS}
            for _ in range(options.rounds):
                for method in METHODS:
                    times[method].append(multiply_of(options, matrix, method, folder))
            base = spread(times["bicgstab"])[0]
            for method in METHODS + [None]:
                found = solve_of(options, matrix, method, folder)
                median, half = spread(times[method]) if method else (None, None)
                lines.append({"matrix": matrix, "asked": method or "auto", **found, "us": times.get(method)})
                cells = [matrix, method or "auto", found["outcome"], found["iterations"], found["multiplies"],
                         f"{found['seconds']:.3f}"]
                cells += [f"{median:.1f} +- {half:.1f}", f"{median / base:.2f}"] if method else ["", ""]
                print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
