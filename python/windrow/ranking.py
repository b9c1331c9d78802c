"""PageRank."""
import os
from ctypes import byref

import numpy as np

from . import device as device_arrays
from . import library
from .library import RankOptions, RankResultStruct, Trace, UsageError, Watch, check, lib
from .linear import History, plot_history, times_of
from .matrices import as_matrix


class RankResult:
    """The PageRank of a graph.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        They add up to 1. Where `pagerank` was given arrays on a GPU, an array of the same package there.
    outcome : str
        ``"converged"``, ``"max-iterations"``, ``"time-limit"``, ``"stagnated"``, ``"breakdown"``, ``"non-finite"`` or
        ``"interrupted"``.
    converged, verified : bool
        Whether the outcome is ``"converged"``; whether the host found the products right that it checked and the
        tolerance met.
    bound : float
        A proven bound on the L1 error of the scores.
    change : float
        Of the last step, in L1.
    iterations, dangling, checked_rows : int
        Multiplies; nodes without links; rows of the last step that the host computed again.
    times : dict
        Seconds: ``prepare``, ``transfer``, ``solve``, ``verify``, ``total``.
    method, backend, device : str
    note : str
        Why the solve ended so, and what would help; ``""`` where there is nothing to say.
    history : History
        Arrays ``iterations`` and ``residuals``, which are the changes.
    graph : Matrix
    """

    def __init__(self, graph, scores, raw, history, target):
        self.graph, self.scores, self.history, self._target = graph, scores, History(*history), target
        self.outcome = lib.wr_outcome_title(raw.outcome).decode()
        self.converged, self.verified = self.outcome == "converged", bool(raw.verified)
        for name in ("bound", "change", "iterations", "dangling", "checked_rows"):
            setattr(self, name, getattr(raw, name))
        for name in ("method", "backend", "device", "note"):
            setattr(self, name, getattr(raw, name).decode(errors="replace"))
        self.times = times_of(raw)

    def __repr__(self):
        return (f"<windrow.RankResult: {self.outcome} by {self.method} after {self.iterations} iterations, "
                f"bound {self.bound:.3g}>")

    def __getitem__(self, node):
        """The score of a node by its name; KeyError where there is none."""
        return float(self.scores[self.graph.find(node)])

    def __contains__(self, node):
        try:
            self.graph.find(node)
        except KeyError:
            return False
        return True

    def __len__(self):
        return self.graph.shape[0]

    def __iter__(self):
        """The names of the nodes, in the order of the scores."""
        return iter(self._names())

    def top(self, k=10):
        """The k nodes with the greatest scores, greatest first: a list of (name, score). Equal scores go by number.

        Names are the graph's: nodes of networkx, texts, numbers of a file; else indices from 0.
        """
        scores = self._on_host()
        best = np.empty(min(library.whole("k", k), len(scores)), np.int64)
        check(lib.wr_rank_best(scores.ctypes.data, len(scores), len(best), best.ctypes.data))
        return [(self.graph.id(int(i)), float(scores[i])) for i in best]

    def as_dict(self):
        """{name: score} of all nodes, as ``networkx.pagerank`` returns it."""
        return dict(zip(self._names(), self._on_host().tolist()))

    def _names(self):
        nodes = self.graph.nodes
        return nodes if nodes is not None else [self.graph.id(i) for i in range(len(self))]

    def _on_host(self):
        return device_arrays.to_host(self.scores) if library.is_on_gpu(self.scores) else self.scores

    def plot(self, ax=None):
        """Draws the changes over iterations with matplotlib, on `ax` or on new axes, which are returned."""
        ax = plot_history(self.history, self._target, self.method, ax)
        ax.set_ylabel("L1 change of a step")
        return ax


class _There:
    """Arrays of a call that are on a GPU: what was given, and the scores."""

    def __init__(self, n, **given):
        self.addresses = {}
        for name, array in given.items():
            if array is not None and not library.is_on_gpu(array):
                raise UsageError(f"{name} is in the host's memory, and another array of the call on a GPU; all are at one place")
        for name in ("personalize", "start"):
            if given[name] is not None:
                found = device_arrays.Address(name, device_arrays.compact(given[name]))
                if found.shape not in ((n,), (n, 1)):
                    raise UsageError(f"{name} has shape {found.shape}, not ({n},)")
                self.addresses[name] = found
        name, array = next((name, array) for name, array in given.items() if array is not None)
        self.device = device_arrays.of(array)
        self.scores = device_arrays.like(name, array.reshape(-1), n)
        self.addresses["scores"] = device_arrays.Address("scores", self.scores)

    def pointer(self, name):
        return self.addresses[name]._as_parameter_ if name in self.addresses else None


def _teleport(personalize, graph):
    if personalize is None or not hasattr(personalize, "items"):
        return None if personalize is None else library.vector("personalize", personalize, graph.shape[0])
    weights = np.zeros(graph.shape[0])
    for node, weight in personalize.items():
        try:
            weights[graph.find(node)] = library.real(f"personalize[{node!r}]", weight)
        except KeyError:
            raise UsageError(f"personalize has {node!r}, which is no node of the graph") from None
    return weights


def pagerank(A, damping=0.85, personalize=None, tol=None, backend=None, device=None, *, precision=None, method=None,
             stop=None, verify=None, maxiter=None, time_limit=None, check_every=None, threads=None, deterministic=False,
             links_are_in=False, start=None, progress=None, like=None, **reading):
    """PageRank of a graph, with a proven bound on its error.

    Parameters
    ----------
    A : Matrix, or what it takes
        Entry (i, j) is a link from i to j with its value as weight: a matrix of ``scipy.sparse``, ``(rows, cols)`` or
        ``(rows, cols, weights)`` with numbers or names, a graph of networkx or igraph, a file or ``"gen:..."``.
    damping : float
        Between 0 and 1.
    personalize : dict or array of shape (n,), optional
        Weights of the teleport, in any scale: ``{node: weight}``, the others 0, or one for each node. None: equal ones.
    tol : float, optional
        Bound on the L1 error of the scores. None: 1e-9 (with ``precision="f32"`` 1e-5).
    backend, device : str, optional
        ``"merbit:sigma=16"``, None: the matrix decides; ``"auto"``, ``"cpu"``, ``"cuda"``, ``"cuda:N"``.
    precision : str, optional
        ``"f64"``, ``"f32"``, or ``"mixed"``: most sweeps in f32, the answer as in f64.
    method : str, optional
        ``"auto"``, ``"power"``, ``"chebyshev"``, ``"idr"`` or ``"gauss-seidel"``.
    stop, verify : str, optional
        ``"bound"`` or ``"change"``; ``"auto"``, ``"full"`` or ``"off"``.
    maxiter, check_every, threads : int, optional
    time_limit : float, optional
        Seconds of the call.
    deterministic : bool
        The same bits in every run.
    links_are_in : bool
        Entry (i, j) is a link from j to i.
    start : array of shape (n,), optional
        First guess.
    progress : callable, optional
        As of `Solver`, with changes in place of residuals.
    like : array on a GPU, optional
        The scores are an array of its package there, as they are where personalize or start are arrays on a GPU: of CuPy,
        PyTorch and others that have DLPack, of float64. The host gets copies, which it checks.
    **reading
        As of `Matrix`: ``shape``, ``counts_once``, ``labels``, ``weight``, ``columns``, ``format``, ``ids``, ``separator``,
        ``header``.

    Returns
    -------
    RankResult

    Examples
    --------
    >>> links = (["home", "home", "news", "faq"], ["news", "faq", "home", "home"])
    >>> ranks = windrow.pagerank(links)
    >>> [(name, round(score, 4)) for name, score in ranks.top(2)]
    [('home', 0.4865), ('news', 0.2568)]
    """
    graph = _graph(A, threads, reading)
    n = graph.shape[0]
    trace, watch, there = Trace(), Watch(progress), None
    if any(map(library.is_on_gpu, (personalize, start, like))):
        there = _There(n, personalize=personalize, start=start, like=like)
        device = device or there.device
    elif like is not None:
        raise UsageError("like is no array on a GPU")
    else:
        teleport = _teleport(personalize, graph)
        start = None if start is None else library.vector("start", start, n)
    options = _options(watch, damping, tol, time_limit, maxiter, check_every, threads, deterministic, links_are_in,
                       backend=backend, device=device, precision=precision, method=method, stop=stop, verify=verify)
    options.trace, raw = trace.handle.get(), RankResultStruct()
    if there:
        options.personalize, options.start = there.pointer("personalize"), there.pointer("start")
        scores, to, rank = there.scores, there.pointer("scores"), lib.wr_rank_device
    else:
        options.personalize = None if teleport is None else teleport.ctypes.data
        options.start = None if start is None else start.ctypes.data
        scores, rank = np.empty(n), lib.wr_rank
        to = scores.ctypes.data
    with watch:
        status = rank(graph._handle.get(), to, byref(options), byref(raw))
        if watch.raised is None:
            check(status)
    return RankResult(graph, scores, raw, trace.get(), tol or (1e-5 if precision == "f32" else 1e-9))


def _graph(A, threads, reading):
    if isinstance(A, (str, os.PathLike)):
        reading = {"threads": threads, **reading}
    if isinstance(A, (str, os.PathLike, tuple)) or hasattr(A, "is_directed"):
        reading = {"graph": True, **reading}
    return as_matrix(A, **reading)


def _options(watch, damping, tol, time_limit, maxiter, check_every, threads, deterministic, links_are_in, **texts):
    damping = library.real("damping", damping)
    if not 0 < damping < 1:
        raise UsageError(f"damping is {damping:g}; it is above 0 and below 1")
    return RankOptions(
        damping=damping, tolerance=library.positive("tol", tol), time_limit=library.positive("time_limit", time_limit),
        max_iterations=0 if maxiter is None else library.whole("maxiter", maxiter, least=1),
        check_every=library.whole("check_every", check_every), threads=library.threads_of(threads),
        deterministic=bool(deterministic), links_are_in=bool(links_are_in),
        **{name: library.text(name, value) for name, value in texts.items()}, **watch.callbacks())


class SetsResult:
    """The best nodes of PageRank for many teleport sets.

    Attributes
    ----------
    nodes : ndarray of shape (sets, k)
        Rows of the graph, those of the greatest scores first; -1 behind the last one that has a score.
    scores : ndarray of shape (sets, k)
    bounds : ndarray of shape (sets,)
        Proven bounds on the L1 error of all scores of a set; infinite where it was not finished.
    outcome : str
        The worst of all sets.
    converged, verified : bool
    iterations : int
        Of all sets.
    times : dict
        Seconds: ``prepare``, ``transfer``, ``solve``, ``verify``, ``total``.
    backend, device, note : str
    graph : Matrix
    """

    def __init__(self, graph, nodes, scores, bounds, raw):
        self.graph, self.nodes, self.scores, self.bounds = graph, nodes, scores, bounds
        self.outcome = lib.wr_outcome_title(raw.outcome).decode()
        self.converged, self.verified = self.outcome == "converged", bool(raw.verified)
        self.iterations, self.times = raw.iterations, times_of(raw)
        for name in ("backend", "device", "note"):
            setattr(self, name, getattr(raw, name).decode(errors="replace"))

    def __repr__(self):
        return f"<windrow.SetsResult: {len(self.nodes)} sets, {self.outcome}, bound {self.bounds.max():.3g}>"

    def top(self, j):
        """The best nodes of set j, greatest first: a list of (name, score)."""
        pairs = zip(self.nodes[j].tolist(), self.scores[j].tolist())
        return [(self.graph.id(i), score) for i, score in pairs if i >= 0]


def pagerank_sets(A, sets, k=10, damping=0.85, tol=None, backend=None, device=None, *, precision=None, verify=None,
                  maxiter=None, time_limit=None, check_every=None, threads=None, deterministic=False,
                  links_are_in=False, progress=None, **reading):
    """The best nodes of PageRank for many teleport sets: several sets share each multiply with one prepared graph.

    Parameters
    ----------
    A : Matrix, or what it takes
        As of `pagerank`.
    sets : list
        Of each set the nodes, ``["home", "faq"]``, or ``{node: weight}``; none of them is empty.
    k : int
        How many nodes of each set are returned.
    damping, tol, backend, device, precision, verify, maxiter, time_limit, check_every, threads, deterministic, links_are_in, progress, **reading
        As of `pagerank`; precision is ``"f64"`` or ``"f32"``.

    Returns
    -------
    SetsResult

    Examples
    --------
    >>> links = (["home", "home", "news", "faq"], ["news", "faq", "home", "home"])
    >>> found = windrow.pagerank_sets(links, [["home"], {"faq": 2.0, "news": 1.0}], k=1)
    >>> [found.top(j)[0][0] for j in range(2)]
    ['home', 'home']
    """
    graph = _graph(A, threads, reading)
    first, nodes, weights = _sets(sets, graph)
    k = min(library.whole("k", k, least=1), graph.shape[0])
    watch = Watch(progress)
    options = _options(watch, damping, tol, time_limit, maxiter, check_every, threads, deterministic, links_are_in,
                       backend=backend, device=device, precision=precision, verify=verify)
    count, raw = len(first) - 1, RankResultStruct()
    best, scores, bounds = np.empty((count, k), np.int64), np.empty((count, k)), np.empty(count)
    with watch:
        status = lib.wr_rank_many(graph._handle.get(), count, first.ctypes.data, nodes.ctypes.data, weights.ctypes.data, k,
                                  best.ctypes.data, scores.ctypes.data, bounds.ctypes.data, byref(options), byref(raw))
        if watch.raised is None:
            check(status)
    return SetsResult(graph, best, scores, bounds, raw)


def _sets(sets, graph):
    first, nodes, weights = [0], [], []
    for j, given in enumerate(sets):
        if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
            raise UsageError(f"sets[{j}] is {given!r}; it is a list of nodes or {{node: weight}}")
        for node in given:
            try:
                nodes.append(graph.find(node))
            except KeyError:
                raise UsageError(f"sets[{j}] has {node!r}, which is no node of the graph") from None
            weights.append(library.real(f"sets[{j}][{node!r}]", given[node]) if hasattr(given, "items") else 1.0)
        distinct = len(set(nodes[first[-1]:]))
        if distinct == 0 or distinct < len(nodes) - first[-1]:
            raise UsageError(f"sets[{j}] " + ("has no node" if distinct == 0 else "has a node twice"))
        first.append(len(nodes))
    if len(first) == 1:
        raise UsageError("sets is empty")
    return np.array(first, np.int64), np.array(nodes, np.int64), np.array(weights, np.float64)
