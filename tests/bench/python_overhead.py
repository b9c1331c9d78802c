#!/usr/bin/env python3
"""What Python adds to the program pagerank: both rank one graph to the same bound and find its ten best nodes.

usage: python_overhead.py [--rounds N] [--json FILE] BUILD GRAPH...
BUILD is a folder with pagerank and libwindrow.so, GRAPH a file or generator. Each round runs the program and a new Python, in
turns; either begins with nothing loaded. Seconds are from the start of a process to its end (wall), and those of all its threads
on processors (cpu), which other work on the machine disturbs less. A line has the least of the rounds, and the share that
Python adds to it. Everything is on the CPU. This interpreter needs numpy.
"""
import argparse
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = "import sys, windrow; windrow.pagerank(sys.argv[1], device='cpu').top(10)"


def seconds_of(command, env):
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begin
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return {"wall": wall, "cpu": used.ru_utime + used.ru_stime}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    parser.add_argument("build")
    parser.add_argument("graphs", nargs="+")
    given = parser.parse_args()
    env = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python"),
           "WINDROW_LIBRARY": os.path.abspath(os.path.join(given.build, "libwindrow.so"))}
    rows = []
    for graph in given.graphs:
        commands = {"program": [os.path.join(given.build, "pagerank"), "-q", "-d", "cpu", graph],
                    "python": [sys.executable, "-c", CODE, graph]}
        runs = {name: [] for name in commands}
        for k in range(given.rounds):
            for name in sorted(commands, reverse=k % 2):
                runs[name].append(seconds_of(commands[name], env))
        for kind in ("wall", "cpu"):
            least = {name: min(run[kind] for run in runs[name]) for name in runs}
            share = least["python"] / least["program"] - 1
            rows.append({"graph": graph, "seconds": kind, **least, "share": share, "rounds": runs})
            print(f"{graph:30} {kind:5} program {least['program']:8.3f} s   python {least['python']:8.3f} s   {100 * share:+6.1f}%",
                  flush=True)
    if given.json:
        with open(given.json, "w") as file:
            json.dump({"rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
