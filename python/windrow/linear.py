"""Linear systems A x = b."""
import difflib
import threading
import warnings
from collections import namedtuple
from ctypes import byref, c_void_p

import numpy as np

from . import device, library
from .library import SolveOptions, SolveResultStruct, Trace, UsageError, Watch, check, lib
from .matrices import as_matrix

History = namedtuple("History", "iterations residuals")
History.__doc__ = "The checks of a solve: two arrays, after how many iterations and what the residual was then."

_TIMES = ("prepare", "transfer", "solve", "verify", "total")


def times_of(raw):
    return {name: getattr(raw, name + "_seconds") for name in _TIMES}


def plot_history(history, target, label, ax):
    import matplotlib.pyplot as plt

    ax = plt.subplots()[1] if ax is None else ax
    ax.semilogy(history.iterations, history.residuals, label=label)
    ax.axhline(target, linestyle="--", color="grey", label="target")
    ax.set_xlabel("iterations")
    ax.legend()
    return ax


class SolveResult:
    """What a solve has found. Not converging is no exception: see `outcome` and `note`.

    Attributes
    ----------
    x : ndarray
        The solution; of a solve that has not converged the best iterate.
    outcome : str
        ``"converged"``, ``"max-iterations"``, ``"time-limit"``, ``"stagnated"``, ``"breakdown"``, ``"non-finite"`` or
        ``"interrupted"``; ``"not-solved"`` for a column that has raised an error.
    converged, verified, on_host : bool
        Whether the outcome is ``"converged"``; whether the host found the products right that it checked and the
        tolerance met; whether the host computed `residual`, from A, b and x.
    residual, bound : float
        ``||b - A x|| / ||b||``, and the value that it had to reach.
    attainable, backward : float
        What rounding may add to the residual, at most (0: not known); the componentwise backward error.
    iterations, multiplies, checked_rows : int
    times : dict
        Seconds: ``prepare``, ``transfer``, ``solve``, ``verify``, ``total``.
    method, backend, device, precond : str
    note : str
        Why the solve ended so, and what would help; ``""`` where there is nothing to say.
    doubtful : bool
        Whether `x` may be useless although the solve has converged, which is also a RuntimeWarning; `note` says why.
    history : History
        Arrays ``iterations`` and ``residuals``.
    """

    def __init__(self, x, raw, history):
        self.x, self.history = x, History(*history)
        self.outcome = lib.wr_outcome_title(raw.outcome).decode()
        self.converged = self.outcome == "converged"
        self.verified, self.on_host = bool(raw.verified), bool(raw.on_host)
        for name in ("iterations", "multiplies", "checked_rows", "residual", "bound", "attainable", "backward"):
            setattr(self, name, getattr(raw, name))
        for name in ("method", "backend", "device", "precond", "note"):
            setattr(self, name, getattr(raw, name).decode(errors="replace"))
        self.times = times_of(raw)
        self.doubtful = bool(raw.doubtful)
        if self.doubtful:
            warnings.warn(f"converged, but {self.note}", RuntimeWarning, stacklevel=3)

    def __repr__(self):
        return (f"<windrow.SolveResult: {self.outcome} by {self.method} after {self.iterations} iterations, "
                f"residual {self.residual:.3g}>")

    def plot(self, ax=None):
        """Draws the residuals over iterations with matplotlib, on `ax` or on new axes, which are returned."""
        ax = plot_history(self.history, self.bound, self.method, ax)
        ax.set_ylabel("||b - A x|| / ||b||")
        return ax


class SolveResults:
    """What a solve with several right-hand sides has found.

    Attributes
    ----------
    x : ndarray of shape (n, k)
    columns : list of SolveResult
        One for each right-hand side.
    converged : bool
        Whether all have.
    outcome : str
        That of the first one that has not converged, or ``"converged"``.
    residual, iterations : ndarray of shape (k,)
    """

    def __init__(self, x, columns):
        self.x, self.columns = x, columns
        self.converged = all(column.converged for column in columns)
        self.outcome = next((column.outcome for column in columns if not column.converged), "converged")
        self.residual = np.array([column.residual for column in columns])
        self.iterations = np.array([column.iterations for column in columns])

    def __repr__(self):
        good = sum(column.converged for column in self.columns)
        return f"<windrow.SolveResults: {good} of {len(self.columns)} converged>"


def _function_of(M, n):
    """M as a function of r, and None for None."""
    shape = getattr(M, "shape", None)
    if shape is not None and tuple(shape) != (n, n):
        raise UsageError(f"M has shape {tuple(shape)}, and A {(n, n)}")
    if M is None:
        return None
    if hasattr(M, "matvec"):
        return M.matvec
    if callable(M):
        return M
    if shape is not None:
        library.doubles("M", M.data if hasattr(M, "tocsr") else M)
        return lambda r: M @ r
    raise UsageError(f"M is of type {type(M).__name__}; it is a matrix, an operator with matvec, or a function of r")


def _places(b, on_device):
    """An array for x, and the addresses of b, with its elements one after the other, and of x."""
    if not on_device:
        b = np.ascontiguousarray(b)
        x = np.zeros(b.shape)
        return x, b.ctypes, x.ctypes
    b = device.compact(b)
    x = device.like("b", b)
    return x, device.Address("b", b), device.Address("x", x)


def _guess_there(x0, n):
    if not library.is_on_gpu(x0):
        raise UsageError("x0 is in the host's memory, and b on a GPU; both are at one place")
    found = device.Address("x0", device.compact(x0))
    if found.shape not in ((n,), (n, 1)):
        raise UsageError(f"x0 has shape {found.shape}, not ({n},)")
    return found


def _no_option(name, options):
    longer = [option for option in options if len(option) > 2 and name.startswith(option)]
    close = ["rtol"] if name == "tol" else longer or difflib.get_close_matches(name, options, n=1)
    return f"there is no option {name!r}" + (f"; did you mean {close[0]!r}?" if close else "; help(windrow.Solver) has all")


class _Call:
    """A matrix with options as the library takes them, and what these point to."""

    def __init__(self, A, *, backend=None, device=None, precision=None, method=None, precond=None, scale=None,
                 fallback=None, stop=None, verify=None, rtol=None, atol=0.0, time_limit=None, maxiter=None,
                 check_every=None, ell=None, threads=None, deterministic=False, M=None, progress=None, shape=None,
                 **unknown):
        for name in unknown:
            raise TypeError(_no_option(name, _Call.__init__.__kwdefaults__))
        self.A = as_matrix(A, shape=shape)
        rtol, atol = 0.0 if rtol is None else library.real("rtol", rtol), library.real("atol", atol)
        self.watch = Watch(progress, _function_of(M, self.A.shape[0]))
        self.trace = Trace()
        texts = {"backend": backend, "device": device, "precision": precision, "method": method, "precond": precond,
                 "scale": scale, "fallback": fallback, "stop": stop, "verify": verify}
        self.options = SolveOptions(
            tolerance=rtol, atol=atol, time_limit=library.positive("time_limit", time_limit),
            max_iterations=0 if maxiter is None else library.whole("maxiter", maxiter, least=1),
            check_every=library.whole("check_every", check_every), ell=library.whole("ell", ell, most=2**31 - 1),
            threads=library.threads_of(threads), deterministic=bool(deterministic), trace=self.trace.handle.get(),
            **{name: library.text(name, value) for name, value in texts.items()}, **self.watch.callbacks())


class Solver:
    """A matrix prepared for several right-hand sides: scaled, in the backend's format, with its preconditioner.

    Threads may share a Solver; one after the other solves. Preparation is spent once, when it is made.

    Parameters
    ----------
    A : Matrix, or what it takes
        Square.
    rtol : float, optional
        Bound on ``||b - A x|| / ||b||``. None: 1e-8 (with ``precision="f32"`` 1e-5), or atol alone where that is given.
    atol : float
        Or on ``||b - A x||``.
    maxiter : int, optional
        None: 10000.
    method : str, optional
        ``"auto"``, ``"bicgstab"``, ``"bicgstabl"``, ``"idr"`` or ``"cg"``.
    precond : str, optional
        ``"auto"``, ``"none"``, ``"jacobi"``, ``"ilu0"``, ``"ilut:drop=1e-3:fill=10"``; where a method is named, the
        default is none.
    M : sparse matrix, array, operator or function, optional
        ``M @ r`` or ``M(r)`` approximates ``A^-1 r``; in place of `precond`.
    backend, device : str, optional
        ``"merbit:sigma=16"``, None: the matrix decides; ``"auto"``, ``"cpu"``, ``"cuda"``, ``"cuda:N"``.
    precision : str, optional
        ``"f64"`` or ``"f32"``, of the iterations.
    scale, fallback, stop, verify : str, optional
        ``"auto"``, ``"none"``, ``"equilibrate"`` or ``"match"``; ``"none"`` or ``"direct"``; ``"residual"`` or
        ``"backward"``; ``"auto"``, ``"full"`` or ``"off"``.
    time_limit : float, optional
        Seconds of a call.
    threads, check_every, ell : int, optional
    deterministic : bool
        The same bits in every run.
    progress : callable, optional
        ``progress(iteration, residual, target)`` at each check, but every 0.05 s while a GPU iterates by itself; iteration
        is -1 while something is prepared. Returning True ends the solve with the outcome ``"interrupted"``; what it raises
        ends it and is raised by the call.
    shape : (int, int), optional
        As of `Matrix`.

    Examples
    --------
    >>> A = windrow.read("gen:convect:n=30")
    >>> with windrow.Solver(A, precond="ilu0") as solver:
    ...     [solver.solve(b).outcome for b in np.random.default_rng(1).random((3, A.shape[0]))]
    ['converged', 'converged', 'converged']
    """

    def __init__(self, A, **options):
        self._call = call = _Call(A, **options)
        self.shape = call.A.shape
        self._lock, self._busy = threading.Lock(), None
        handle = c_void_p()
        with call.watch:
            status = lib.wr_solver_new(call.A._handle.get(), byref(call.options), byref(handle))
            if call.watch.raised is None:
                check(status)
            elif handle.value:
                lib.wr_solver_free(handle.value)
        self._handle = library.Handle("Solver", handle.value, lib.wr_solver_free)

    def __repr__(self):
        return f"<windrow.Solver: {self.shape[0]} x {self.shape[1]}>"

    def solve(self, b, x0=None):
        """x with A x = b.

        Parameters
        ----------
        b : array of shape (n,) or (n, k)
            Of numpy; or of CuPy or PyTorch, on the GPU that the Solver computes on. x is of the same package then, and
            on that GPU.
        x0 : array of shape (n,), optional
            First guess; for one right-hand side. It is where b is.

        Returns
        -------
        SolveResult or SolveResults
            The latter for b of shape (n, k).
        """
        n, on_device = self.shape[0], library.is_on_gpu(b)
        b = b if on_device else library.doubles("b", b)
        if b.ndim not in (1, 2) or b.shape[0] != n or b.ndim == 2 and b.shape[1] == 0:
            raise UsageError(f"b has shape {b.shape}, and A {self.shape}; b has {n} rows")
        if b.ndim == 2 and x0 is not None:
            raise UsageError("x0 is for one right-hand side, and b has two dimensions")
        if x0 is not None:
            x0 = _guess_there(x0, n) if on_device else library.vector("x0", x0, n).ctypes
        self._refuse_callbacks()
        with self._lock:
            self._busy = threading.get_ident()
            try:
                return self._solve_many(b, on_device) if b.ndim == 2 else self._solve_one(b, x0, on_device)
            finally:
                self._busy = None

    def _solve_one(self, b, x0, on_device):
        handle, call, raw = self._handle.get(), self._call, SolveResultStruct()
        x, from_b, to_x = _places(b, on_device)
        solve = lib.wr_solver_solve_device if on_device else lib.wr_solver_solve
        with call.watch:
            status = solve(handle, from_b, x0, to_x, byref(raw))
            if call.watch.raised is None:
                check(status)
        return SolveResult(x, raw, call.trace.get())

    def _solve_many(self, b, on_device):
        handle, call, (n, count) = self._handle.get(), self._call, b.shape
        x, from_b, to_x = _places(b.T, on_device)  # rows, so that the elements of each are one after the other
        solve = lib.wr_solver_solve_many_device if on_device else lib.wr_solver_solve_many
        raw = (SolveResultStruct * count)(*(SolveResultStruct() for _ in range(count)))
        error = None
        with call.watch:
            status = solve(handle, count, from_b, n, to_x, n, raw)
            if call.watch.raised is None and status != 0:
                error = library.failure(status, lib.wr_status_message().decode(errors="replace"))
        results = SolveResults(x.T, [SolveResult(x[j], raw[j], call.trace.get(j)) for j in range(count)])
        if error is not None:
            error.result = results
            raise error
        return results

    def _refuse_callbacks(self):
        if self._busy == threading.get_ident():
            raise UsageError("this Solver is at work: its callbacks cannot call it")

    def close(self):
        """Frees its memory; `with` does this at the end."""
        self._refuse_callbacks()
        with self._lock:
            self._handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def solve(A, b, x0=None, **options):
    """x with A x = b.

    Parameters
    ----------
    A : Matrix, or what it takes
        Square.
    b : array of shape (n,) or (n, k)
        One on a GPU is taken as by `Solver.solve`, and solved for on that GPU. Several right-hand sides share the
        preparation and, by conjugate gradients and BiCGSTAB with any scaling and preconditioner, each reading of the matrix.
    x0 : array of shape (n,), optional
        First guess.
    **options
        As of `Solver`: ``rtol``, ``atol``, ``maxiter``, ``method``, ``precond``, ``M``, ``backend``, ``progress``, ...

    Returns
    -------
    SolveResult or SolveResults
        The latter for b of shape (n, k).

    Raises
    ------
    InputError
        A is not square or has an empty row, b or x0 has a NaN.
    UsageError
        An option or a shape does not fit.

    Examples
    --------
    >>> A = windrow.Matrix(([0, 0, 1], [0, 1, 1], [2.0, 1.0, 4.0]))
    >>> result = windrow.solve(A, [3.0, 4.0])
    >>> result.outcome, result.x.round(6)
    ('converged', array([1., 1.]))
    """
    if library.is_on_gpu(b):
        options = {"device": None if options.get("backend") else device.of(b), **options}
    else:
        b = library.doubles("b", b)
    if b.ndim == 2 or library.is_on_gpu(b):
        with Solver(A, **_with_shape(A, b, options)) as solver:
            return solver.solve(b, x0)
    call = _Call(A, **_with_shape(A, b, options))
    n = call.A.shape[0]
    if b.shape != (n,):
        raise UsageError(f"b has shape {b.shape}, and A {call.A.shape}; b has {n} rows")
    b, x, raw = np.ascontiguousarray(b), np.empty(n), SolveResultStruct()
    x0 = None if x0 is None else library.vector("x0", x0, n)
    call.options.x0 = None if x0 is None else x0.ctypes.data
    with call.watch:
        status = lib.wr_solve(call.A._handle.get(), b.ctypes.data, x.ctypes.data, byref(call.options), byref(raw))
        if call.watch.raised is None:
            check(status)
    return SolveResult(x, raw, call.trace.get())


def _with_shape(A, b, options):
    """The entries of (rows, cols, vals) do not say how many rows there are; b does."""
    if isinstance(A, tuple) and b.ndim > 0:
        return {"shape": (b.shape[0], b.shape[0]), **options}
    return options


def bicgstab(A, b, x0=None, *, rtol=1e-8, atol=0.0, maxiter=None, M=None, callback=None, **options):
    """x with A x = b by BiCGSTAB, called as ``scipy.sparse.linalg.bicgstab``.

    Parameters
    ----------
    A : Matrix, or what it takes
        Square; its entries are needed, so an operator is refused.
    b : array of shape (n,) or (n, 1)
        Of numpy, or on a GPU as of `solve`; x is where b is.
    x0 : array, optional
        First guess.
    rtol, atol : float
        Convergence is ``||b - A x|| <= max(rtol ||b||, atol)``. (SciPy: rtol is 1e-5, in older versions ``tol``.)
    maxiter : int, optional
        None: 10000. (SciPy: 10 n.)
    M : sparse matrix, array, operator or function, optional
        ``M @ r`` or ``M(r)`` approximates ``A^-1 r``.
    callback : callable, optional
        ``callback(residual)`` where `Solver` would call ``progress``, with ``||b - A x|| / ||b||``. (SciPy gives the
        iterate, which may be on a GPU.) Returning True ends the solve.
    **options
        As of `Solver`.

    Returns
    -------
    x : ndarray of shape (n,)
    info : int
        0: converged; greater than 0: the iterations after which it ended otherwise; less than 0: breakdown.

    Examples
    --------
    >>> A = windrow.read("gen:convect:n=30")
    >>> x, info = windrow.bicgstab(A, np.ones(A.shape[0]), rtol=1e-6)
    >>> info
    0
    """
    if callback is not None and not callable(callback):
        raise UsageError(f"callback is {callback!r}, which cannot be called")
    if library.real("rtol", rtol) == 0 and library.real("atol", atol) == 0:
        raise UsageError("rtol and atol are both 0: no solve in floating point would end")
    b = b if library.is_on_gpu(b) else library.doubles("b", b)
    b = b.reshape(-1) if b.ndim == 2 and b.shape[1] == 1 else b
    if b.ndim != 1:
        raise UsageError(f"b has shape {b.shape}; bicgstab takes one right-hand side, windrow.solve several")
    if callback is not None:
        options["progress"] = lambda iteration, residual, _: iteration >= 0 and callback(residual)
    found = solve(A, b, x0, rtol=rtol, atol=atol, maxiter=maxiter, M=M, **{"method": "bicgstab", **options})
    if found.converged:
        return found.x, 0
    return found.x, -1 if found.outcome in ("breakdown", "non-finite") else max(1, found.iterations)
