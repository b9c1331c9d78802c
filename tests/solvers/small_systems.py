#!/usr/bin/env python3
"""Solves small systems with bicgstab and judges its exit codes by exact rational arithmetic.

    small_systems.py --program build/bicgstab [--systems 2000] [--seed 1] [--backends reference,cpu_csr] [--keep DIR]
                     [--methods auto,bicgstab,bicgstabl,idr,cg] [--each]
                     [--preconds none,jacobi,ilu0,ilut,auto]

Every system has 2 to 5 unknowns and is solved in f64 and in f32, by one of the methods or with --each by all of them. Many
are singular, nearly singular, badly scaled or made to break BiCGSTAB down. The residual of the written x is computed with
Python's fractions from the numbers in the files, so no rounding is in it. What must hold, ||.|| being the 2-norm:

  exit 0  ||b - A x|| <= tolerance * ||b||
  exit 2  also allowed for any system: not converged, or stagnated
  exit 3  only if b is not 0 where a row of A is empty: the program says that no x solves such a system
  exit 5  only if the condition number of A is at least 1/u, or an element of the exact solution is beyond f64;
          by cg also if A is not symmetric positive definite, or no longer as it is scaled;
          with ilu0 and ilut also if elimination without exchanges of rows meets a pivot below 1e-6 of its row: they shift it;
          by bicgstabl, since it breaks down where (A r, r) = 0 for l = 1, or r, A r, ... are linearly dependent
  any other exit code is a failure, exit 7 (verification failed) included

u is 2^-53 or 2^-24. The condition number is ||A|| ||A^-1|| in the Frobenius norm, from the exact inverse. The last line on
standard output is "small_systems: N passed, N failed, N skipped". A failed system is printed as the command that repeats it.
"""
import argparse
import itertools
import math
import os
import random
import subprocess
import sys
from collections import Counter
from fractions import Fraction

TOLERANCE = {"f64": 1e-8, "f32": 1e-5}
UNIT = {"f64": Fraction(1, 2**53), "f32": Fraction(1, 2**24)}


def number(r):
    return r.uniform(-2, 2)


def dense(r, n):
    return [[number(r) for _ in range(n)] for _ in range(n)]


def integers(r, n):
    return [[float(r.randint(-2, 2)) for _ in range(n)] for _ in range(n)]


def dependent_row(r, n):
    """The last row is a multiple of the first, rounded: singular, or as near to it as f64 comes."""
    rows = dense(r, n)
    factor = number(r)
    rows[-1] = [factor * value for value in rows[0]]
    return rows


def exactly_singular(r, n):
    """One row is a power of two times another, so nothing is rounded."""
    rows = dense(r, n)
    i, j = r.sample(range(n), 2)
    factor = 2.0 ** r.randint(-3, 3)
    rows[i] = [factor * value for value in rows[j]]
    return rows


def empty_column(r, n):
    rows = dense(r, n)
    j = r.randrange(n)
    for row in rows:
        row[j] = 0.0
    return rows


def rank_one(r, n):
    left, right = [number(r) for _ in range(n)], [number(r) for _ in range(n)]
    return [[p * q for q in right] for p in left]


def graded(r, n):
    """Rows and columns of very different sizes."""
    rows = [10.0 ** r.uniform(-6, 6) for _ in range(n)]
    cols = [10.0 ** r.uniform(-6, 6) for _ in range(n)]
    return [[p * q * number(r) for q in cols] for p in rows]


def uniform_scale(r, n):
    """A well-behaved matrix times a power of ten that f64 holds and whose square it may not hold."""
    scale = 10.0 ** r.randint(-300, 300)
    return [[scale * value for value in row] for row in dominant(r, n)]


def dominant(r, n):
    rows = dense(r, n)
    for i in range(n):
        rows[i][i] = 2.0 * n + number(r)
    return rows


def triangular(r, n):
    return [[number(r) if j >= i else 0.0 for j in range(n)] for i in range(n)]


def zero_diagonal(r, n):
    rows = dense(r, n)
    for i in range(n):
        rows[i][i] = 0.0
    return rows


def skew(r, n):
    rows = dense(r, n)
    return [[0.0 if i == j else rows[i][j] if i < j else -rows[j][i] for j in range(n)] for i in range(n)]


def permutation(r, n):
    order = r.sample(range(n), n)
    return [[number(r) if order[i] == j else 0.0 for j in range(n)] for i in range(n)]


def hilbert(r, n):
    return [[1.0 / (i + j + 1) for j in range(n)] for i in range(n)]


KINDS = [dense, dense, integers, dependent_row, dependent_row, exactly_singular, exactly_singular, empty_column, rank_one,
         graded, uniform_scale, dominant, triangular, zero_diagonal, skew, permutation, hilbert]


def right_hand_side(r, rows):
    n = len(rows)
    kind = r.randrange(5)
    if kind == 0:
        return [1.0] + [0.0] * (n - 1)
    if kind == 1:  # consistent, but for rounding
        x = [number(r) for _ in range(n)]
        return [sum(a * v for a, v in zip(row, x)) for row in rows]
    if kind == 2:
        return [10.0 ** r.randint(-30, 30) * number(r) for _ in range(n)]
    return [number(r) for _ in range(n)]


def inverse(rows):
    """The exact inverse by Gauss and Jordan, or None."""
    n = len(rows)
    work = [list(row) + [Fraction(i == j) for j in range(n)] for i, row in enumerate(rows)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if work[i][k] != 0), None)
        if pivot is None:
            return None
        work[k], work[pivot] = work[pivot], work[k]
        work[k] = [value / work[k][k] for value in work[k]]
        for i in range(n):
            if i != k and work[i][k] != 0:
                factor = work[i][k]
                work[i] = [p - factor * q for p, q in zip(work[i], work[k])]
    return [row[n:] for row in work]


def squares(rows):
    return sum(value * value for row in rows for value in row)


def is_regular(rows, unit):
    """Whether the condition number is below 1 / unit."""
    found = inverse(rows)
    return found is not None and squares(rows) * squares(found) < 1 / unit**2


def overflows(rows, b):
    """Whether an element of the solution is beyond f64; A is regular."""
    most = Fraction(sys.float_info.max)
    return any(abs(sum(p * q for p, q in zip(row, b))) > most for row in inverse(rows))


def write_matrix(path, rows):
    entries = [(i + 1, j + 1, v) for i, row in enumerate(rows) for j, v in enumerate(row) if v != 0]
    with open(path, "w") as file:
        file.write("%%MatrixMarket matrix coordinate real general\n")
        file.write("%d %d %d\n" % (len(rows), len(rows), len(entries)))
        for i, j, v in entries:
            file.write("%d %d %s\n" % (i, j, repr(v)))


def write_vector(path, values):
    with open(path, "w") as file:
        file.write("%%%%MatrixMarket matrix array real general\n%d 1\n" % len(values))
        file.writelines("%s\n" % repr(v) for v in values)


def read_vector(path):
    with open(path) as file:
        lines = [line for line in file if not line.startswith("%")]
    values = [float(line) for line in lines[1:]]  # 17 digits name one number of f64, and that is meant
    return [Fraction(value) if math.isfinite(value) else None for value in values]


def true_residual_meets(rows, b, x, tolerance):
    if any(v is None for v in x) or len(x) != len(b):
        return False
    residual = [c - sum(a * v for a, v in zip(row, x)) for row, c in zip(rows, b)]
    return squares([residual]) <= Fraction(tolerance) ** 2 * squares([b])


def has_pivots(rows):
    """Whether no pivot of elimination without exchanges of rows is below 1e-6 of the largest element of its row of A."""
    n, work = len(rows), [list(row) for row in rows]
    for k in range(n):
        if abs(work[k][k]) * 10**6 <= max(map(abs, rows[k])):
            return False
        for i in range(k + 1, n):
            factor = work[i][k] / work[k][k]
            work[i] = [p - factor * q for p, q in zip(work[i], work[k])]
    return True


def has_diagonal(rows):
    return all(rows[i][i] != 0 for i in range(len(rows)))


def is_definite(rows):
    """Whether A is symmetric positive definite: symmetric, with positive pivots."""
    n, work = len(rows), [list(row) for row in rows]
    if any(rows[i][j] != rows[j][i] for i in range(n) for j in range(i)):
        return False
    for k in range(n):
        if work[k][k] <= 0:
            return False
        for i in range(k + 1, n):
            factor = work[i][k] / work[k][k]
            work[i] = [p - factor * q for p, q in zip(work[i], work[k])]
    return True


def judge(code, precision, method, precond, scale, rows, b, path):
    """None, or what is wrong."""
    if code == 0:
        if true_residual_meets(rows, b, read_vector(path), TOLERANCE[precision]):
            return None
        return "converged over a residual that is too large"
    if code == 2:
        return None
    if code == 3 and any(not any(row) and c != 0 for row, c in zip(rows, b)):
        return None
    if code == 5 and (not is_regular(rows, UNIT[precision]) or overflows(rows, b)):
        return None
    if code == 5 and method == "cg" and (scale != "none" or not is_definite(rows)):
        return None
    if code == 5 and (method == "bicgstabl" or (precond in ("ilu0", "ilut") and not has_pivots(rows))):
        return None
    if code == 5:
        return "breakdown, although A is regular"
    return "exit code %d" % code


def solve(options, precision, backend, precond, scale, method, folder):
    command = [options.program, "-q", "-p", precision, "-k", backend, "--precond", precond, "--scale", scale,
               "--method", method[0], "--ell", method[1],
               "-n", str(options.iterations), "-b", "%s/b.mtx" % folder, "-o", "%s/x.mtx" % folder, "%s/A.mtx" % folder]
    if os.path.exists(folder + "/x.mtx"):
        os.remove(folder + "/x.mtx")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                          env=dict(os.environ, OMP_NUM_THREADS="1"))
    return done.returncode, done.stdout.decode(errors="replace").strip(), " ".join(command)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/bicgstab")
    parser.add_argument("--systems", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backends", default="cpu_csr,reference")
    parser.add_argument("--methods", default="auto,bicgstab,bicgstabl,idr,cg")
    parser.add_argument("--preconds", default="none,none,jacobi,ilu0,ilut,auto",
                        help="of which one is chosen for a system; jacobi only where no diagonal element is 0")
    parser.add_argument("--each", action="store_true", help="solve every system by each of the methods, not by one")
    parser.add_argument("--iterations", type=int, default=0, help="at most; 0: the program's default")
    parser.add_argument("--work", required=True, help="a folder for the files of one system")
    parser.add_argument("--keep", help="a folder for the files of failed systems")
    options = parser.parse_args()
    backends, counts, failed = options.backends.split(","), Counter(), 0
    for k in range(options.systems):
        r = random.Random("%d %d" % (options.seed, k))
        kind = KINDS[k % len(KINDS)]
        rows = kind(r, r.randint(2, 5))
        b = right_hand_side(r, rows)
        write_matrix(options.work + "/A.mtx", rows)
        write_vector(options.work + "/b.mtx", b)
        exact_rows = [[Fraction(v) for v in row] for row in rows]
        exact_b = [Fraction(v) for v in b]
        precond = r.choice([p for p in options.preconds.split(",") if p != "jacobi" or has_diagonal(rows)] or ["none"])
        scale = r.choice(["auto", "auto", "none", "equilibrate", "match"])
        methods = options.methods.split(",") if options.each else [r.choice(options.methods.split(","))]
        for precision, name in itertools.product(("f64", "f32"), methods):
            backend, method = r.choice(backends), (name, str(r.randint(1, 4)))
            code, said, command = solve(options, precision, backend, precond, scale, method, options.work)
            if (code == 3 and precision == "f32" and "f32" in said) or (code == 1 and name == "cg" and "definite" in said):
                counts[precision, name, "refused"] += 1  # a value that f32 cannot hold, or an M that cg cannot use: said so
                continue
            wrong = judge(code, precision, name, precond, scale, exact_rows, exact_b, options.work + "/x.mtx")
            counts[precision, name, code] += 1
            if wrong is None:
                continue
            failed += 1
            if failed <= 20:
                print("system %d (%s, n %d): %s\n  %s\n  %s" % (k, kind.__name__, len(rows), wrong, command, said[:300]),
                      file=sys.stderr)
            if options.keep:
                folder = "%s/%d" % (options.keep, k)
                os.makedirs(folder, exist_ok=True)
                write_matrix(folder + "/A.mtx", rows)
                write_vector(folder + "/b.mtx", b)
    for (precision, method, code), count in sorted(counts.items(), key=str):
        print("%s %s %s %s: %d" % (precision, method, "exit" if code != "refused" else "", code, count))
    print("small_systems: %d passed, %d failed, 0 skipped" % (sum(counts.values()) - failed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
