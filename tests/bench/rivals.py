#!/usr/bin/env python3
"""From a file to PageRank's scores with windrow and with other tools: time of the whole process, and what the scores are worth.

usage: rivals.py [--rounds 3] [--only NAME,...] [--damping 0.85,...] [--limit SECONDS] [--program build/pagerank] [--json FILE]
       FILE.mtx[.gz] ...
Each tool reads the file, ranks and writes its scores, in a process of its own; rounds go through all tools in turn. The last scores of
each are then judged by `pagerank --check`, which proves a bound on their L1 error and up to which rank their order is right. A tool
that is not installed is left out with a sentence, and so is one that takes longer than the limit, or more than 6 GB. Prints a table;
--json writes a line for each graph and tool.

  windrow         pagerank at its defaults: an L1 error of 1e-9
  windrow-order   pagerank --stop order: until the order of the ten best is proven
  networkx        networkx.pagerank at its defaults: a change of n 1e-6
  networkx-1e-9   the same to a change that leaves an L1 error of 1e-9
  igraph          Graph.pagerank at its defaults: PRPACK
  scipy           the power method with scipy.sparse to an L1 error of 1e-9, as a user would write it
  scipy-bicgstab  (I - d P^T) y = v by scipy.sparse.linalg.bicgstab, again with a smaller tolerance until the L1 error is 1e-9
  scipy-direct    the same system by scipy.sparse.linalg.spsolve (SuperLU)
  cupy            the power method with CuPy on a GPU (cupy_bench.py), at 0.85 alone

Times are medians with the least and the largest, in s; user: processor time of all threads, by the kernel. Ranking alone: from the rows of
the graph, or igraph's and networkx's own graph, to the scores, without reading, writing and windrow's verification.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

BOUND, MOST_BYTES = 1e-9, 6 << 30


def read_links(path):
    import scipy.io

    links = scipy.io.mmread(path).tocsr()
    links.data[:] = 1  # of a pattern with repeated edges, as windrow takes it
    return links


def networkx_scores(links, d, tol):
    import networkx

    if tol is None:
        tol = BOUND * (1 - d) / d / links.shape[0]
    make = getattr(networkx, "from_scipy_sparse_array", None) or networkx.from_scipy_sparse_matrix
    graph = make(links, create_using=networkx.DiGraph)
    begin = time.perf_counter()
    scores = networkx.pagerank(graph, alpha=d, tol=tol, max_iter=10**7)
    return [scores[i] for i in range(links.shape[0])], begin


def igraph_scores(links, d):
    import igraph
    import numpy

    entries = links.tocoo()
    graph = igraph.Graph(n=links.shape[0], edges=numpy.column_stack([entries.row, entries.col]), directed=True)
    begin = time.perf_counter()
    return graph.pagerank(damping=d), begin


def flow_of(links):
    """P^T without the dangling nodes' columns, and which nodes are dangling."""
    import numpy
    import scipy.sparse

    degree = numpy.asarray(links.sum(axis=1)).ravel()
    inverse = numpy.where(degree == 0, 0, 1 / numpy.maximum(degree, 1))
    return links.T.tocsr().astype(float) @ scipy.sparse.diags(inverse).tocsr(), degree == 0


def step(flow, dangling, d, ranks):
    return d * (flow @ ranks + ranks[dangling].sum() / ranks.size) + (1 - d) / ranks.size


def scipy_scores(links, d):
    import numpy

    begin, n = time.perf_counter(), links.shape[0]
    flow, dangling = flow_of(links)
    ranks, change = numpy.full(n, 1 / n), 1.0
    while change * d / (1 - d) > BOUND:
        after = step(flow, dangling, d, ranks)
        change, ranks = numpy.abs(after - ranks).sum(), after
    return ranks, begin


def linear_scores(links, d, is_direct):
    import numpy
    import scipy.sparse
    from scipy.sparse.linalg import bicgstab, spsolve

    begin, n = time.perf_counter(), links.shape[0]
    flow, dangling = flow_of(links)
    system, jump, y, tolerance, change = scipy.sparse.identity(n, format="csr") - d * flow, numpy.full(n, 1 / n), None, 1e-8, 1.0
    while change / (1 - d) > BOUND:
        if is_direct:
            y = spsolve(system.tocsc(), jump)
        else:
            y = bicgstab(system, jump, x0=y, rtol=tolerance, atol=0)[0]
        ranks, tolerance = y / y.sum(), tolerance / 10
        change = numpy.abs(step(flow, dangling, d, ranks) - ranks).sum()
        if is_direct or tolerance < 1e-15:
            break
    return ranks, begin


SOLVERS = {
    "networkx": lambda links, d: networkx_scores(links, d, 1e-6),
    "networkx-1e-9": lambda links, d: networkx_scores(links, d, None),
    "igraph": igraph_scores,
    "scipy": scipy_scores,
    "scipy-bicgstab": lambda links, d: linear_scores(links, d, False),
    "scipy-direct": lambda links, d: linear_scores(links, d, True),
}
NAMES = ["windrow", "windrow-order", *SOLVERS, "cupy"]


def solve(name, path, output, damping):
    """In the process of a tool."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    try:
        scores, begin = SOLVERS[name](read_links(path), float(damping))
    except ImportError as missing:
        sys.exit("%s is not installed" % missing.name)
    except MemoryError:
        sys.exit("needs more than 6 GB")
    print(json.dumps({"rank_s": time.perf_counter() - begin}))
    with open(output, "w", encoding="ascii") as file:
        file.writelines("%r\n" % float(score) for score in scores)


def command_of(given, name, path, output):
    here = os.path.abspath(__file__)
    if name.startswith("windrow"):
        order = ["--stop", "order"] if name == "windrow-order" else []
        return [given.program, "-q", "--verify", "full", "--damping", given.d, "-n", "10000000", *order, "--json", "-", "-o", output, path]
    if name == "cupy":
        return [sys.executable, os.path.join(os.path.dirname(here), "cupy_bench.py"), path, "f64", output]
    return [sys.executable, here, "--solve", name, path, output, given.d]


def rank_seconds(printed):
    """Of ranking alone, as a tool's process prints it; windrow's from the phases of its report; None: not known."""
    try:
        report = json.loads(printed)
    except ValueError:
        return None
    if "rank_s" in report:
        return report["rank_s"]
    phases = report["runs"][0]["ledger"]["phases"]
    return sum(phases[phase]["s"] for phase in ("transform", "upload", "prepare", "solve", "download"))


def run(command, limit):
    """Wall, user and ranking seconds of a process and "", or three None and why it failed."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.perf_counter()
    try:
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None, None, None, "more than %g s" % limit
    wall = time.perf_counter() - begin
    if ran.returncode:
        return None, None, None, (ran.stderr.strip() or "exit code %d" % ran.returncode).split("\n")[-1]
    return wall, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, rank_seconds(ran.stdout), ""


def judge(given, path, output):
    """What --check says of scores, with the tolerance 1e-9."""
    command = [given.program, "--check", output, "--damping", given.d, "--json", "-", path]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return json.loads(ran.stdout)["check"]
    except ValueError:
        sys.exit("rivals.py: " + ran.stderr)


def median_of(times):
    known = [value for value in times if value is not None]
    return statistics.median(known) if known else None


def measure(given, path, folder):
    """A record for each tool that ran, and for each that failed."""
    names = [name for name in given.names if name != "cupy" or float(given.d) == 0.85]
    outputs = {name: "%s/%s.txt" % (folder, name) for name in names}
    times, failed = {name: [] for name in names}, {}
    for _ in range(given.rounds):
        for name in names:
            if name not in failed:
                *seconds, text = run(command_of(given, name, path, outputs[name]), given.limit)
                if seconds[0] is None:
                    failed[name] = text
                    print("%s: %s" % (name, text), file=sys.stderr)
                else:
                    times[name].append(seconds)
    records = []
    for name in names:
        record = {"graph": os.path.basename(path), "damping": float(given.d), "tool": name, "rounds": given.rounds}
        records.append(record)
        if name in failed:
            record["failed"] = failed[name]
            continue
        wall, user, ranking = zip(*times[name])
        found = judge(given, path, outputs[name])
        record.update({"wall_s": statistics.median(wall), "wall_least_s": min(wall), "wall_most_s": max(wall),
                       "user_s": statistics.median(user), "rank_s": median_of(ranking), "bound": found["bound"],
                       "proven_ranks": found["proven_ranks"], "nodes": found["nodes"],
                       "load": os.getloadavg()[0], "meaning": found.get("meaning", {}).get("text", "")})
        os.unlink(outputs[name])
    return records


def row_of(record):
    begin = "| %(graph)s | %(damping)g | %(tool)s | " % record
    if "failed" in record:
        return begin + "%(failed)s | | | | |" % record
    ranking = "%.3g" % record["rank_s"] if record["rank_s"] is not None else "-"
    return (begin + "%(wall_s).3g (%(wall_least_s).3g to %(wall_most_s).3g) | %(user_s).3g | " % record + ranking
            + " | %(bound).2g | %(proven_ranks)d of %(nodes)d |" % record)


def main():
    if len(sys.argv) == 6 and sys.argv[1] == "--solve":
        solve(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--damping", default="0.85")
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--program", default="build/pagerank")
    parser.add_argument("--json")
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    given.names = given.only.split(",")
    print("| graph | damping | tool | s, median (least to most) of %d | user s | ranking alone, s | L1 error at most "
          "| first ranks in proven order |" % given.rounds)
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in given.files:
            for given.d in given.damping.split(","):
                for record in measure(given, path, folder):
                    print(row_of(record), flush=True)
                    if given.json:
                        with open(given.json, "a", encoding="ascii") as file:
                            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
