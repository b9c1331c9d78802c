#!/usr/bin/env python3
"""Scores by other tools, and with planted errors, judged by `pagerank --check`, and this in turn by a power method with exact sums.

    other_scores.py --program build/pagerank --work DIR [--graph polblogs.mtx.gz] [--verbose]

The tools are networkx (both of its power methods, at its default tolerance and at a strict one), igraph (PRPACK) and SciPy (a sparse
direct solve). One that is not installed is skipped with a sentence. What must hold of every file of scores y, with r the true ones:

  the bound is no smaller than ||y - r||_1, and no larger than (1 + d) / (1 - d) times that
  exit 0 if the bound is at most 1e-9, else exit 2
  as many nodes as are said to be in proven order are in r's order
  networkx, which stops at a change of n tol:  the bound is at most d n tol / (1 - d)
  a planted error is found: at its node, or by what it means

The last line on standard output is "other_scores: N passed, N failed, N skipped".
"""
import argparse
import gzip
import json
import math
import random
import subprocess
import sys

TOLERANCE = 1e-9
counts = {"passed": 0, "failed": 0, "skipped": 0}


def check(condition, said):
    counts["passed" if condition else "failed"] += 1
    if not condition:
        print("other_scores: " + said, file=sys.stderr)


class Case:
    """A graph as a file of edges, from 1, its dampings and jumps, and its true scores."""

    def __init__(self, name, n, edges, work, damping=0.85, jumps=None, weighted=False):
        self.name, self.n, self.edges, self.damping, self.jumps, self.weighted = name, n, edges, damping, jumps, weighted
        self.path, self.work = "%s/%s.mtx" % (work, name), work
        self.options = ["--damping", repr(damping)]
        kind = "real" if weighted else "pattern"
        lines = ["%d %d%s\n" % (i, j, " %r" % w if weighted else "") for i, j, w in edges]
        with open(self.path, "w", encoding="ascii") as file:
            file.write("%%%%MatrixMarket matrix coordinate %s general\n%d %d %d\n%s" % (kind, n, n, len(edges), "".join(lines)))
        if jumps:
            self.options += ["--personalize", self.write("jumps", jumps)]
        self.truth, self.uncertain = self.solve()

    def write(self, label, values):
        path = "%s/%s.%s.tsv" % (self.work, self.name, label)
        with open(path, "w", encoding="ascii") as file:
            file.writelines("%d\t%r\n" % (i + 1, float(v)) for i, v in enumerate(values))
        return path

    def solve(self):
        """The power method in f64 with correctly rounded sums, and the L1 error that its last step leaves."""
        n, d = self.n, self.damping
        total = math.fsum(self.jumps) if self.jumps else n
        jump = [v / total for v in self.jumps] if self.jumps else [1 / n] * n
        out = [[] for _ in range(n)]
        for i, _, w in self.edges:
            out[i - 1].append(w)
        out = [math.fsum(w) for w in out]
        into = [[] for _ in range(n)]
        for i, j, w in self.edges:
            into[j - 1].append((i - 1, w / out[i - 1]))
        ranks, change, steps = jump, 1.0, 0
        while change > 1e-16 and steps < 400:
            lost = math.fsum(r for r, w in zip(ranks, out) if w == 0)
            after = [d * math.fsum(ranks[i] * w for i, w in row) + (d * lost + 1 - d) * v for row, v in zip(into, jump)]
            change, ranks, steps = math.fsum(abs(a - b) for a, b in zip(after, ranks)), after, steps + 1
        return ranks, (change * d + 8 * 2.0**-53) / (1 - d)


def power_networkx(case, how, tol):
    import networkx
    from networkx.algorithms.link_analysis import pagerank_alg

    rank = networkx.pagerank if how == "default" else getattr(pagerank_alg, "_pagerank_python")
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(1, case.n + 1))
    graph.add_weighted_edges_from(case.edges)
    jumps = {i + 1: v for i, v in enumerate(case.jumps)} if case.jumps else None
    scores = rank(graph, alpha=case.damping, personalization=jumps, tol=tol, max_iter=10000)
    return [scores[i] for i in range(1, case.n + 1)]


def prpack_igraph(case):
    import igraph

    graph = igraph.Graph(n=case.n, edges=[(i - 1, j - 1) for i, j, _ in case.edges], directed=True)
    weights = [w for _, _, w in case.edges] if case.weighted else None
    if case.jumps:
        return graph.personalized_pagerank(damping=case.damping, reset=case.jumps, weights=weights, implementation="prpack")
    return graph.pagerank(damping=case.damping, weights=weights, implementation="prpack")


def direct_scipy(case):
    import numpy
    import scipy.sparse
    import scipy.sparse.linalg

    n, d = case.n, case.damping
    i, j, w = (numpy.array(column) for column in zip(*case.edges))
    links = scipy.sparse.csr_matrix((w.astype(float), (i - 1, j - 1)), (n, n))
    out = numpy.asarray(links.sum(axis=1)).ravel()
    scale = numpy.divide(1, out, where=out > 0, out=numpy.zeros(n))
    jump = numpy.array(case.jumps if case.jumps else [1.0] * n)
    system = scipy.sparse.identity(n) - d * (scipy.sparse.diags(scale) @ links).T
    scores = scipy.sparse.linalg.spsolve(system.tocsc(), jump) # the rank of dangling nodes only scales it
    return list(scores / scores.sum())


def tools(n):
    """Name, function of a case, and the largest change at which it stops, or None where it is not known."""
    strict = 1e-12 / n
    return [
        ("networkx", lambda case: power_networkx(case, "default", 1e-6), n * 1e-6),
        ("networkx-strict", lambda case: power_networkx(case, "default", strict), n * strict),
        ("networkx-python", lambda case: power_networkx(case, "python", 1e-6), n * 1e-6),
        ("networkx-python-strict", lambda case: power_networkx(case, "python", strict), n * strict),
        ("igraph", prpack_igraph, None),
        ("scipy", direct_scipy, None),
    ]


def certificate(program, case, path):
    command = [program, "--check", path, "--json", "-", *case.options, case.path]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return ran.returncode, json.loads(ran.stdout)["check"], " ".join(command)
    except ValueError:
        return ran.returncode, None, " ".join(command) + ": " + ran.stderr


def judge(program, case, name, scores, most=None):
    """Checks the certificate of scores; returns it."""
    code, found, said = certificate(program, case, case.write(name, scores))
    check(found is not None, said)
    if found is None:
        return {}
    d, said = case.damping, "%s of %s (%s): " % (name, case.name, said)
    error = math.fsum(abs(a - b) for a, b in zip(scores, case.truth))
    check(found["bound"] >= error - case.uncertain, said + "bound %g, error %g" % (found["bound"], error))
    check(found["bound"] <= (1 + d) / (1 - d) * (error + case.uncertain) + 2e-14 / (1 - d),
          said + "bound %g, error %g" % (found["bound"], error))
    check(code == (0 if found["bound"] <= TOLERANCE else 2), said + "exit %d" % code)
    if most is not None:
        check(found["bound"] <= d * most / (1 - d) + 2e-14 / (1 - d), said + "bound %g, change %g" % (found["bound"], most))
    proven = found["proven_ranks"]
    order = sorted(range(case.n), key=lambda i: -scores[i])
    for k in range(min(proven, case.n - 1)):
        check(case.truth[order[k]] - case.truth[order[k + 1]] > -case.uncertain, said + "rank %d" % (k + 1))
    return found


def plant(program, case):
    """Errors in scores that are right."""
    right = case.truth
    judge(program, case, "right", right)
    for node in (0, case.n // 2, case.n - 1):
        for error in (1e-3, 1e-5, 1e-7):
            found = judge(program, case, "planted", [v + error * (i == node) for i, v in enumerate(right)])
            check(found.get("worst_node") == node + 1, "%s: %g at %d is found at %s" % (case.name, error, node + 1,
                                                                                       found.get("worst_node")))
    order = sorted(range(case.n), key=lambda i: -right[i])
    swapped = list(right)
    swapped[order[0]], swapped[order[-1]] = right[order[-1]], right[order[0]]
    check(judge(program, case, "swapped", swapped).get("proven_ranks") == 0, case.name + ": swapped scores in proven order")
    found = judge(program, case, "sevenfold", [7 * v for v in right])
    check("multiplied by 7" in found.get("meaning", {}).get("text", ""), case.name + ": scores times 7")
    other = Case(case.name + "-other", case.n, case.edges, case.work, 0.75, case.jumps, case.weighted)
    found = judge(program, case, "other-damping", other.truth)
    check(found.get("meaning", {}).get("text", "") == "damping 0.75", case.name + ": " + str(found.get("meaning")))


def random_edges(seed, n, count, weighted):
    r = random.Random(seed)
    pairs = {(r.randint(1, n), r.randint(1, n)) for _ in range(count)}
    return [(i, j, r.choice([0.25, 1.0, 3.5, 40.0]) if weighted else 1.0) for i, j in sorted(pairs) if i % 7]  # others dangle


def read_edges(path):
    with gzip.open(path, "rt", encoding="ascii") as file:
        lines = [line.split() for line in file if line.strip() and line[0] != "%"]
    return int(lines[0][0]), [(int(line[0]), int(line[1]), 1.0) for line in lines[1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--graph")
    parser.add_argument("--verbose", action="store_true", help="a line for each tool and graph")
    given = parser.parse_args()
    cases = [Case("links", 60, random_edges(1, 60, 150, False), given.work),
             Case("weights", 60, random_edges(2, 60, 150, True), given.work, weighted=True),
             Case("steep", 40, random_edges(3, 40, 90, False), given.work, damping=0.5),
             Case("jumps", 60, random_edges(4, 60, 150, True), given.work, jumps=[1.0 + i % 5 for i in range(60)],
                  weighted=True)]
    if given.graph:
        cases.append(Case("file", *read_edges(given.graph), given.work))
    missing = set()
    for case in cases:
        plant(given.program, case)
        for name, rank, most in tools(case.n):
            tool = name.replace("-strict", "")
            if tool in missing:
                continue
            try:
                scores = rank(case)
            except ImportError as lack:
                print("[other_scores] skipped: %s is missing, without which there are no scores by %s" % (lack.name, tool),
                      file=sys.stderr)
                missing.add(tool)
                counts["skipped"] += 1
                continue
            found = judge(given.program, case, name, scores, most)
            if given.verbose and found:
                meaning = found.get("meaning", {}).get("text", "")
                print("%-24s %-10s error <= %-12.3g first %d of %d in proven order  %s" %
                      (name, case.name, found["bound"], found["proven_ranks"], case.n, meaning))
    print("other_scores: %(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    return counts["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
