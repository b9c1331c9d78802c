"""Multiplying a matrix with vectors."""
import statistics
import threading
import time
from ctypes import byref, c_void_p

import numpy as np

from . import device as device_arrays
from . import library
from .library import OperatorOptions, UsageError, WindrowError, check, lib
from .matrices import as_matrix


class Operator:
    """A matrix in a backend's format, as an operator for SciPy's solvers (``scipy.sparse.linalg.aslinearoperator``).

    Threads may share an Operator; one after the other multiplies.

    Parameters
    ----------
    A : Matrix, or what it takes
    backend, device : str, optional
        ``"cpu_bsr"``; where no backend is named, the device is the CPU unless it is ``"cuda"`` or ``"cuda:N"``.
    precision : str, optional
        ``"f64"`` or ``"f32"``, of the stored values and of x.
    threads : int, optional
    deterministic : bool
    **reading
        As of `Matrix`.

    Examples
    --------
    >>> A = windrow.Operator(([0, 0, 1], [0, 1, 1], [2.0, 1.0, 3.0]))
    >>> A @ np.array([1.0, 2.0])
    array([4., 6.])
    """

    dtype = np.dtype(np.float64)
    ndim = 2

    def __init__(self, A, backend=None, device=None, *, precision=None, threads=None, deterministic=False, **reading):
        A, handle = as_matrix(A, **reading), c_void_p()
        options = OperatorOptions(backend=library.text("backend", backend), device=library.text("device", device),
                                  precision=library.text("precision", precision), threads=library.threads_of(threads),
                                  deterministic=bool(deterministic))
        check(lib.wr_operator_new(A._handle.get(), byref(options), byref(handle)))
        self.shape, self._lock = A.shape, threading.Lock()
        self._handle = library.Handle("Operator", handle.value, lib.wr_operator_free)

    def __repr__(self):
        return f"<windrow.Operator: {self.shape[0]} x {self.shape[1]}>"

    def matvec(self, x):
        """A x, for x of shape (n,) or (n, 1).

        x is of numpy; or of CuPy or PyTorch, on the GPU that the Operator computes on: A x is of the same package then, on
        that GPU, and the host has no part in it.
        """
        on_device = library.is_on_gpu(x)
        x = x if on_device else library.doubles("x", x)
        if tuple(x.shape) not in ((self.shape[1],), (self.shape[1], 1)):
            raise UsageError(f"x has shape {tuple(x.shape)}, and A {self.shape}; x has {self.shape[1]} rows")
        flat, rows = x.reshape(-1), self.shape[0]
        if on_device:
            flat = device_arrays.compact(flat)
            y = device_arrays.like("x", flat, rows)
            places, apply = (device_arrays.Address("x", flat), device_arrays.Address("A x", y)), lib.wr_operator_apply_device
        else:
            flat, y = np.ascontiguousarray(flat), np.empty(rows)
            places, apply = (flat.ctypes, y.ctypes), lib.wr_operator_apply
        with self._lock:
            check(apply(self._handle.get(), 1.0, places[0], 0.0, places[1]))
        return y.reshape(-1, 1) if x.ndim == 2 else y

    def matmat(self, X):
        """A X, column by column, for X of shape (n, k) in the host's memory."""
        X = library.doubles("X", X)
        if X.ndim != 2 or X.shape[0] != self.shape[1]:
            raise UsageError(f"X has shape {X.shape}, and A {self.shape}; X has {self.shape[1]} rows")
        Y = np.empty((self.shape[0], X.shape[1]), order="F")
        for j in range(X.shape[1]):
            Y[:, j] = self.matvec(X[:, j])
        return Y

    def rmatvec(self, x):
        raise NotImplementedError("windrow.Operator multiplies with A alone; make another one of A.T for A^T x")

    def __matmul__(self, x):
        return self.matmat(x) if np.ndim(x) == 2 else self.matvec(x)

    def __call__(self, x):
        return self @ x


def spmv(A, backends=None, *, seconds=0.1, precision=None, threads=None, **reading):
    """Multiplies by several backends and times them.

    A time is of one `Operator.matvec`, so it has the copies of x and y to the backend and back, on a GPU by way of the
    host's memory. The program ``spmv`` times products alone.

    Parameters
    ----------
    A : Matrix, or what it takes
    backends : list of str, optional
        With their knobs; None: all that can be used here.
    seconds : float
        For how long each multiplies, at least three times.
    precision, threads
        As of `Operator`.
    **reading
        As of `Matrix`.

    Returns
    -------
    list of dict
        For each backend ``backend``; ``status``, ``"WR_OK"`` or that of a failure; ``reason`` of it;
        ``prepare_seconds``; ``multiply_seconds``, the median; ``multiplies``, how many; ``error``, the largest error of
        an element of y in units of what rounding explains, compared with a product by numpy; ``right``, whether that is
        at most 1. Fastest first, then failures, which have no times and no error, and whose ``right`` is False.

    Examples
    --------
    >>> table = windrow.spmv("gen:fem:n=4", ["cpu_csr", "reference"], seconds=0)
    >>> [row["right"] for row in table]
    [True, True]
    """
    A = as_matrix(A, **reading)
    if backends is None:
        backends = [b["name"] for b in library.backends() if b["available"]]
    elif isinstance(backends, str):
        backends = [backends]
    seconds = library.real("seconds", seconds)
    x = np.random.default_rng(1).uniform(-1.0, 1.0, A.shape[1])
    expected, allowed = _product(A, x, np.finfo(np.float32 if precision == "f32" else np.float64).eps)
    table = []
    for backend in backends:
        row = {"backend": backend, "status": "WR_OK", "reason": "", "right": False}
        try:
            row.update(_time(A, backend, x, seconds, precision, threads, expected, allowed))
        except WindrowError as error:
            row.update(status=error.status, reason=str(error))
        table.append(row)
    return sorted(table, key=lambda row: row.get("multiply_seconds", float("inf")))


def _product(A, x, eps):
    """A x, and how far rounding may take an element of it: (entries of the row + 4) eps |A| |x|."""
    row_ptr, col, val = A.csr()
    lengths = np.diff(row_ptr)
    rows = np.repeat(np.arange(A.shape[0]), lengths)
    terms = val * x[col]
    expected = np.bincount(rows, terms, A.shape[0])
    return expected, (lengths + 4) * eps * np.bincount(rows, np.abs(terms), A.shape[0])


def _time(A, backend, x, seconds, precision, threads, expected, allowed):
    begin = time.perf_counter()
    op = Operator(A, backend, precision=precision, threads=threads)
    prepared, times = time.perf_counter() - begin, []
    y = op.matvec(x)
    until = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < until:
        begin = time.perf_counter()
        y = op.matvec(x)
        times.append(time.perf_counter() - begin)
    off = np.abs(y - expected)
    error = float(np.max(np.divide(off, allowed, out=np.where(off > 0, np.inf, 0.0), where=allowed > 0), initial=0.0))
    return {"prepare_seconds": prepared, "multiply_seconds": statistics.median(times), "multiplies": len(times),
            "error": error, "right": error <= 1}
