"""Times of an iteration on one GPU and on several of the same machine, in turn, and parallel efficiency.

usage: scale.py [--cards 1,2,4,8] [--rounds N] [--large] [--only WORD] [--exchange WAY] [--limit S] [--cpu] [--json FILE] BUILD
BUILD is a folder that holds pagerank and bicgstab. An iteration is the time of those that the GPUs repeated by themselves,
over their number, so that start, restarts and checks by the host are not in it (result/repeated_s in docs/json.md); where the
host asked for all, that of the whole solve, and the line says so. --rounds does all again, in another order. --large adds systems that take more than
40 GB on one card. --exchange is given to the programs. --limit ends the whole after so many seconds; what was measured by then
is printed. --cpu takes processes on the CPU in place of cards, and small matrices, to try this script. --json keeps the
reports, a line each. Standard library alone.
A table with a line for each case is printed: microseconds an iteration, times as fast as the fewest cards that ran it,
efficiency, elements of x from other parts, and what share of the solve the cards were all at work.
Exit status: 0 if every command ran, 1 if not.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SYSTEMS = ["bicgstab", "--method", "bicgstab", "--precond", "none", "-t", "1e-300"]
GRAPHS = ["pagerank", "--method", "power", "--damping", "0.999", "-t", "1e-300"]
# Name, command, iterations: the host asks for the first 64.
CASES = [
    ("stencil 200", SYSTEMS + ["-k", "sliced_dia", "gen:stencil:n=200"], 240),
    ("stencil 300", SYSTEMS + ["-k", "sliced_dia", "gen:stencil:n=300"], 200),
    ("fem 80", SYSTEMS + ["-k", "bsr_unrolled", "gen:fem:n=80"], 240),
    ("road", GRAPHS + ["-k", "lane_csr", "gen:road"], 400),
    ("web", GRAPHS + ["-k", "lane_csr", "gen:web"], 400),
    ("rmat", GRAPHS + ["-k", "lane_csr", "gen:rmat"], 400),
]
LARGE = [
    ("fem 120", SYSTEMS + ["-k", "bsr_unrolled", "gen:fem:n=120"], 160),
    ("road 16384", GRAPHS + ["-k", "lane_csr", "gen:road:side=16384"], 160),
    ("web 1 G links", GRAPHS + ["-k", "lane_csr", "gen:web:n=62500000"], 120),
    ("web 4 G links", GRAPHS + ["-k", "lane_csr", "gen:web:n=250000000"], 100),
    ("web 16 G links", GRAPHS + ["-k", "lane_csr", "gen:web:n=1000000000"], 90),
]
SMALL = [
    ("stencil 40", SYSTEMS + ["-k", "cpu_csr", "gen:stencil:n=40"], 40),
    ("web", GRAPHS + ["-k", "cpu_csr", "gen:web:n=100000"], 40),
]


def command_of(build, case, cards, iterations, options, report):
    program, *arguments = case
    command = [os.path.join(build, program), *arguments, "-n", str(iterations), "--json", report, "-q", "--verify", "device",
               "--repeat", "3"]
    if not options.cpu:
        way = [] if cards == 1 else ["--exchange", options.exchange]
        return command + (["-d", "cuda"] if cards == 1 else ["-g", str(cards)]) + way
    command += ["-d", "cpu"]
    return command if cards == 1 else ["mpirun", "--oversubscribe", "-n", str(cards), *command]


def solve(build, case, cards, iterations, options, kept):
    """The report of one command, or None and a line that says what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = command_of(build, case, cards, iterations, options, report)
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        try:
            with open(report) as file:
                found = json.load(file)
        except (OSError, ValueError):
            print(f"exit {done.returncode}: {' '.join(command)}\n{done.stderr[-600:]}", file=sys.stderr)
            return None
    if kept:
        kept.write(json.dumps({"cards": cards, "command": " ".join(command[1:]), "report": found}) + "\n")
        kept.flush()
    return found


def measure(build, case, cards, options, kept):
    """Seconds of an iteration, and the report; None if the solve failed."""
    name, command, iterations = case
    report = solve(build, command, cards, iterations, options, kept)
    run = report["runs"][0] if report else {}
    result = run.get("result")
    if not result or not result["iterations"]:
        return None
    if result["repeated_iterations"]:
        return result["repeated_s"] / result["repeated_iterations"], report
    return run["ledger"]["phases"]["solve"]["s"] / result["iterations"], report


def describe(name, cards, seconds, first, report):
    at, base = statistics.median(seconds[cards]), statistics.median(seconds[first])
    spread = (max(seconds[cards]) - min(seconds[cards])) / 2
    times = base / at
    parts = report["problem"].get("parts") or []
    halo = max((part["halo"] for part in parts), default=0)
    work = min((1 - part["waited_s"] / part["solve_s"] for part in parts if part["solve_s"] > 0), default=1)
    by_host = "" if report["runs"][0]["result"]["repeated_iterations"] else "  the host asked for all"
    return (f"{name:16} {cards:5} {1e6 * at:10.1f} +- {1e6 * spread:6.1f} {times:7.2f} {100 * times * first / cards:8.0f}%"
            f" {halo:12} {100 * work:6.0f}%{by_host}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].split("\n")[0][7:])
    parser.add_argument("--cards", default="1,2")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--exchange", default="auto")
    parser.add_argument("--limit", type=float, default=1e9)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("build")
    options = parser.parse_args()
    cards = sorted(int(count) for count in options.cards.split(","))
    cases = [case for case in (SMALL if options.cpu else CASES + (LARGE if options.large else []))
             if options.only in case[0]]
    kept = open(options.json, "a") if options.json else None
    end, failed = time.monotonic() + options.limit, 0
    print(f"{'':16} {'cards':>5} {'us an iteration':>20} {'times':>7} {'efficiency':>9} {'halo':>12} {'at work':>7}")
    for case in cases:
        seconds, reports = {}, {}
        for turn in range(options.rounds):
            for count in cards if turn % 2 == 0 else cards[::-1]:
                if time.monotonic() > end:
                    continue
                found = measure(options.build, case, count, options, kept)
                failed += found is None
                if found:
                    seconds.setdefault(count, []).append(found[0])
                    reports[count] = found[1]
        for count in sorted(seconds):
            print(describe(case[0], count, seconds, min(seconds), reports[count]), flush=True)
    if time.monotonic() > end:
        print("the limit of time ended this")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
