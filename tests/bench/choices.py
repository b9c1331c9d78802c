#!/usr/bin/env python3
"""Whole solves without -k or -d, beside those with each backend and at each place: what docs/auto.md says of both.

usage: choices.py [--place cuda|cpu] [--rounds N] [--limit S] [--json FILE] [--whole] backends|places BUILD [SOLVE...]
A SOLVE is a program and its options, as 'pagerank --damping 0.99 gen:web'; without any, those of SOLVES are taken. `backends`
compares the time of preparing and solving at one place (cuda), the choice included, or with --whole that of the whole command,
from start to end, as `places` does. The ways of a solve take turns, and the least time of the rounds (3) counts, since what
else a machine does only adds to it. A command that takes longer than S seconds (60) is given up. A line of Markdown for each
solve is printed: the ratio is the time without the option divided by the least time with it. --json keeps the times, a line
for each solve. Standard library alone. Exit status: 0 if every solve had a time without the option and one with it, 1 if not.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

SOLVES = ["pagerank gen:road:side=2500", "pagerank gen:web", "pagerank gen:rmat:scale=18", "pagerank gen:hubs:n=3000000",
          "pagerank gen:web:n=100000", "pagerank gen:uniform:n=500000,degree=10", "pagerank gen:rmat",
          "pagerank --damping 0.99 gen:web:n=1000000", "bicgstab gen:stencil:n=120", "bicgstab gen:fem:n=30",
          "bicgstab gen:circuit:n=100000", "bicgstab gen:stencil:n=32,points=5", "bicgstab gen:stencil:n=100,points=5",
          "bicgstab gen:stencil:n=300,points=5", "bicgstab gen:stencil:n=1000,points=5,convection=0"]
BACKENDS = {"cuda": ("csr_thread_unrolled", "csr_warp", "merge_csr", "merbit", "bsr_unrolled", "lane_csr", "sell",
                     "sell_coded", "sliced_dia"), "cpu": ("cpu_csr", "cpu_bsr")}


def ways_of(options):
    """The options of each way; '' is the one without."""
    if options.what == "places":
        return {"": [], "cpu": ["-d", "cpu"], "cuda": ["-d", "cuda"]}
    place = ["-d", options.place, "--verify", "off"]
    return {"": place, **{name: place + ["-k", name] for name in BACKENDS[options.place]}}


def run(options, solve, way, folder):
    """Seconds that count, and what ran; None if the command failed or took too long."""
    program, *arguments = solve.split()
    path = os.path.join(folder, "report.json")
    if os.path.exists(path):
        os.remove(path)
    command = [os.path.join(options.build, program), "-q", "--json", path, *way, *arguments]
    begin = time.perf_counter()
    try:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        return None
    # Not wait(timeout=...), which looks only every 50 ms whether the command has ended.
    alarm = threading.Timer(options.limit, process.kill)
    alarm.start()
    try:
        process.wait()
        seconds = time.perf_counter() - begin
    finally:
        alarm.cancel()
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)["runs"][0]
    except (OSError, ValueError, LookupError):
        return None
    if not found.get("result"):
        return None
    if options.what == "backends" and not options.whole:
        phases = found["ledger"]["phases"]
        seconds = phases["prepare"]["s"] + phases["solve"]["s"]
    return seconds, {"backend": found["backend"], "place": found["place"], "iterations": found["result"]["iterations"],
                     "moved": found.get("moved"), "changed": found.get("changed")}


def measure(options, solve, folder):
    """{way: (least seconds, what ran)} of those that had a time."""
    best = {}
    for _ in range(options.rounds):
        for name, way in ways_of(options).items():
            found = run(options, solve, way, folder)
            if found and (name not in best or found[0] < best[name][0]):
                best[name] = found
    return best


def describe(solve, best):
    others = sorted((seconds, name) for name, (seconds, _) in best.items() if name)
    seconds, ran = best[""]
    return (f"| {solve} | {1e3 * seconds:.1f} {ran['backend']} | {seconds / others[0][0]:.2f} | "
            + ", ".join(f"{name} {1e3 * least:.1f}" for least, name in others) + " |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].split("\n")[0][7:])
    parser.add_argument("--place", choices=BACKENDS, default="cuda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--json")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("what", choices=("backends", "places"))
    parser.add_argument("build")
    parser.add_argument("solves", nargs="*")
    options = parser.parse_args()
    option, failed = "-k" if options.what == "backends" else "-d", 0
    print(f"| milliseconds | without {option} | ratio | with {option} |\n|---|---|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        for solve in options.solves or SOLVES:
            best = measure(options, solve, folder)
            if options.json:
                with open(options.json, "a", encoding="utf-8") as kept:
                    ways = {name: {"s": found[0], **found[1]} for name, found in best.items()}
                    kept.write(json.dumps({"solve": solve, "what": options.what, "whole": options.whole, "ways": ways}) + "\n")
            if "" in best and len(best) > 1:
                print(describe(solve, best), flush=True)
            else:
                failed += 1
                print(f"{solve}: no time without {option}, or none with it", file=sys.stderr)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
