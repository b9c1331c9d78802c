"""Two builds of windrow beside each other: the time of an iteration, of a multiply and of a whole command.

usage: two_builds.py [--device cpu|cuda] [--rounds N] [--repeat N] [--only WORD] [--json FILE] BASE BUILD [FILE.mtx ...]
BASE and BUILD are folders that hold pagerank, bicgstab and spmv. Every round runs each command once with either build, which goes
first alternates. Standard library alone.
  iteration   us: a solve to a strict tolerance less one to a loose one, over the difference in iterations
  multiply    us: the median of spmv
  command     ms: from the start of the process to its end, a graph or a system read from FILE.mtx
Cells are the median over the rounds and half of the range that holds the middle half of them. A line ends with ! where the
middle halves of the two do not overlap and the medians differ by more than 1%.
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

LOOPS = {
    "cuda": [("pagerank", "merbit", "gen:road"), ("pagerank", "merbit", "gen:web"), ("pagerank", "merbit", "gen:rmat"),
             ("pagerank", "merbit", "gen:hubs"), ("pagerank", "merbit", "gen:web:n=10000"),
             ("pagerank", "csr_warp", "gen:web:n=300000,seed=7"),
             ("bicgstab", "csr_thread_unrolled", "gen:stencil:n=200"), ("bicgstab", "merbit", "gen:stencil:n=150"),
             ("bicgstab", "bsr_unrolled", "gen:fem:n=49"), ("bicgstab", "bsr_unrolled", "gen:fem:n=24"),
             ("bicgstab", "cb_spmv", "gen:fem:n=40"), ("bicgstab", "cusparse", "gen:fem:n=49"),
             ("bicgstab", "csr_thread_unrolled", "gen:stencil:n=100,points=5"),
             ("bicgstab", "csr_thread_unrolled", "gen:stencil:n=173,points=5")],
    "cpu": [("pagerank", "cpu_csr", "gen:web:n=300000"), ("pagerank", "cpu_csr", "gen:road:side=500"),
            ("bicgstab", "cpu_csr", "gen:stencil:n=60"), ("bicgstab", "cpu_bsr", "gen:fem:n=16"),
            ("bicgstab", "cpu_csr", "gen:stencil:n=100,points=5")],
}
MULTIPLIES_EACH = {"pagerank": 1, "bicgstab": 2}  # of an iteration
STRICT, LOOSE = {"f64": "1e-8", "f32": "1e-4"}, "1e-1"
MULTIPLIES = {
    "cuda": ["gen:road", "gen:web", "gen:stencil:n=150", "gen:fem:n=49", "gen:band", "gen:fem:n=24"],
    "cpu": ["gen:web:n=300000", "gen:stencil:n=60", "gen:fem:n=16"],
}


class Failed(Exception):
    """A command that did not do what it was asked."""


def methods_of(build):
    """Options that make a build use BiCGSTAB, where it would choose among methods."""
    said = subprocess.run([os.path.join(build, "bicgstab"), "--help"], capture_output=True, text=True, check=True).stdout
    return ["--method", "bicgstab"] if "--method" in said else []


def report_of(command, folder):
    """The JSON report of a command, and its seconds from start to end."""
    path = os.path.join(folder, "report.json")
    if os.path.exists(path):
        os.remove(path)
    began = time.perf_counter()
    process = subprocess.run(command + ["--json", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    seconds = time.perf_counter() - began
    if not os.path.exists(path):
        raise Failed(f"{' '.join(command)}: no report; {process.stderr.strip()[-300:]}")
    with open(path, encoding="utf-8") as file:
        return json.load(file), seconds


def solved(build, options, loop, precision, tolerance, folder):
    """Seconds of a warm solve and the iterations that took time."""
    program, backend, matrix = loop
    report, _ = report_of([os.path.join(build, program), "-q", "-d", options.device, "-k", backend, "-p", precision, "-t", tolerance,
                           "--verify", "off", "--repeat", str(options.repeat), matrix]
                          + (methods_of(build) if program == "bicgstab" else []), folder)
    run = report["runs"][0]
    if not run["ran"]:
        raise Failed(f"{program} {matrix} with {backend}: {run['reason']}")
    return run["warm_solve_s"], run["result"]["multiplies"] / MULTIPLIES_EACH[program]


def iteration(build, options, loop, precision, folder):
    strict, taken = solved(build, options, loop, precision, STRICT[precision], folder)
    loose, fewer = solved(build, options, loop, precision, LOOSE, folder)
    if taken <= fewer:
        raise Failed(f"{loop}: as many iterations to both tolerances")
    return {"iteration": 1e6 * (strict - loose) / (taken - fewer)}


def multiplies(build, options, matrix, precision, folder):
    report, _ = report_of([os.path.join(build, "spmv"), "-q", "-d", options.device, "-p", precision, "--values", "--verify", "off",
                           "--seconds", "0.3", matrix], folder)
    return {run["label"]: 1e6 * run["hot"]["median_s"] for run in report["matrices"][0]["runs"] if run["ran"]}


def command(build, options, path, precision, folder):
    times = {}
    for program in ("pagerank", "bicgstab"):
        report, seconds = report_of([os.path.join(build, program), "-q", "-d", options.device, "-p", precision, path]
                                    + (methods_of(build) if program == "bicgstab" else []), folder)
        if report["exit_code"] in (0, 2):
            times[program] = 1e3 * seconds
    return times


def middle(values):
    """Median and quartiles."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return median, low, high


def tasks(options):
    """What is measured: kind, name, function of build and folder."""
    for precision in options.precision.split(","):
        for loop in LOOPS[options.device]:
            yield "iteration", f"{' '.join(loop)} {precision}", lambda b, f, l=loop, p=precision: iteration(b, options, l, p, f)
        for matrix in MULTIPLIES[options.device]:
            yield "multiply", f"{matrix} {precision}", lambda b, f, m=matrix, p=precision: multiplies(b, options, m, p, f)
        for path in options.files:
            name = os.path.basename(path)
            yield "command", f"{name} {precision}", lambda b, f, m=path, p=precision: command(b, options, m, p, f)


def measure(builds, options, function, folder):
    """Times by label: one list for each build."""
    found = {}
    for k in range(options.rounds):
        for which in (0, 1) if k % 2 == 0 else (1, 0):
            for label, value in function(builds[which], folder).items():
                found.setdefault(label, ([], []))[which].append(value)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=6)
    parser.add_argument("--precision", default="f64,f32")
    parser.add_argument("--only", default="", help="tasks with this word in their kind or name")
    parser.add_argument("--json", help="one line for each pair of times")
    parser.add_argument("base")
    parser.add_argument("build")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    failed = 0
    print(f"{'':66} {'base':>19} {'build':>19}  ratio")
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, function in tasks(options):
            if options.only not in f"{kind} {name}":
                continue
            try:
                found = measure((options.base, options.build), options, function, folder)
            except (Failed, KeyError, TypeError) as problem:
                print(f"two_builds: {kind} {name}: {problem}", file=sys.stderr)
                failed = 1
                continue
            for label, (base, build) in found.items():
                if not base or not build:
                    continue
                (a, a_low, a_high), (b, b_low, b_high) = middle(base), middle(build)
                apart = (a_high < b_low or b_high < a_low) and abs(b / a - 1) > 0.01
                what = f"{kind} {name}" + ("" if label == "iteration" else f" {label}")
                print(f"{what:66} {a:9.2f} +- {(a_high - a_low) / 2:6.2f} {b:9.2f} +- {(b_high - b_low) / 2:6.2f}  {b / a:5.3f}"
                      f"{' !' if apart else ''}", flush=True)
                if options.json:
                    with open(options.json, "a", encoding="utf-8") as file:
                        print(json.dumps({"what": what, "base": base, "build": build}), file=file)
    return failed


if __name__ == "__main__":
    sys.exit(main())
