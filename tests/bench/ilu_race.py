"""BiCGSTAB with ILU(0) by windrow beside the same by cusparseSpSV.

    python3 tests/bench/ilu_race.py THEIRS OURS...

THEIRS: lines of `yardstick --ilu0 ... --json THEIRS bicgstab MATRIX`. OURS: reports of `bicgstab --method bicgstab --precond
ilu0:order=... --repeat N --json FILE MATRIX` on a device. Of each system and precision the fastest that converged counts on
either side, in any order of rows, plain or as a graph. Prints a line of JSON a system: microseconds an iteration,
iterations, milliseconds of the whole solve, and how many times as long theirs takes; at last the geometric means."""
import json
import math
import sys


def of_theirs(line):
    iteration = line["iteration"]["median_us"]
    return {"iteration_us": iteration, "iterations": line["iterations"], "solve_ms": iteration * line["iterations"] / 1e3,
            "how": line["order"] + (", graph" if line["graph"] else ""), "levels": line["levels"]}


def of_ours(report):
    run = report["runs"][0]
    result, seconds = run["result"], run["warm_solve_s"]
    return {"iteration_us": 1e6 * seconds / result["iterations"], "iterations": result["iterations"],
            "solve_ms": 1e3 * seconds, "how": run["preconditioner"]["name"], "line": run["preconditioner"]["line"]}


def keep(best, key, found):
    if key not in best or found["solve_ms"] < best[key]["solve_ms"]:
        best[key] = found


def main(theirs_path, our_paths):
    theirs, ours = {}, {}
    with open(theirs_path, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line["converged"] and line.get("preconditioner") == "ilu0":
                keep(theirs, (line["source"], line["precision"]), of_theirs(line))
    for path in our_paths:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        run = report["runs"][0]
        if run["result"]["outcome"] == "converged" and run["result"]["iterations"] > 0 and run["warm_solve_s"]:
            keep(ours, (report["problem"]["source"], report["problem"]["precision"]), of_ours(report))
    both = sorted(set(theirs) & set(ours))
    for key in both:
        ratio = theirs[key]["solve_ms"] / ours[key]["solve_ms"]
        each = theirs[key]["iteration_us"] / ours[key]["iteration_us"]
        print(json.dumps({"system": key[0], "precision": key[1], "theirs": theirs[key], "ours": ours[key],
                          "times_faster": round(ratio, 3), "times_faster_an_iteration": round(each, 3)}))
    for name, part in (("solve", "solve_ms"), ("iteration", "iteration_us")):
        logs = [math.log(theirs[key][part] / ours[key][part]) for key in both]
        if logs:
            print(json.dumps({"geometric_mean": name, "systems": len(logs),
                              "times_faster": round(math.exp(sum(logs) / len(logs)), 3)}))
    for key in sorted(set(theirs) ^ set(ours)):
        print(json.dumps({"system": key[0], "precision": key[1], "only": "theirs" if key in theirs else "ours"}))


if len(sys.argv) < 3:
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2:])
