"""Checks of windrow for Python, for tests/cli/python.sh: answers against numpy and SciPy, refusals, callbacks, packaging.

usage: check_python.py FOLDER, which is for what is written. The last line counts.
"""
import contextlib
import ctypes
import doctest
import functools
import gc
import hashlib
import importlib
import io
import logging
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import unittest
import unittest.mock
import zipfile
from base64 import urlsafe_b64encode

import numpy as np

import windrow
from windrow import device, library

try:
    import scipy.sparse
    import scipy.sparse.linalg
except ImportError:
    scipy = None
try:
    import networkx
except ImportError:
    networkx = None
try:
    import matplotlib
except ImportError:
    matplotlib = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = None  # set by main
CPU = {"device": "cpu", "threads": 2}
needs_scipy = unittest.skipIf(scipy is None, "scipy is missing")


def triple(n, seed=1, extra=4):
    """(rows, cols, vals) of a matrix whose diagonal dominates, without order."""
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, n, (2, extra * n))
    vals = rng.uniform(-1, 1, extra * n)
    rows, cols = np.concatenate([rows, np.arange(n)]), np.concatenate([cols, np.arange(n)])
    return rows, cols, np.concatenate([vals, np.full(n, 3.0 + extra)])


def dense(rows, cols, vals, shape=None):
    A = np.zeros(shape or (1 + max(rows.max(), cols.max()),) * 2)
    np.add.at(A, (rows, cols), vals)
    return A


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


def ranks_by_numpy(A, damping, teleport=None):
    """PageRank as a dense linear system."""
    n = len(A)
    v = np.full(n, 1 / n) if teleport is None else teleport / teleport.sum()
    sums = A.sum(1)
    P = np.where(sums[:, None] > 0, A / np.where(sums > 0, sums, 1)[:, None], v)
    return np.linalg.solve(np.eye(n) - damping * P.T, (1 - damping) * v)


def python(code, **environment):
    """A process of its own: what it has printed, its errors, its exit status."""
    env = {**os.environ, **environment}
    may_interrupt = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # ignored in the background of a shell
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=FOLDER, capture_output=True, text=True, timeout=600,
                          preexec_fn=may_interrupt)
    return done.stdout, done.stderr, done.returncode


class Case(unittest.TestCase):
    def refuses(self, kind, words, function, *arguments, **options):
        """Raises kind with a sentence that has all the words."""
        with self.assertRaises(kind) as caught:
            function(*arguments, **options)
        for word in words.split("|"):
            self.assertIn(word, str(caught.exception))
        return caught.exception


class Library(Case):
    def test_structs_are_those_of_the_header(self):
        source = '#include <stdio.h>\n#include "solvers/api/windrow.h"\nint main(void) {\n'
        for name, struct in library.STRUCTS.items():
            source += f'  printf("{name} %zu\\n", sizeof({name}));\n'
            for member, *_ in struct._fields_:
                source += f'  printf("{name}.{member} %zu %zu\\n", offsetof({name}, {member}), ' \
                          f"sizeof((({name} *)0)->{member}));\n"
        path = os.path.join(FOLDER, "layout")
        with open(path + ".c", "w") as file:
            file.write(source + "}\n")
        subprocess.run([os.environ.get("CC", "gcc"), "-I", ROOT, path + ".c", "-o", path], check=True)
        said = subprocess.run([path], capture_output=True, text=True, check=True, env={}).stdout
        expected = ""
        for name, struct in library.STRUCTS.items():
            expected += f"{name} {ctypes.sizeof(struct)}\n"
            for member, *_ in struct._fields_:
                place = getattr(struct, member)
                expected += f"{name}.{member} {place.offset} {place.size}\n"
        self.assertEqual(said, expected)

    def test_functions_have_the_arguments_of_the_headers(self):
        declared = {}
        for path in ("solvers/api/windrow.h", "config/errors.h", "config/version.h", "solvers/outcome.h"):
            with open(os.path.join(ROOT, path)) as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            for returned, name, arguments in re.findall(r"([\w ]+[ *])(wr_\w+)\(([^()]*)\);", text):
                count = 0 if arguments.strip() == "void" else arguments.count(",") + 1
                kind = "status" if returned.strip() == "wr_status" else "void" if returned.strip() == "void" else "value"
                declared[name] = (count, kind)
        for name, (returned, arguments) in library._FUNCTIONS.items():
            self.assertIn(name, declared)
            kind = "void" if returned is None else "status" if returned is library._STATUS else "value"
            self.assertEqual((len(arguments), kind), declared[name], name)

    def test_version(self):
        with open(os.path.join(ROOT, "config", "version.h")) as file:
            self.assertIn(f'#define WR_VERSION "{windrow.__version__}"', file.read())

    def test_capabilities(self):
        names = {b["name"]: b for b in windrow.backends()}
        self.assertTrue(names["reference"]["available"])
        self.assertEqual(names["reference"]["reason"], "")
        for backend in names.values():
            self.assertEqual(backend["available"], backend["reason"] == "")
        self.assertEqual(set(windrow.built_with()), {"cuda", "zlib", "klu"})

    def test_a_library_that_is_missing(self):
        _, said, code = python("import windrow", WINDROW_LIBRARY="/nowhere/libwindrow.so")
        self.assertEqual(code, 1)
        self.assertIn("ImportError: libwindrow was not found. `make libraries`", said)
        self.assertIn("/nowhere/libwindrow.so", said)

    def test_builds_of_a_tree(self):
        tree = os.path.join(FOLDER, "tree")
        for k, (place, flags) in enumerate((("build", "-O3"), ("build-clang", None), ("build/cpu", "-O2"),
                                            ("build/asan", "-O1 -fsanitize=address"), ("other", "-O3"))):
            os.makedirs(os.path.join(tree, place))
            path = os.path.join(tree, place, "libwindrow.so")
            open(path, "w").close()
            os.utime(path, (k + 1, k + 1))
            if flags:
                with open(os.path.join(tree, place, "flags"), "w") as file:
                    file.write(flags)
        builds = importlib.import_module("windrow.builds")
        self.assertEqual(builds.newest(tree), [])
        os.makedirs(os.path.join(tree, "solvers", "api"))
        open(os.path.join(tree, "solvers", "api", "windrow.h"), "w").close()
        self.assertEqual([os.path.relpath(os.path.dirname(path), tree) for path in builds.newest(tree)],
                         ["build/cpu", "build-clang", "build"])

    def test_a_library_of_another_kind_or_version(self):
        path = os.path.join(FOLDER, "other.so")
        for skipped, version, sentence in (("wr_rank", "9.9.0", "has no wr_rank: it is no libwindrow"),
                                           (None, "9.9.0", "is windrow 9.9.0, and this Python package is for windrow"),
                                           (None, windrow.__version__, None)):
            with open(path + ".c", "w") as file:
                for name in library._FUNCTIONS:
                    if name == "wr_version":
                        file.write(f'const char *wr_version(void) {{ return "{version}"; }}\n')
                    elif name != skipped:
                        file.write(f"void {name}(void) {{ }}\n")
            subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", path + ".c", "-o", path], check=True)
            _, said, code = python("import windrow", WINDROW_LIBRARY=path)
            self.assertEqual(code, 0 if sentence is None else 1, said)
            self.assertIn(sentence or "", said)


class Matrices(Case):
    def test_entries_in_any_order_add_up(self):
        rows, cols, vals = triple(50)
        A = windrow.Matrix((rows, cols, vals))
        self.assert_same(A, dense(rows, cols, vals))
        self.assert_same(windrow.Matrix((rows.astype(np.int32), cols.astype(np.int32), vals)), dense(rows, cols, vals))
        self.assert_same(windrow.Matrix((rows.astype(np.uint16), cols, vals)), dense(rows, cols, vals))
        self.assert_same(windrow.Matrix((rows[::-1], cols[::-1], vals[::-1])), dense(rows, cols, vals))
        self.assert_same(windrow.Matrix(dense(rows, cols, vals)), dense(rows, cols, vals))

    def assert_same(self, A, expected):
        row_ptr, col, val = A.csr()
        rows = np.repeat(np.arange(A.shape[0]), np.diff(row_ptr))
        np.testing.assert_allclose(dense(rows, col, val, A.shape), expected, rtol=1e-14, atol=1e-14)

    def test_repeated_entries_can_count_once(self):
        A = windrow.Matrix(([0, 0, 1], [1, 1, 0]), counts_once=True)
        self.assertEqual((A.nnz, A.csr()[2].tolist()), (2, [1, 1]))
        self.assertEqual(windrow.Matrix(([0, 0, 1], [1, 1, 0])).csr()[2].tolist(), [2, 1])

    @needs_scipy
    def test_all_formats_of_scipy(self):
        rows, cols, vals = triple(40)
        expected = dense(rows, cols, vals)
        A = scipy.sparse.coo_matrix((vals, (rows, cols)))
        for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
            self.assert_same(windrow.Matrix(A.asformat(form)), expected)
        self.assert_same(windrow.Matrix(A.tocsr()[:, ::-1]), expected[:, ::-1])
        self.assert_same(windrow.Matrix(A.tocsr().astype(np.float32)), expected.astype(np.float32))
        if hasattr(scipy.sparse, "csr_array"):
            self.assert_same(windrow.Matrix(scipy.sparse.csr_array(A)), expected)

    @needs_scipy
    def test_rows_without_order_and_indices_of_64_bits(self):
        indptr, indices, data = np.array([0, 3, 3, 4]), np.array([2, 0, 2, 1]), np.array([1.0, 2.0, 4.0, 8.0])
        for kind in (np.int32, np.int64):
            A = scipy.sparse.csr_matrix((data, indices.astype(kind), indptr.astype(kind)), (3, 3))
            A.indices, A.indptr = A.indices.astype(kind), A.indptr.astype(kind)
            self.assertEqual(A.indices.dtype, kind)
            kept = A.indices.copy()
            self.assert_same(windrow.Matrix(A), np.array([[2, 0, 5], [0, 0, 0], [0, 8, 0.0]]))
            np.testing.assert_array_equal(A.indices, kept)

    @needs_scipy
    def test_arrays_that_are_too_short_are_refused(self):
        A = scipy.sparse.csr_matrix(np.eye(3))
        A.has_canonical_format, A.data = True, A.data[:1]
        self.refuses(windrow.InputError, "3 indices and 1 values", windrow.Matrix, A)

    def test_what_is_refused(self):
        new, usage = windrow.Matrix, windrow.UsageError
        self.refuses(usage, "vals is complex", new, ([0], [0], [1j]))
        self.refuses(usage, "vals have shape (2,)|rows (1,)", new, ([0], [0], [1, 2]))
        self.refuses(usage, "rows have shape (2,)|cols (1,)", new, ([0, 1], [0]))
        self.refuses(usage, "rows has elements of type float64", new, ([0.5], [0]))
        self.refuses(usage, "2^53", new, ([0], [0], [2**53 + 1]))
        self.refuses(usage, "tuple of 1", new, ([0],))
        self.refuses(usage, "A is None|scipy", new, None)
        self.refuses(usage, "of type list", new, [[1, 2], [3, 4]])
        self.refuses(usage, "rows is 0", new, ([], []))
        self.refuses(usage, "shape (2, 2)|shape=(3, 3)", new, np.eye(2), (3, 3))
        self.refuses(windrow.InputError, "row[0] is -1", new, ([-1], [0]))
        self.refuses(windrow.InputError, "col[1] is 7|from 0 to 1", new, ([0, 1], [1, 7]), (2, 2))
        self.refuses(windrow.InputError, "nan", new, np.array([[1.0, np.nan], [0, 1]]))
        self.refuses(windrow.InputError, "None is among the ids", new, (["a", None], ["b", "c"]))
        error = self.refuses(windrow.WindrowError, "nothing.mtx", windrow.read, "nothing.mtx")
        self.assertEqual(error.status, "WR_EINPUT")
        self.assertIsInstance(error, RuntimeError)
        self.assertIsInstance(error, ValueError)
        self.refuses(usage, "name is 3", windrow.read, 3)
        self.refuses(usage, "counts_once is for entries without values", new, ([0], [0], [1]), counts_once=True)
        self.refuses(usage, "columns does not apply", new, np.eye(2), columns="1,2")
        self.refuses(usage, "labels does not apply", new, "gen:fem:n=4", labels=True)
        self.refuses(usage, "A is one already", windrow.pagerank, new(np.eye(2)), shape=(2, 2))
        self.refuses(usage, "masked", new, ([0], [0], np.ma.masked_array([1.0], [True])))

    def test_kinds_of_exceptions(self):
        self.assertTrue(issubclass(windrow.OutOfMemoryError, MemoryError))
        self.assertTrue(issubclass(windrow.OutOfMemoryError, windrow.WindrowError))
        for name in ("WR_EUSAGE", "WR_EINPUT", "WR_EUNAVAILABLE", "WR_ENUMERIC", "WR_ENOMEM", "WR_EINTERNAL"):
            status = next(k for k in range(20) if library.lib.wr_status_name(k) == name.encode())
            self.assertEqual(library.failure(status, "wr_x: options->y").status, name)
            self.assertEqual(str(library.failure(status, "wr_x: options->y")), "y")

    def test_files_with_names(self):
        path, long = os.path.join(FOLDER, "names.txt"), "https://example.org/" + "x" * 400
        names = ["home", "1", "007", "caf\u00e9", long]
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(f"{name} home\n" for name in names))
        A = windrow.read(path, graph=True)
        self.assertEqual({A.id(i) for i in range(5)}, {"home", 1, "007", "caf\u00e9", long})
        for i in range(5):
            self.assertEqual(A.find(A.id(i)), i)
        self.assertEqual(windrow.pagerank(path, personalize={"caf\u00e9": 1}).top(2)[1][0], "caf\u00e9")

    def test_files(self):
        path = os.path.join(FOLDER, "edges.txt")
        with open(path, "w") as file:
            file.write("7 9\n9 7\n7 8\n7 8\n")
        A = windrow.read(path, graph=True)
        self.assertEqual(A.shape, (3, 3))
        self.assertEqual(sorted(A.id(i) for i in range(3)), [7, 8, 9])
        self.assertEqual([A.id(A.find(name)) for name in (7, "8", 9)], [7, 8, 9])
        self.assertRaises(KeyError, A.find, 10)
        self.refuses(windrow.UsageError, "format", windrow.read, path, format="csv")

    def test_choices_for_edge_lists(self):
        path = os.path.join(FOLDER, "choices.txt")
        with open(path, "w") as file:
            file.write("from;to\n07;7\n7;a b\n")
        nodes = lambda **how: {A.id(i) for A in [windrow.read(path, **how)] for i in range(A.shape[0])}
        self.assertEqual(nodes(ids="names", separator="semicolon", header="yes"), {"07", 7, "a b"})
        self.assertEqual(nodes(ids="names", separator="semicolon", header="no"), {"from", "to", "07", 7, "a b"})
        self.refuses(windrow.InputError, "choices.txt:3", windrow.read, path, ids="numbers", separator="semicolon", header="yes")
        self.assertEqual(len(windrow.pagerank(path, ids="names", separator="semicolon", header="yes").scores), 3)
        for wrong in ({"ids": "text"}, {"separator": ";"}, {"header": "maybe"}):
            self.refuses(windrow.UsageError, next(iter(wrong)), windrow.read, path, **wrong)
            self.refuses(windrow.UsageError, next(iter(wrong)) + " does not apply", windrow.Matrix, np.eye(2), **wrong)
        self.refuses(windrow.UsageError, "header is True", windrow.read, path, header=True)


class Linear(Case):
    def test_answers_are_within_their_bound(self):
        rows, cols, vals = triple(300)
        A, b = dense(rows, cols, vals), np.random.default_rng(2).uniform(-1, 1, 300)
        exact = np.linalg.solve(A, b)
        for options in ({}, {"rtol": 1e-12}, {"method": "idr"}, {"precond": "ilu0"}, {"precision": "f32"},
                        {"backend": "cpu_bsr"}, {"deterministic": True}, {"atol": 1e-3}):
            found = windrow.solve((rows, cols, vals), b, **{**CPU, **options})
            self.assertTrue(found.converged and found.verified, f"{options}: {found.note}")
            self.assertLessEqual(residual(A, found.x, b), found.bound * (1 + 1e-6))
            self.assertLessEqual(np.linalg.norm(found.x - exact),
                                 np.linalg.norm(np.linalg.inv(A), 2) * found.bound * np.linalg.norm(b) * (1 + 1e-6))
            self.assertEqual(len(found.history.iterations), len(found.history.residuals))
            self.assertGreater(len(found.history.iterations), 0)
            self.assertGreaterEqual(found.times["total"], found.times["solve"])
        self.assertEqual(windrow.solve((rows, cols, vals), b, rtol=1e-12, **CPU).bound, 1e-12)
        self.assertEqual(windrow.solve((rows, cols, vals), b, precision="f32", **CPU).bound, 1e-5)
        self.assertEqual(windrow.solve((rows, cols, vals), b, backend="cpu_bsr").backend, "cpu_bsr")

    def test_small_and_odd_inputs(self):
        self.assertEqual(windrow.solve(np.array([[4.0]]), [8]).x.tolist(), [2.0])
        A = dense(*triple(20))
        self.assertEqual(windrow.solve(A, np.zeros(20)).x.tolist(), [0.0] * 20)
        strided = np.random.default_rng(3).uniform(size=(20, 3))[:, 1]
        self.assertFalse(strided.flags.c_contiguous)
        self.assertLessEqual(residual(A, windrow.solve(A, strided).x, strided), 1e-8 * (1 + 1e-6))
        for b in (np.arange(1, 21), np.arange(1, 21, dtype=np.float32), list(range(1, 21))):
            self.assertLessEqual(residual(A, windrow.solve(A, b).x, np.arange(1, 21.0)), 1e-8 * (1 + 1e-6))

    def test_a_first_guess(self):
        A, b = dense(*triple(100)), np.ones(100)
        exact = np.linalg.solve(A, b)
        kept = exact.copy()
        self.assertLess(windrow.solve(A, b, exact).iterations, windrow.solve(A, b).iterations)
        np.testing.assert_array_equal(exact, kept)
        with windrow.Solver(A) as solver:
            self.assertLess(solver.solve(b, exact).iterations, solver.solve(b).iterations)

    def test_several_right_hand_sides(self):
        A, B = dense(*triple(80)), np.random.default_rng(4).uniform(size=(80, 3))
        B[:, 1] = 0
        for given in (B, np.asfortranarray(B)):
            found = windrow.solve(A, given, **CPU)
            self.assertEqual((found.x.shape, found.outcome, found.converged), ((80, 3), "converged", True))
            for j in (0, 2):
                self.assertLessEqual(residual(A, found.x[:, j], B[:, j]), found.columns[j].bound * (1 + 1e-6))
                self.assertGreater(len(found.columns[j].history.residuals), 0)
            self.assertEqual(found.x[:, 1].tolist(), [0.0] * 80)
        self.assertEqual(windrow.solve(A, B[:, :1]).x.shape, (80, 1))
        B[3, 1] = np.nan
        error = self.refuses(windrow.InputError, "nan", windrow.solve, A, B)
        self.assertLessEqual(residual(A, error.result.x[:, 2], B[:, 2]), 1e-8 * (1 + 1e-6))

    def test_a_solver_is_prepared_once(self):
        A = dense(*triple(60))
        solver = windrow.Solver(A, precond="ilu0")
        for seed in range(3):
            b = np.random.default_rng(seed).uniform(size=60)
            found = solver.solve(b)
            self.assertLessEqual(residual(A, found.x, b), found.bound * (1 + 1e-6))
            self.assertIn("ilu0", found.precond)
        self.assertEqual(solver.shape, (60, 60))
        solver.close()
        solver.close()
        self.refuses(windrow.UsageError, "this Solver is closed", solver.solve, np.ones(60))

    def test_what_is_refused(self):
        A, b, usage = np.eye(4), np.ones(4), windrow.UsageError
        self.refuses(usage, "b has shape (3,)|(4, 4)", windrow.solve, A, np.ones(3))
        self.refuses(usage, "b has shape (3, 2)|(4, 4)", windrow.solve, A, np.ones((3, 2)))
        self.refuses(usage, "b has shape (4, 0)", windrow.solve, A, np.ones((4, 0)))
        self.refuses(usage, "b has shape ()", windrow.solve, A, 1.0)
        self.refuses(usage, "x0 has shape (5,)|(4,)", windrow.solve, A, b, np.ones(5))
        self.refuses(usage, "b is complex", windrow.solve, A, b * 1j)
        self.refuses(usage, "b has elements of type", windrow.solve, A, ["a"] * 4)
        self.refuses(usage, "method is 'magic'|bicgstab", windrow.solve, A, b, method="magic")
        self.refuses(usage, "method is 3", windrow.solve, A, b, method=3)
        self.refuses(usage, "maxiter is 0", windrow.solve, A, b, maxiter=0)
        self.refuses(usage, "maxiter is 0.5", windrow.solve, A, b, maxiter=0.5)
        self.refuses(usage, "maxiter is " + str(2**70), windrow.solve, A, b, maxiter=2**70)
        self.refuses(usage, "tolerance is -1", windrow.solve, A, b, rtol=-1)
        self.refuses(usage, "rtol is NaN", windrow.solve, A, b, rtol=np.nan)
        self.refuses(usage, "time_limit is 0", windrow.solve, A, b, time_limit=0)
        self.refuses(usage, "threads is 100000", windrow.solve, A, b, threads=100000)
        self.refuses(usage, "progress is 3", windrow.solve, A, b, progress=3)
        self.refuses(usage, "unknown backend 'nothing'", windrow.solve, A, b, backend="nothing")
        self.refuses(usage, "M has shape (3, 3)|(4, 4)", windrow.solve, A, b, M=np.eye(3))
        self.refuses(usage, "precond is 'ilu0'", windrow.solve, A, b, M=np.eye(4), precond="ilu0")
        self.refuses(usage, "M is of type object", windrow.solve, A, b, M=object())
        for call in (windrow.solve, windrow.bicgstab, lambda A, b, **given: windrow.Solver(A, **given)):
            self.refuses(TypeError, "there is no option 'tol'; did you mean 'rtol'?", call, A, b, tol=1)
            self.refuses(TypeError, "there is no option 'preconditioner'; did you mean 'precond'?", call, A, b, preconditioner=1)
            self.refuses(TypeError, "there is no option 'qqq'; help(windrow.Solver) has all", call, A, b, qqq=1)
        self.refuses(windrow.InputError, "square|4 x 3", windrow.solve, np.ones((4, 3)), b)
        self.refuses(windrow.InputError, "element 2 is nan", windrow.solve, A, [1, 2, np.nan, 4])
        self.refuses(windrow.InputError, "element 2 is nan", windrow.solve, A, b, [1, 2, np.nan, 4])
        self.refuses(windrow.InputError, "row 1 has no entries", windrow.solve, np.diag([1.0, 0, 1, 1]), b)
        self.refuses(windrow.InputError, "diagonal element of row 1 is 0", windrow.solve, np.array([[1.0, 1], [1, 0]]), b[:2],
                     method="bicgstab", precond="jacobi", scale="none")
        self.refuses(windrow.InputError, "row 1: the sum", windrow.Matrix, ([0, 1, 1], [0, 1, 1], [1, 1e308, 1e308]))
        if not windrow.built_with()["cuda"]:
            error = self.refuses(windrow.UnavailableError, "", windrow.solve, A, b, device="cuda")
            self.assertEqual(error.status, "WR_EUNAVAILABLE")

    def test_not_converging_is_a_result(self):
        found = windrow.solve("gen:convect:n=40", np.ones(1600), method="bicgstab", rtol=1e-12, maxiter=3, **CPU)
        self.assertEqual((found.outcome, found.converged, found.iterations), ("max-iterations", False, 3))
        self.assertIn("max-iterations", repr(found))

    def test_x_that_may_be_useless(self):
        with self.assertWarnsRegex(RuntimeWarning, "the backward error is .*: x may be useless"):
            found = windrow.solve(np.diag([1e300, 1.0]), [1e300, 1.0], **CPU)
        self.assertTrue(found.converged and found.doubtful)
        self.assertIn("x may be useless", found.note)
        found = windrow.solve(np.diag([1e300, 1.0]), [1e300, 1.0], stop="backward", **CPU)
        self.assertFalse(found.doubtful)

    def test_as_scipy_calls_it(self):
        rows, cols, vals = triple(200)
        A, b = dense(rows, cols, vals), np.ones(200)
        x, info = windrow.bicgstab(A, b)
        self.assertEqual(info, 0)
        self.assertLessEqual(np.linalg.norm(b - A @ x), 1e-8 * np.linalg.norm(b) * (1 + 1e-6))
        x, info = windrow.bicgstab(A, b.reshape(-1, 1), np.zeros((200, 1)), rtol=0, atol=1e-3)
        self.assertEqual((x.shape, info), ((200,), 0))
        self.assertLessEqual(np.linalg.norm(b - A @ x), 1e-3 * (1 + 1e-6))
        x, info = windrow.bicgstab(A, b, rtol=1e-14, maxiter=2)
        self.assertEqual(info, 2)
        seen = []
        x, info = windrow.bicgstab(A, b, callback=seen.append, check_every=1)
        self.assertEqual(info, 0)
        self.assertGreater(len(seen), 2)
        self.assertLessEqual(seen[-1], 1e-8)
        x, info = windrow.bicgstab(A, b, callback=lambda residual: residual < 1e-2, check_every=1)
        self.assertGreater(info, 0)
        self.assertLess(residual(A, x, b), 1e-2 * (1 + 1e-6))
        self.refuses(windrow.UsageError, "both 0", windrow.bicgstab, A, b, rtol=0)
        self.refuses(windrow.UsageError, "(200, 2)", windrow.bicgstab, A, np.ones((200, 2)))
        self.refuses(windrow.UsageError, "callback is 1", windrow.bicgstab, A, b, callback=1)
        _, info = windrow.bicgstab(np.ones((2, 2)), [1.0, 0.0])
        self.assertLess(info, 0)

    @needs_scipy
    def test_the_same_answer_as_scipy(self):
        rows, cols, vals = triple(500)
        A, b = scipy.sparse.csr_matrix((vals, (rows, cols))), np.random.default_rng(5).uniform(size=500)
        mine, info = windrow.bicgstab(A, b, rtol=1e-10)
        theirs = scipy.sparse.linalg.spsolve(A.tocsc(), b)
        self.assertEqual(info, 0)
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-8 * np.linalg.norm(theirs))

    @needs_scipy
    def test_a_preconditioner_of_the_callers(self):
        n = 60
        A = scipy.sparse.diags([-1.0, 2.5, -1.3], [-1, 0, 1], (n * n, n * n)).tocsr() + scipy.sparse.diags(
            [-1.0, 2.0, -0.9], [-n, 0, n], (n * n, n * n))
        b = np.ones(n * n)
        plain = windrow.solve(A, b, method="bicgstab", scale="none")
        factors = scipy.sparse.linalg.spilu(A.tocsc())
        operator = scipy.sparse.linalg.LinearOperator(A.shape, factors.solve)
        for M in (operator, factors.solve):
            found = windrow.solve(A, b, method="bicgstab", M=M)
            self.assertTrue(found.converged)
            self.assertLessEqual(residual(A, found.x, b), found.bound * (1 + 1e-6))
            self.assertLess(found.iterations, plain.iterations / 2)
        diagonal = scipy.sparse.diags(1 / A.diagonal())
        for M in (diagonal, diagonal.tocsr()):
            x, info = windrow.bicgstab(A, b, M=M)
            self.assertEqual(info, 0)
            self.assertLessEqual(residual(A, x, b), 1e-8 * (1 + 1e-6))
        with windrow.Solver(A, method="bicgstab", M=factors.solve) as solver:
            self.assertTrue(solver.solve(b).converged and solver.solve(2 * b).converged)

    def test_failures_of_a_preconditioner(self):
        A, b = dense(*triple(50)), np.ones(50)
        self.refuses(ZeroDivisionError, "", windrow.solve, A, b, M=lambda r: r / (1 // 0))
        self.refuses(windrow.UsageError, "M returns an array of shape (3,), not (50,)", windrow.solve, A, b, M=lambda r: r[:3])
        self.refuses(windrow.UsageError, "M returns is complex", windrow.solve, A, b, M=lambda r: r * 1j)
        for factor, word in ((np.nan, "nan"), (np.inf, "inf"), (0, "0")):
            for method in ("cg", "bicgstab", "bicgstabl", "idr"):
                found = windrow.solve(A, b, method=method, M=lambda r: np.full_like(r, factor))
                self.assertFalse(found.converged)
                self.assertIn(f"M returned {word} for a finite vector other than 0", found.note, method)
        found = windrow.solve(A, np.column_stack([b, b]), M=lambda r: r * np.nan)
        self.assertEqual(["M returned nan" in column.note for column in found.columns], [True, True])
        self.assertNotIn("M returned", windrow.solve(A, b, M=lambda r: r, maxiter=1).note)
        kept = []
        windrow.solve(A, b, M=lambda r: kept.append(r) or r)
        self.assertEqual([r.shape for r in kept], [(50,)] * len(kept))
        self.assertTrue(all(r.flags.owndata for r in kept))

    @unittest.skipIf(matplotlib is None, "matplotlib is missing")
    def test_plots(self):
        found = windrow.solve("gen:convect:n=20", np.ones(400), **CPU)
        line = found.plot().get_lines()[0]
        np.testing.assert_array_equal(line.get_ydata(), found.history.residuals)
        ranks = windrow.pagerank("gen:web:n=500", **CPU)
        np.testing.assert_array_equal(ranks.plot().get_lines()[0].get_ydata(), ranks.history.residuals)

    def test_importing_draws_nothing(self):
        said, errors, code = python("import sys, windrow; print([m for m in ('matplotlib', 'scipy') if m in sys.modules])")
        self.assertEqual((said, code), ("[]\n", 0), errors)


class Callbacks(Case):
    def test_progress(self):
        seen = []
        found = windrow.solve("gen:convect:n=30", np.ones(900), check_every=1, method="bicgstab",
                              progress=lambda *values: seen.append(values), **CPU)
        checks = [(i, r) for i, r, _ in seen if i >= 0]
        self.assertEqual([i for i, _ in checks], found.history.iterations.tolist())
        self.assertEqual([r for _, r in checks], found.history.residuals.tolist())
        self.assertTrue(all(target == 1e-8 for i, _, target in seen if i >= 0))

    def test_a_callback_ends_a_solve(self):
        for stop in (lambda i, *_: i >= 5, lambda i, *_: np.bool_(i >= 5)):
            found = windrow.solve("gen:convect:n=30", np.ones(900), check_every=1, progress=stop, method="bicgstab", **CPU)
            self.assertEqual((found.outcome, found.iterations), ("interrupted", 5))
        ranks = windrow.pagerank("gen:web:n=1000", check_every=1, progress=lambda i, *_: i >= 3, method="power", **CPU)
        self.assertEqual((ranks.outcome, ranks.converged), ("interrupted", False))
        self.assertLessEqual(ranks.iterations, 4)

    def test_what_a_callback_raises(self):
        def fails(i, *_):
            if i >= 0:
                raise LookupError("from the callback")

        self.refuses(LookupError, "from the callback", windrow.solve, "gen:convect:n=30", np.ones(900), progress=fails)
        self.refuses(LookupError, "from the callback", windrow.pagerank, "gen:web:n=1000", progress=fails)
        solver = windrow.Solver("gen:convect:n=30", progress=fails)
        self.refuses(LookupError, "from the callback", solver.solve, np.ones(900))
        self.refuses(LookupError, "from the callback", solver.solve, np.ones((900, 2)))
        again = windrow.Solver("gen:convect:n=30", progress=lambda i, *_: i >= 0 and again.solve(np.ones(900)))
        self.refuses(windrow.UsageError, "its callbacks cannot call it", again.solve, np.ones(900))
        closing = windrow.Solver("gen:convect:n=30", progress=lambda i, *_: i >= 0 and closing.close())
        self.refuses(windrow.UsageError, "its callbacks cannot call it", closing.solve, np.ones(900))

    def test_ctrl_c(self):
        calls = {"solve": "windrow.solve('gen:convect:n=60', np.ones(3600), rtol=1e-13, **o)",
                 "Solver": "windrow.Solver('gen:convect:n=60', rtol=1e-13, **o).solve(np.ones((3600, 4)))",
                 "pagerank": "windrow.pagerank('gen:web:n=3000', damping=0.999, tol=1e-12, method='power', **o)"}
        for name, call in calls.items():
            code = f"""
import numpy as np, os, signal, time, windrow
seen = []
def progress(i, residual, target):
    if i >= 0:
        seen.append(i)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)
o = dict(check_every=1, device="cpu", progress=progress)
try:
    {call}
    print("ended by itself")
except KeyboardInterrupt:
    print("interrupted after", len(seen))
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
            said, errors, status = python(code)
            self.assertEqual((said, status), ("interrupted after 3\nTrue\n", 0), f"{name}: {errors}")

    def test_ctrl_c_while_the_library_computes(self):
        """Another thread sends the signal, so that the main one mostly is outside of Python when it arrives. Mass goes back and
        forth between pairs of nodes: the power method does not end by itself. While a GPU iterates by itself, the callback sees
        few of its iterations, and need not see the second."""
        code = """
import numpy as np, os, signal, threading, windrow
ids = np.arange(20000)
A, endless = (ids, ids ^ 1), dict(start=ids % 2 + 0.0, damping=0.9999999999, method="power", maxiter=10**15)
for k in range(10):
    begun = threading.Event()
    def interrupt():
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        windrow.pagerank(A, check_every=1, progress=lambda i, *_: i >= 2 and begun.set(), **endless)
        thread.join()
        print("ended by itself")
    except KeyboardInterrupt:
        thread.join()
        print("interrupted")
"""
        said, errors, status = python(code)
        self.assertEqual((said, errors, status), ("interrupted\n" * 10, "", 0))

    def test_log(self):
        with self.assertLogs("windrow", logging.INFO) as caught:
            windrow.solve("gen:convect:n=20", np.ones(400), backend="cpu_csr")
            windrow.pagerank("gen:web:n=500", backend="cpu_csr")
        text = "\n".join(caught.output)
        self.assertEqual(len(re.findall("cpu_csr on ", text)), 2, text)
        self.assertEqual(len(re.findall("converged by ", text)), 2, text)

    def test_threads(self):
        A = windrow.read("gen:convect:n=40")
        rights = np.random.default_rng(6).uniform(size=(8, 1600))
        options = {"deterministic": True, "threads": 1, "device": "cpu"}
        expected = [windrow.solve(A, b, **options).x for b in rights]
        shared, found, errors = windrow.Solver(A, **options), {}, []

        def work(k):
            try:
                found["own", k] = windrow.solve(A, rights[k], **options).x
                found["shared", k] = shared.solve(rights[k]).x
                with self.assertRaises(windrow.UsageError) as caught:
                    windrow.solve(A, rights[k], method=f"method{k}")
                found["sentence", k] = str(caught.exception)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(len(rights))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        for k, x in enumerate(expected):
            np.testing.assert_array_equal(found["own", k], x)
            np.testing.assert_array_equal(found["shared", k], x)
            self.assertIn(f"method{k}'", found["sentence", k])

    def test_forks(self):
        """Threads of the parent that a child waits for would end the test by its time limit."""
        code = """
import numpy as np, os, windrow
A = windrow.read("gen:convect:n=300")
b, o = np.ones(A.shape[0]), dict(threads=2, maxiter=20, device="cpu")
op, solver = windrow.Operator(A, threads=2), windrow.Solver(A, **o)
before = op @ b, solver.solve(b), windrow.solve(A, b, **o), windrow.pagerank("gen:web:n=50000", threads=2)
child = os.fork()
if child == 0:
    try:
        op @ b
    except windrow.UsageError as error:
        print(error, flush=True)
    try:
        solver.solve(b)
    except windrow.UsageError as error:
        print(error, flush=True)
    del op, solver
    op = windrow.Operator(A, threads=2)
    same = (op @ b == before[0]).all() and windrow.solve(A, b, **o).iterations == 20
    print("child", same and windrow.pagerank("gen:web:n=50000", threads=2).converged, flush=True)
    os._exit(0)
print("status", os.waitpid(child, 0)[1])
print("parent", (op @ b == before[0]).all() and solver.solve(b).iterations == windrow.solve(A, b, **o).iterations)
"""
        said, errors, status = python(code)
        self.assertEqual(status, 0, errors)
        lines = said.splitlines()
        self.assertIn("this Operator was made before the process forked", lines[0])
        self.assertIn("this Solver was made before the process forked", lines[1])
        self.assertEqual(lines[2:], ["child True", "status 0", "parent True"])

    @unittest.skipIf(os.environ.get("LD_PRELOAD"), "a sanitizer keeps freed memory")
    def test_memory_does_not_grow(self):
        rows, cols, vals = triple(2000)
        b = np.ones(2000)

        def several(times):
            for _ in range(times):
                windrow.solve((rows, cols, vals), b, M=lambda r: r / 7, progress=lambda *_: None, maxiter=3)
                windrow.pagerank((rows, cols, np.abs(vals)), maxiter=3, check_every=1)
                windrow.Operator((rows, cols, vals)).matvec(b)
                try:
                    windrow.solve((rows, cols, vals), b * np.nan)
                except windrow.InputError:
                    pass
            gc.collect()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

        before = several(40)
        grown = several(200) - before  # one copy of the matrix that was kept in each round would be 30 MiB
        self.assertLess(grown, 8, f"{grown:.1f} MiB in 200 rounds")


class FakeGraph:
    """As little of a graph of networkx as is used."""

    def __init__(self, edges, directed):
        self.links, self.directed = edges, directed
        self.nodes = sorted({node for edge in edges for node in edge[:2]})

    def is_directed(self):
        return self.directed

    def number_of_edges(self):
        return len(self.links)

    def edges(self, data=None, default=None):
        return [(u, v, w if w is not None else default) for u, v, w in self.links] if data else [e[:2] for e in self.links]


class FakeIgraph:
    """As little of a graph of igraph as is used."""

    class Sequence(dict):
        def attributes(self):
            return list(self)

    def __init__(self, count, edges, directed, weights=None, names=None):
        self.count, self.links, self.directed = count, edges, directed
        self.es = self.Sequence(weight=weights) if weights else self.Sequence()
        self.vs = self.Sequence(name=names) if names else self.Sequence()

    def is_directed(self):
        return self.directed

    def vcount(self):
        return self.count

    def get_edgelist(self):
        return self.links


class Ranking(Case):
    def assert_ranks(self, found, expected):
        self.assertTrue(found.converged and found.verified, found.note)
        self.assertAlmostEqual(found.scores.sum(), 1, 12)
        self.assertLessEqual(np.abs(found.scores - expected).sum(), found.bound + 1e-13)

    def test_scores_are_within_their_bound(self):
        rng = np.random.default_rng(7)
        rows, cols = rng.integers(0, 150, (2, 500))
        vals = rng.uniform(0.1, 1, 500)
        A = dense(rows, cols, vals, (150, 150))
        teleport = rng.uniform(size=150)
        for given in (A, (rows, cols, vals)) + ((scipy.sparse.csr_matrix(A),) if scipy else ()):
            shape = {"shape": (150, 150)} if isinstance(given, tuple) else {}
            self.assert_ranks(windrow.pagerank(given, tol=1e-11, **CPU, **shape), ranks_by_numpy(A, 0.85))
        for method in ("power", "chebyshev", "idr", "gauss-seidel"):
            graph = A + A.T if method == "chebyshev" else A
            found = windrow.pagerank(graph, 0.95, teleport, method=method, **CPU)
            self.assertEqual(found.method, method)
            self.assert_ranks(found, ranks_by_numpy(graph, 0.95, teleport))
        self.refuses(windrow.UsageError, "mirror image", windrow.pagerank, A, method="chebyshev")
        self.assert_ranks(windrow.pagerank(A.T, links_are_in=True, **CPU), ranks_by_numpy(A, 0.85))
        self.assert_ranks(windrow.pagerank(A, precision="mixed", **CPU), ranks_by_numpy(A, 0.85))
        self.assertLess(windrow.pagerank(A, precision="f32", **CPU).bound, 1e-5)
        started = windrow.pagerank(A, start=ranks_by_numpy(A, 0.85), check_every=1, **CPU)
        self.assertLess(started.iterations, windrow.pagerank(A, check_every=1, **CPU).iterations)

    def test_names(self):
        links = (["a", "a", "c", "d"], ["b", "c", "a", "a"])
        found = windrow.pagerank(links, personalize={"a": 2, "d": 1})
        self.assertEqual(found.graph.nodes, ["a", "c", "d", "b"])
        A, v = dense(np.array([0, 0, 1, 2]), np.array([3, 1, 0, 0]), np.ones(4), (4, 4)), np.array([2.0, 0, 1, 0])
        expected = ranks_by_numpy(A, 0.85, v)
        self.assert_ranks(found, expected)
        self.assertEqual(found.top(1)[0][0], "a")
        self.assertEqual([name for name, _ in found.top(99)], [found.graph.nodes[i] for i in np.argsort(-expected, kind="stable")])
        self.assertEqual(found.as_dict(), dict(zip(found.graph.nodes, found.scores)))
        self.assertEqual(found["c"], found.scores[1])
        self.assertRaises(KeyError, lambda: found["z"])
        big = windrow.pagerank(([10**12, 5], [5, 10**12]), labels=True)
        self.assertEqual(dict(big.top()), {10**12: big[10**12], 5: big[5]})
        self.assertEqual([i for i, _ in windrow.pagerank(([1, 2], [0, 0])).top(1)], [0])
        self.assertEqual(found.top(0), [])
        self.assertEqual((list(found), len(found), "c" in found, "z" in found), (["a", "c", "d", "b"], 4, True, False))

    def test_negative_weights_that_others_outweigh(self):
        links, words = ([0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 2, -1]), "entry 3 has the weight -1"
        self.refuses(windrow.InputError, words, windrow.pagerank, links)
        self.refuses(windrow.InputError, words, windrow.pagerank_sets, links, [[0]])
        self.refuses(windrow.InputError, words, windrow.Matrix, links, graph=True)
        self.assertEqual(windrow.Matrix(links).csr()[2].tolist(), [2, 1])
        edges = [("x", "y", 1.0), ("x", "y", 1.0), ("y", "x", 2.0), ("y", "x", -1.0)]
        self.refuses(windrow.InputError, words, windrow.pagerank, FakeGraph(edges, True))
        self.refuses(windrow.InputError, words, windrow.pagerank, FakeIgraph(2, list(zip(*links[:2])), False, links[2]))
        self.assertTrue(windrow.pagerank(FakeGraph(edges, True), counts_once=True).converged)

    def test_a_number_is_not_its_text(self):
        self.assertEqual(set(windrow.pagerank(([1, "1"], ["1", 2]))), {1, "1", 2})
        self.refuses(windrow.InputError, "nan is among the ids", windrow.pagerank, (["a", float("nan")], ["b", "a"]))

    def test_weights_beyond_f32(self):
        links = ([0, 1, 1, 2], [1, 0, 2, 0], [1e39, 1, 5, 1])
        expected = ranks_by_numpy(dense(*map(np.array, links), (3, 3)), 0.85)
        found = windrow.pagerank(links, precision="f32", **CPU)
        self.assertLessEqual(np.abs(found.scores - expected).sum(), found.bound + 1e-13)

    def test_many_sets(self):
        rng = np.random.default_rng(9)
        rows, cols = rng.integers(0, 60, (2, 300))
        A = dense(rows, cols, np.ones(300), (60, 60))
        sets = [[3], {5: 1.0, 7: 3.0}, [int(i) for i in rng.permutation(60)[:20]]] + [[j] for j in range(40)]
        found = windrow.pagerank_sets((rows, cols), sets, 60, shape=(60, 60), verify="full", tol=1e-10, **CPU)
        self.assertTrue(found.converged and found.verified, found.note)
        self.assertEqual(found.nodes.shape, (43, 60))
        for j, given in enumerate(sets):
            teleport = np.zeros(60)
            teleport[list(given)] = list(given.values()) if isinstance(given, dict) else 1.0
            expected, scores = ranks_by_numpy(A, 0.85, teleport), np.zeros(60)
            for node, score in found.top(j):
                scores[node] = score
            self.assertLessEqual(found.bounds[j], 1e-10)
            self.assertLessEqual(np.abs(scores - expected).sum(), found.bounds[j] + 1e-12)
            self.assertEqual(sorted((score for _, score in found.top(j)), reverse=True), [score for _, score in found.top(j)])
        new, usage = windrow.pagerank_sets, windrow.UsageError
        self.refuses(usage, "sets[1] has 'z'", new, (["a"], ["b"]), [["a"], ["b", "z"]])
        self.refuses(usage, "sets[0] is 'a'", new, (["a"], ["b"]), ["a"])
        self.refuses(usage, "sets is empty", new, (["a"], ["b"]), [])
        self.refuses(usage, "k is 0", new, (["a"], ["b"]), [["a"]], 0)
        self.refuses(usage, "sets[1] has no node", new, (["a"], ["b"]), [["a"], []])
        self.refuses(usage, "sets[0] has a node twice", new, (["a"], ["b"]), [["a", "a"]])
        self.refuses(windrow.InputError, "-1", new, (["a"], ["b"]), [{"a": -1}])

    def test_files_keep_their_ids(self):
        path = os.path.join(FOLDER, "crawl.txt")
        with open(path, "w") as file:
            file.write("70 90\n80 90\n90 70\n90 70\n")
        found = windrow.pagerank(path, personalize={80: 1, "90": 1})
        self.assertEqual(sorted(found.as_dict()), [70, 80, 90])
        A = dense(np.array([0, 1, 2, 2]), np.array([2, 2, 0, 0]), np.ones(4))
        expected = ranks_by_numpy(A, 0.85, np.array([0.0, 1, 1]))
        self.assertLessEqual(sum(abs(found[name] - score) for name, score in zip((70, 80, 90), expected)), found.bound + 1e-13)
        self.refuses(windrow.UsageError, "personalize has 81", windrow.pagerank, path, personalize={81: 1})

    def test_repeated_links_of_a_file_count_once(self):
        path = os.path.join(FOLDER, "repeated.txt")
        with open(path, "w") as file:
            file.write("1 2\n1 2\n1 3\n2 1\n3 1\n")
        once, often = windrow.pagerank(path), windrow.pagerank(path, counts_once=False)
        self.assertLessEqual(abs(once[2] - once[3]), 2 * once.bound)
        self.assertGreater(often[2] - often[3], 0.1)
        self.assertEqual(windrow.read(path, graph=True).csr()[2].tolist(), [1, 1, 1, 1])
        self.assertEqual(windrow.read(path).csr()[2].tolist(), [2, 1, 1, 1])
        with open(path, "w") as file:
            file.write("1 2 0.5\n1 2 0.5\n1 3 1\n2 1 1\n3 1 1\n")
        self.assertEqual(windrow.read(path, graph=True).csr()[2].tolist(), [1, 1, 1, 1])
        self.refuses(windrow.UsageError, "counts_once is for entries without values", windrow.pagerank, path, counts_once=True)

    def test_graphs_of_networkx(self):
        edges = [("x", "y", 2.0), ("y", "z", 1.0), ("z", "x", None), ("x", "x", 3.0), ("z", "w", 0.5)]
        index = {"w": 0, "x": 1, "y": 2, "z": 3}
        for directed in (True, False):
            for weight in ("weight", None):
                A = np.zeros((4, 4))
                for u, v, w in edges:
                    w = 1.0 if w is None or weight is None else w
                    A[index[u], index[v]] += w
                    if not directed and u != v:
                        A[index[v], index[u]] += w
                graphs = [FakeGraph(edges, directed)]
                if networkx:
                    graphs.append((networkx.DiGraph if directed else networkx.Graph)())
                    graphs[1].add_nodes_from("wxyz")
                    graphs[1].add_edges_from((u, v, {} if w is None else {"weight": w}) for u, v, w in edges)
                for graph in graphs:
                    found = windrow.pagerank(graph, weight=weight, personalize={"w": 1, "z": 3})
                    self.assert_ranks(found, ranks_by_numpy(A, 0.85, np.array([1.0, 0, 0, 3])))
                    self.assertEqual(set(found.as_dict()), set(index))

    def test_graphs_of_igraph(self):
        edges, weights = [(0, 1), (1, 2), (2, 0), (1, 1)], [1.0, 2.0, 3.0, 4.0]
        for directed in (True, False):
            for given in (weights, None):
                A = np.zeros((4, 4))
                for (u, v), w in zip(edges, given or [1] * 4):
                    A[u, v] += w
                    if not directed and u != v:
                        A[v, u] += w
                self.assert_ranks(windrow.pagerank(FakeIgraph(4, edges, directed, given)), ranks_by_numpy(A, 0.85))
        named = windrow.pagerank(FakeIgraph(3, edges, True, None, ["p", "q", "r"]))
        self.assertEqual(set(named.as_dict()), {"p", "q", "r"})
        twice = FakeIgraph(3, edges, True, None, ["p", "q", "p"])
        self.refuses(windrow.InputError, "one name", windrow.pagerank, twice)

    def test_what_is_refused(self):
        A, usage = np.ones((3, 3)), windrow.UsageError
        for damping in (0, 1, -1, 2):
            self.refuses(usage, f"damping is {damping}", windrow.pagerank, A, damping)
        self.refuses(usage, "tol is 0", windrow.pagerank, A, tol=0)
        self.refuses(usage, "personalize has shape (2,)|(3,)", windrow.pagerank, A, personalize=[1, 2])
        self.refuses(usage, "personalize has 3", windrow.pagerank, A, personalize={3: 1})
        self.refuses(usage, "'nothing'", windrow.pagerank, A, method="nothing")
        self.refuses(windrow.InputError, "element 0 is -1", windrow.pagerank, A, personalize=[-1, 1, 1])
        self.refuses(windrow.InputError, "", windrow.pagerank, A, personalize=[0, 0, 0])
        self.refuses(windrow.InputError, "element 2 is inf", windrow.pagerank, A, start=[1, 1, np.inf])
        self.refuses(windrow.InputError, "entry (0, 0) has the weight -1", windrow.pagerank, -A)
        self.refuses(windrow.InputError, "square|2 x 3", windrow.pagerank, np.ones((2, 3)))
        self.refuses(usage, "k is -1", windrow.pagerank(A).top, -1)

    def test_small_graphs(self):
        self.assertEqual(windrow.pagerank(np.array([[1.0]])).scores.tolist(), [1.0])
        found = windrow.pagerank(([0], [0]), shape=(4, 4))
        self.assert_ranks(found, ranks_by_numpy(np.diag([1.0, 0, 0, 0]), 0.85))
        self.assertEqual(found.dangling, 3)


# Backends of GPUs that refuse some of these matrices, and words of what they then say.
REFUSING = {"sell_coded": "regular grids", "sliced_dia": "regular grids", "sell": "rows of unlike length"}


class Multiplying(Case):
    def test_products(self):
        rows, cols, vals = triple(70)
        rows, cols = rows % 40, cols
        A = dense(rows, cols, vals, (40, 70))
        x, allowed = np.random.default_rng(8).uniform(size=(70, 3)), 100 * np.finfo(float).eps * np.abs(A).sum(1)
        ran = set()
        for backend in [b["name"] for b in windrow.backends() if b["available"]]:
            try:
                op = windrow.Operator((rows, cols, vals), backend, shape=(40, 70))
            except windrow.UnavailableError as error:
                self.assertIn(backend, REFUSING)
                self.assertIn(REFUSING[backend], str(error))
                continue
            ran.add(backend)
            self.assertEqual((op.shape, op.dtype), ((40, 70), np.float64))
            self.assertTrue((np.abs(op @ x[:, 0] - A @ x[:, 0]) <= allowed).all(), backend)
            self.assertTrue((np.abs(op @ x - A @ x) <= allowed[:, None]).all(), backend)
            self.assertEqual(op.matvec(x[:, :1]).shape, (40, 1))
        self.assertIn("reference", ran)
        self.refuses(NotImplementedError, "A.T", op.rmatvec, np.ones(40))
        self.refuses(windrow.UsageError, "x has shape (40,)|(40, 70)", op.matvec, np.ones(40))
        self.refuses(windrow.UsageError, "X has shape (40, 2)|(40, 70)", op.matmat, np.ones((40, 2)))
        self.refuses(windrow.UsageError, "x is complex", op.matvec, np.ones(70) * 1j)

    @needs_scipy
    def test_solvers_of_scipy_take_an_operator(self):
        rows, cols, vals = triple(100)
        A, b = dense(rows, cols, vals), np.ones(100)
        x, info = scipy.sparse.linalg.gmres(windrow.Operator((rows, cols, vals)), b, atol=0)
        self.assertEqual(info, 0)
        self.assertLess(residual(A, x, b), 1e-5 * (1 + 1e-6))  # its default
        self.assertIn("entries are not known", str(self.refuses(windrow.UsageError, "operator", windrow.bicgstab,
                                                                scipy.sparse.linalg.aslinearoperator(A), b)))

    def test_table(self):
        table = windrow.spmv("gen:web:n=2000", seconds=0)
        self.assertEqual({row["backend"] for row in table}, {b["name"] for b in windrow.backends() if b["available"]})
        for row in table:
            if row["status"] == "WR_EUNAVAILABLE" and row["backend"] in REFUSING:
                self.assertIn(REFUSING[row["backend"]], row["reason"])
                continue
            self.assertTrue(row["right"] and row["multiplies"] >= 3 and row["status"] == "WR_OK", row)
        table = windrow.spmv(np.eye(3), ["nothing", "reference"], seconds=0)
        self.assertEqual([(row["backend"], row["status"]) for row in table], [("reference", "WR_OK"), ("nothing", "WR_EUSAGE")])
        self.assertTrue(table[1]["reason"])
        self.assertEqual([row["right"] for row in table], [True, False])
        self.assertTrue(windrow.spmv("gen:web:n=2000", "cpu_csr", precision="f32", seconds=0)[0]["right"])

    def test_the_table_tells_wrong_products(self):
        op, multiplying = windrow.Operator.matvec, importlib.import_module("windrow.multiplying")
        try:
            multiplying.Operator.matvec = lambda self, x: op(self, x) * (1 + 1e-13)
            self.assertFalse(windrow.spmv("gen:fem:n=4", "reference", seconds=0)[0]["right"])
        finally:
            multiplying.Operator.matvec = op


class FakeArray:
    """An array that says that it is on a GPU, with a capsule made here. Its memory is the host's, and is kept."""

    kind, number, kept = 2, 0, []

    def __init__(self, values):
        self.values, self.dtype, self.shape, self.ndim = values, values.dtype, values.shape, values.ndim

    def __dlpack_device__(self):
        return self.kind, self.number

    def __dlpack__(self, stream=None):
        if stream != 1:
            raise BufferError("another stream than the default one")
        make, point = ctypes.pythonapi.PyCapsule_New, ctypes.c_int64 * self.ndim
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        strides = point(*(step // self.values.itemsize for step in self.values.strides))
        self.shape_held, self.strides_held = point(*self.shape), strides
        code = {"f": 2, "i": 0, "c": 5}[self.dtype.kind]
        self.tensor = device._Tensor(self.values.ctypes.data - 16, self.kind, self.number, self.ndim, code,
                                     8 * self.dtype.itemsize, 1, self.shape_held, self.strides_held, 16)
        self.kept.append(self)
        return make(ctypes.addressof(self.tensor), b"dltensor", None)

    def copy(self):
        return FakeArray(self.values.copy())

    def get(self):
        return self.values.copy()

    def reshape(self, *shape):
        return FakeArray(self.values.reshape(*shape))

    def repeat(self, times):
        return FakeArray(self.values.repeat(times))

    def __getitem__(self, at):
        return FakeArray(self.values[at])

    def __array__(self, *_):
        raise TypeError("no conversion to numpy without a word")

    @property
    def T(self):
        return FakeArray(self.values.T)


def empty_like(array):
    """Of FakeArray, as cupy.empty_like of CuPy's."""
    return FakeArray(np.full(array.shape, np.nan))


@contextlib.contextmanager
def device_is_the_host():
    """Calls with addresses on a GPU go to the functions for the host."""
    with contextlib.ExitStack() as stack:
        for name in ("wr_solver_solve", "wr_solver_solve_many", "wr_operator_apply", "wr_rank"):
            stack.enter_context(unittest.mock.patch.object(library.lib, name + "_device", getattr(library.lib, name)))
        yield


class OnDevice(Case):
    """The way of an array on a GPU through Python, with memory of the host."""

    def test_addresses(self):
        values = np.arange(6.0)
        for given in (values, values.reshape(2, 3), values[2:3][:, None], np.float64(3).reshape(1)):
            found = device.Address("b", FakeArray(given))
            self.assertEqual((found.shape, found._as_parameter_.value), (given.shape, given.ctypes.data))
        self.refuses(windrow.UsageError, "b has elements of type float32", device.Address, "b", FakeArray(np.ones(3, "f4")))
        self.refuses(windrow.UsageError, "elements of type int64", device.Address, "b", FakeArray(np.ones(3, "i8")))
        self.refuses(windrow.UsageError, "b has gaps", device.Address, "b", FakeArray(values[::2]))
        self.refuses(windrow.UsageError, "b has gaps", device.Address, "b", FakeArray(values.reshape(2, 3).T))

    def test_capsules_of_numpy(self):
        """The struct is that of a package that was not written for this test."""
        if not hasattr(np.ndarray, "__dlpack__"):
            self.skipTest("this numpy has no DLPack")
        for given in (np.arange(5.0), np.ones((3, 4)), np.arange(8, dtype="f4")[2:]):
            capsule = given.__dlpack__()
            tensor = device._Tensor.from_address(device._held_by(capsule, b"dltensor"))
            self.assertEqual(tensor.data + tensor.byte_offset, given.ctypes.data)
            self.assertEqual(tuple(tensor.shape[:tensor.ndim]), given.shape)
            self.assertEqual((tensor.device_type, tensor.code, tensor.bits, tensor.lanes), (1, 2, 8 * given.itemsize, 1))
            self.assertFalse(library.is_on_gpu(given))

    def test_arrays_of_the_host_by_dlpack(self):
        class Other:
            def __init__(self, values):
                self.values = values

            def __dlpack_device__(self):
                return self.values.__dlpack_device__()

            def __dlpack__(self, stream=None):
                return self.values.__dlpack__()

        if not hasattr(np, "from_dlpack"):
            self.skipTest("this numpy has no DLPack")
        A, b = 2 * np.eye(3), np.array([2.0, 4.0, 6.0])
        np.testing.assert_allclose(windrow.solve(A, Other(b)).x, [1, 2, 3])
        np.testing.assert_array_equal(windrow.Operator(A) @ Other(b), 2 * b)

    def test_solving(self):
        A, rng = triple(60), np.random.default_rng(4)
        matrix, b, B = dense(*A), rng.random(60), rng.random((60, 3))
        with device_is_the_host(), windrow.Solver(A, **CPU) as solver:
            there = solver.solve(FakeArray(b))
            self.assertIsInstance(there.x, FakeArray)
            np.testing.assert_array_equal(there.x.values, solver.solve(b).x)
            again = solver.solve(FakeArray(np.repeat(b, 2)[::2]), x0=there.x)
            self.assertEqual((again.iterations, again.converged), (0, True))
            many = solver.solve(FakeArray(B))
            self.assertEqual(many.x.shape, (60, 3))
            np.testing.assert_array_equal(many.x.values, solver.solve(B).x)
            np.testing.assert_array_equal(many.columns[1].x.values, many.x.values[:, 1])
            found = windrow.solve(A, FakeArray(b), **CPU)
            self.assertLessEqual(residual(matrix, found.x.values, b), found.bound * (1 + 1e-6))
            x, info = windrow.bicgstab(A, FakeArray(b.reshape(-1, 1)), **CPU)
            self.assertEqual((info, x.shape), (0, (60,)))
            self.assertLessEqual(residual(matrix, x.values, b), 1e-8 * (1 + 1e-6))

    def test_multiplying(self):
        rng = np.random.default_rng(5)
        for shape in ((6, 4), (4, 6), (5, 5), (40, 3)):
            A, x = rng.random(shape), rng.random(shape[1])
            with device_is_the_host():
                op = windrow.Operator(A)
                y = op @ FakeArray(x)
                self.assertIsInstance(y, FakeArray)
                np.testing.assert_array_equal(y.values, op @ x)
                self.assertEqual((op.matvec(FakeArray(x.reshape(-1, 1)))).shape, (shape[0], 1))
                self.refuses(windrow.UsageError, f"x has shape ({shape[1] + 1},)", op.matvec, FakeArray(np.ones(shape[1] + 1)))
                self.refuses(windrow.UsageError, "X is on a GPU and has to be an array of the host", op.matmat, FakeArray(np.ones((shape[1], 2))))

    def test_ranking(self):
        links, n = (np.array([0, 1, 2, 3, 3, 5]), np.array([1, 2, 0, 0, 1, 4])), 6
        weights, start = np.arange(1.0, n + 1), np.full(n, 1 / n)
        with device_is_the_host():
            for given in ({"personalize": weights}, {"start": start}, {"personalize": weights, "start": start}, {}):
                there = {name: FakeArray(array) for name, array in given.items()} or {"like": FakeArray(np.ones(2))}
                found = windrow.pagerank(links, device="cpu", **there)
                self.assertIsInstance(found.scores, FakeArray)
                same = windrow.pagerank(links, device="cpu", **given)
                np.testing.assert_array_equal(found.scores.values, same.scores)
                self.assertEqual((found.top(3), found.as_dict()), (same.top(3), same.as_dict()))
        refused = ((dict(personalize={0: 1.0}, start=FakeArray(start)), "personalize is in the host's memory"),
                   (dict(personalize=FakeArray(weights), start=start), "start is in the host's memory"),
                   (dict(personalize=FakeArray(weights[1:])), "personalize has shape (5,), not (6,)"),
                   (dict(start=FakeArray(start.astype("f4"))), "start has elements of type float32"),
                   (dict(like=start), "like is no array on a GPU"))
        for given, words in refused:
            self.refuses(windrow.UsageError, words, windrow.pagerank, links, **given)

    @needs_scipy
    def test_matrices_of_cupyx(self):
        class OfCupy:
            format, data = "csr", FakeArray(np.ones(3))

            def tocsr(self):
                return self

            def get(self):
                return scipy.sparse.csr_matrix(np.diag([2.0, 3.0, 4.0]))

        np.testing.assert_array_equal(windrow.Matrix(OfCupy()).csr()[2], [2, 3, 4])

    def test_what_is_refused(self):
        A, b = triple(20), np.ones(20)
        solver, op = windrow.Solver(A, **CPU), windrow.Operator(A)
        with_gpu = windrow.built_with()["cuda"]
        kind, words = (windrow.UsageError, "made for the CPU") if with_gpu else (windrow.UnavailableError, "no CUDA parts")
        self.refuses(kind, words, solver.solve, FakeArray(b))
        self.refuses(kind, words, solver.solve, FakeArray(np.ones((20, 2))))
        self.refuses(kind, words, op.matvec, FakeArray(b))
        if not with_gpu:
            self.refuses(windrow.UnavailableError, "no CUDA parts", windrow.solve, A, FakeArray(b))
        self.refuses(windrow.UsageError, "b has shape (19,)", solver.solve, FakeArray(b[1:]))
        self.refuses(windrow.UsageError, "b has elements of type float32", solver.solve, FakeArray(b.astype("f4")))
        self.refuses(windrow.UsageError, "x0 is in the host's memory, and b on a GPU", solver.solve, FakeArray(b), b)
        self.refuses(windrow.UsageError, "x0 has shape (19,)", solver.solve, FakeArray(b), FakeArray(b[1:]))
        self.refuses(windrow.UsageError, "x0 is on a GPU|.cpu()", solver.solve, b, FakeArray(b))
        self.refuses(kind, words, windrow.pagerank, A[:2], personalize=FakeArray(b), device="cpu")

        class Strange(FakeArray):
            def copy(self):
                return self

        Strange.kind = 10  # ROCm
        self.refuses(windrow.UsageError, "b is on a device of type 10", solver.solve, Strange(b))
        Strange.kind, Strange.__module__ = 2, "strange.arrays"
        self.refuses(windrow.UsageError, "b is of type strange.arrays.Strange|cupy.from_dlpack", solver.solve, Strange(b))

    def test_on_a_gpu(self):
        """Answers of CuPy's and PyTorch's arrays where there is a GPU: the same bits as for arrays of the host."""
        packages = gpu_packages()
        if not packages:
            self.skipTest("neither CuPy nor PyTorch is here with a GPU")
        if not windrow.built_with()["cuda"]:
            self.skipTest("this build has no CUDA parts, for which CuPy or PyTorch is here with a GPU")
        A, rng = windrow.read("gen:convect:n=60"), np.random.default_rng(6)
        b, B = rng.random(3600), rng.random((3600, 3))
        for name, put, get in packages:
            with self.subTest(name), windrow.Solver(A, device="cuda", deterministic=True) as solver:
                found = solver.solve(put(b))
                self.assertIs(type(found.x), type(put(b)))
                self.assertTrue(found.converged and found.verified)
                np.testing.assert_array_equal(get(found.x), solver.solve(b).x)
                self.assertEqual(solver.solve(put(b), x0=found.x).iterations, 0)
                many = solver.solve(put(B))
                np.testing.assert_array_equal(get(many.x), solver.solve(B).x)
                self.assertTrue(windrow.solve(A, put(b)).converged)
                op = windrow.Operator(A, device="cuda", deterministic=True)
                np.testing.assert_array_equal(get(op @ put(b)), op @ b)
                web, options = windrow.read("gen:web:n=3600"), {"device": "cuda", "deterministic": True}
                ranks = windrow.pagerank(web, personalize=put(b), **options)
                self.assertIs(type(ranks.scores), type(put(b)))
                np.testing.assert_array_equal(get(ranks.scores), windrow.pagerank(web, personalize=b, **options).scores)
                ranks = windrow.pagerank(web, like=put(b[:2]))
                self.assertTrue(ranks.converged and ranks.verified and ranks.device.startswith("NVIDIA"))
                self.refuses(windrow.UsageError, "float32", solver.solve, put(b.astype("f4")))
                with windrow.Solver(A, device="cpu") as other:
                    self.refuses(windrow.UsageError, "made for the CPU", other.solve, put(b))


def gpu_packages():
    """Name, and functions that copy an array to the GPU and back, of each package that finds one."""
    found = []
    with contextlib.suppress(Exception):
        import cupy
        if cupy.cuda.runtime.getDeviceCount() > 0:
            found.append(("cupy", cupy.asarray, cupy.asnumpy))
    with contextlib.suppress(Exception):
        import torch
        if torch.cuda.is_available():
            found.append(("torch", lambda values: torch.from_numpy(values).cuda(), lambda tensor: tensor.cpu().numpy()))
    return found


class Package(Case):
    def test_examples_in_docstrings(self):
        for name in ("library", "matrices", "linear", "ranking", "multiplying"):
            said = io.StringIO()
            tests = doctest.DocTestFinder().find(importlib.import_module("windrow." + name), extraglobs={"windrow": windrow, "np": np})
            runner = doctest.DocTestRunner()
            for test in tests:
                runner.run(test, out=said.write)
            self.assertGreater(runner.tries, 0)
            self.assertEqual(runner.failures, 0, said.getvalue())
        self.assertEqual(doctest.testmod(windrow).failed, 0)

    def test_everything_public_has_a_docstring(self):
        for name in dir(windrow):
            if not name.startswith("_") and callable(getattr(windrow, name)):
                self.assertTrue(getattr(windrow, name).__doc__, name)

    @needs_scipy
    def test_the_tutorial(self):
        with open(os.path.join(ROOT, "docs", "python.md")) as file:
            blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.S | re.M)
        self.assertGreater(len(blocks), 4)
        there, names = os.getcwd(), {}
        os.chdir(FOLDER)
        try:
            for block in blocks:
                if matplotlib is None:
                    block = re.sub(r"^.*[.]plot[(].*\n", "", block, flags=re.M)
                exec(compile(block, "docs/python.md", "exec"), names)
        finally:
            os.chdir(there)
            logging.root.handlers.clear()
            logging.root.setLevel(logging.WARNING)

    def test_the_wheel(self):
        wheels = []
        for name in ("first", "second"):
            folder = os.path.join(FOLDER, name)
            maker = os.path.join(ROOT, "python", "make_wheel.py")
            done = subprocess.run([sys.executable, maker, folder], capture_output=True, text=True, check=True)
            wheels.append(done.stdout.strip())
        with open(wheels[0], "rb") as first, open(wheels[1], "rb") as second:
            self.assertEqual(first.read(), second.read())
        self.assertRegex(wheels[0], rf"/windrow-{re.escape(windrow.__version__)}-py3-none-linux_\w+[.]whl$")
        self.check_record(wheels[0])
        place = os.path.join(FOLDER, "site")
        path = os.environ["PYTHONPATH"].replace(os.path.join(ROOT, "python"), place, 1)
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", place, wheels[0]]
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0:
            subprocess.run(pip, check=True, capture_output=True)
        else:
            with zipfile.ZipFile(wheels[0]) as archive:
                archive.extractall(place)
        said, errors, code = python("import windrow, numpy as np; print(windrow.library_path); "
                                    "print(windrow.solve(2 * np.eye(3), np.ones(3)).x)", WINDROW_LIBRARY="", PYTHONPATH=path)
        self.assertEqual((said, code), (f"{place}/windrow/libwindrow.so\n[0.5 0.5 0.5]\n", 0), errors)

    def check_record(self, wheel):
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
            record = next(name for name in names if name.endswith("/RECORD"))
            for line in archive.read(record).decode().splitlines():
                name, digest, size = line.rsplit(",", 2)
                names.remove(name)
                if name != record:
                    data = archive.read(name)
                    made = urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                    self.assertEqual((digest, size), ("sha256=" + made, str(len(data))), name)
        self.assertEqual(names, set())


def main():
    global FOLDER
    FOLDER = sys.argv.pop(1)
    own = os.path.join(ROOT, "python")
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and os.path.abspath(path) != own]
    os.environ["PYTHONPATH"] = os.pathsep.join([own] + others)
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    if sys.argv[1:]:
        suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:], sys.modules[__name__])
    found = unittest.TextTestRunner(stream=sys.stderr, verbosity=1).run(suite)
    for _, reason in found.skipped:
        print(f"[python] skipped: {reason}", file=sys.stderr)
    failed = len({test.id() for test, _ in found.failures + found.errors})
    passed = found.testsRun - failed - len(found.skipped)
    print(f"check_python: {passed} passed, {failed} failed, {len(found.skipped)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
