#!/usr/bin/env python3
"""Tables of file_bench.sh's lines: medians of whole processes, and what each phase took of them, in milliseconds.
usage: file_tables.py file.jsonl..."""
import json
import statistics
import sys

PHASES = ["read", "assemble", "init", "transform", "upload", "prepare", "solve", "download", "verify", "calibrate"]


def runs(paths):
    groups = {}
    for path in paths:
        for line in open(path):
            run = json.loads(line)
            key = run["file"], run["cache"], run["precision"], run["verify"]
            groups.setdefault(key, []).append(run)
    return groups


def phase(run, name):
    return run["report"]["runs"][0]["ledger"]["phases"][name]["s"] * 1e3


def row(key, group):
    wall = [run["wall_us"] / 1e3 for run in group]
    parts = [statistics.median(phase(run, name) for run in group) for name in PHASES]
    rest = statistics.median(w - sum(phase(run, name) for name in PHASES) for w, run in zip(wall, group))
    answer = statistics.median(run["answer_us"] / 1e3 for run in group)
    cells = [f"{answer:.0f}", f"{statistics.median(wall):.0f}"] + [f"{part:.0f}" for part in parts] + [f"{rest:.0f}"]
    return "| " + " ".join(key[:3]) + f", verify {key[3]} | " + " | ".join(cells) + " |"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("| ms | to the answer | to the end | " + " | ".join(PHASES) + " | start and end |")
    print("|---" * (len(PHASES) + 4) + "|")
    for key, group in runs(sys.argv[1:]).items():
        print(row(key, group))


if __name__ == "__main__":
    main()
