#!/usr/bin/env python3
"""From a file to PageRank's scores with windrow and with other tools: time of the whole process, and what the scores are worth.

usage: rivals.py [--rounds 3] [--only NAME,...] [--program build/pagerank] [--json FILE] FILE.mtx[.gz] ...
Each tool reads the file, ranks and writes its scores, in a process of its own; rounds go through all tools in turn. The last scores of
each are then judged by `pagerank --check`, which proves a bound on their L1 error and up to which rank their order is right. A tool
that is not installed is left out with a sentence. Prints a table; --json writes a line for each graph and tool.

  windrow         pagerank at its defaults: an L1 error of 1e-9
  windrow-order   pagerank --stop order: until the order of the ten best is proven
  networkx        networkx.pagerank at its defaults: a change of n 1e-6
  networkx-1e-9   the same to a change that leaves an L1 error of 1e-9
  igraph          Graph.pagerank at its defaults: PRPACK
  scipy           the power method with scipy.sparse to an L1 error of 1e-9, as a user would write it
  cupy            the same with CuPy on a GPU (cupy_bench.py)

Times are medians with the least and the largest, in s; user: processor time of all threads, by the kernel.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

DAMPING, BOUND = 0.85, 1e-9


def read_links(path):
    import scipy.io

    links = scipy.io.mmread(path).tocsr()
    links.data[:] = 1  # of a pattern with repeated edges, as windrow takes it
    return links


def networkx_scores(path, tol):
    import networkx

    links = read_links(path)
    if tol is None:
        tol = BOUND * (1 - DAMPING) / DAMPING / links.shape[0]
    make = getattr(networkx, "from_scipy_sparse_array", None) or networkx.from_scipy_sparse_matrix
    scores = networkx.pagerank(make(links, create_using=networkx.DiGraph), tol=tol, max_iter=10000)
    return [scores[i] for i in range(links.shape[0])]


def igraph_scores(path):
    import igraph
    import numpy

    links = read_links(path).tocoo()
    graph = igraph.Graph(n=links.shape[0], edges=numpy.column_stack([links.row, links.col]), directed=True)
    return graph.pagerank()


def scipy_scores(path):
    import numpy

    links = read_links(path)
    n, degree = links.shape[0], numpy.asarray(links.sum(axis=1)).ravel()
    flow, dangling = links.T.tocsr().astype(float), degree == 0
    inverse = numpy.where(dangling, 0, 1 / numpy.maximum(degree, 1))
    ranks, change = numpy.full(n, 1 / n), 1.0
    while change * DAMPING / (1 - DAMPING) > BOUND:
        after = DAMPING * (flow @ (ranks * inverse) + ranks[dangling].sum() / n) + (1 - DAMPING) / n
        change, ranks = numpy.abs(after - ranks).sum(), after
    return ranks


SOLVERS = {"networkx": lambda path: networkx_scores(path, 1e-6), "networkx-1e-9": lambda path: networkx_scores(path, None),
           "igraph": igraph_scores, "scipy": scipy_scores}
NAMES = ["windrow", "windrow-order", *SOLVERS, "cupy"]


def solve(name, path, output):
    """In the process of a tool."""
    try:
        scores = SOLVERS[name](path)
    except ImportError as missing:
        sys.exit("%s is not installed" % missing.name)
    with open(output, "w", encoding="ascii") as file:
        file.writelines("%r\n" % float(score) for score in scores)


def command_of(name, program, path, output):
    here = os.path.abspath(__file__)
    if name.startswith("windrow"):
        order = ["--stop", "order"] if name == "windrow-order" else []
        return [program, "-q", "--verify", "full", *order, "-o", output, path]
    if name == "cupy":
        return [sys.executable, os.path.join(os.path.dirname(here), "cupy_bench.py"), path, "f64", output]
    return [sys.executable, here, "--solve", name, path, output]


def run(command):
    """Wall and user seconds of a process, or None and what it said."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - begin
        said.seek(0)
        text = said.read().decode(errors="replace").strip().split("\n")[-1]
    return (wall, usage.ru_utime, "") if process.returncode == 0 else (None, None, text)


def judge(program, path, output):
    """What --check says of scores, with the tolerance 1e-9."""
    ran = subprocess.run([program, "--check", output, "--json", "-", path], capture_output=True, text=True, check=False)
    try:
        return json.loads(ran.stdout)["check"]
    except ValueError:
        sys.exit("rivals.py: " + ran.stderr)


def measure(given, path, folder):
    """A record for each tool that ran."""
    outputs = {name: "%s/%s.txt" % (folder, name) for name in given.names}
    times, failed = {name: [] for name in given.names}, {}
    for _ in range(given.rounds):
        for name in given.names:
            if name not in failed:
                wall, user, text = run(command_of(name, given.program, path, outputs[name]))
                if wall is None:
                    failed[name] = text
                    print("%s: %s" % (name, text), file=sys.stderr)
                else:
                    times[name].append((wall, user))
    records = []
    for name in given.names:
        if name in failed:
            continue
        wall, user = zip(*times[name])
        found = judge(given.program, path, outputs[name])
        records.append({"graph": os.path.basename(path), "tool": name, "rounds": given.rounds, "wall_s": statistics.median(wall),
                        "wall_least_s": min(wall), "wall_most_s": max(wall), "user_s": statistics.median(user),
                        "bound": found["bound"], "proven_ranks": found["proven_ranks"], "nodes": found["nodes"],
                        "meaning": found.get("meaning", {}).get("text", "")})
        os.unlink(outputs[name])
    return records


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--solve":
        solve(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--program", default="build/pagerank")
    parser.add_argument("--json")
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    given.names = given.only.split(",")
    print("| graph | tool | s, median (least to most) of %d | user s | L1 error at most | first ranks in proven order |" % given.rounds)
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in given.files:
            for record in measure(given, path, folder):
                print("| %(graph)s | %(tool)s | %(wall_s).3g (%(wall_least_s).3g to %(wall_most_s).3g) | %(user_s).3g | %(bound).2g "
                      "| %(proven_ranks)d of %(nodes)d |" % record, flush=True)
                if given.json:
                    with open(given.json, "a", encoding="ascii") as file:
                        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
