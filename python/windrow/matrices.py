"""Matrices and graphs of other packages, arrays and files as matrices of the library."""
import ctypes
import os
from ctypes import byref, c_int64, c_void_p

import numpy as np

from . import library
from .library import InputError, UsageError, check, lib


class Matrix:
    """A sparse matrix, or a graph whose links are its entries, in the library's memory.

    All functions take what is given here as ``A``, too; a Matrix spares them to convert it anew.

    Parameters
    ----------
    A : sparse matrix, array, tuple, graph or str
        A matrix of ``scipy.sparse``, a dense array of two dimensions, ``(rows, cols)`` or ``(rows, cols, vals)``,
        a graph of networkx or igraph, or a file or generator as the programs take it (``"A.mtx"``, ``"gen:fem:n=20"``).
        Repeated entries add up. Rows and columns that are texts, or other objects, are names of nodes.
    shape : (int, int), optional
        For ``(rows, cols, vals)``; else the least square one.
    graph : bool
        Values are weights: negative ones of a file, a tuple or a graph are refused, before repeated entries add up.
    counts_once : bool, optional
        Entries of a file or of ``(rows, cols)`` that occur several times without a value count once; so do edges of
        a graph, whose weights are left out then. None: in files with ``graph=True``, as the program pagerank has it.
    labels : bool
        Integers of ``(rows, cols)`` are names, too, so that there are only the nodes that occur.
    weight : str or None
        The attribute of edges of a graph with their weights; without it an edge has weight 1.
    columns, format : str, optional
        How a file is read: ``"source,target"``; ``"mtx"`` or ``"edges"``.
    ids, separator, header : str, optional
        How an edge list is read: ``"numbers"`` or ``"names"``; ``"tab"``, ``"comma"``, ``"semicolon"`` or ``"blank"``;
        ``"yes"`` or ``"no"``. Without them its first lines decide.
    threads : int, optional
        Those that read a file; None: all.

    Attributes
    ----------
    shape : (int, int)
    nnz : int
    nodes : list or None
        The names of the rows, where they have names.

    Examples
    --------
    >>> A = windrow.Matrix(([0, 0, 1], [0, 1, 1], [2.0, 1.0, 3.0]))
    >>> A.shape, A.nnz
    ((2, 2), 3)
    """

    def __init__(self, A, shape=None, *, graph=False, counts_once=None, labels=False, weight="weight", columns=None,
                 format=None, ids=None, separator=None, header=None, threads=None):
        handle = c_void_p()
        self.nodes, self._index, self._is_file, self._is_graph = None, None, False, bool(graph)
        _refuse_what_does_not_apply(A, {"graph": graph, "counts_once": counts_once, "labels": labels, "columns": columns,
                                        "format": format, "ids": ids, "separator": separator, "header": header,
                                        "threads": threads})
        if isinstance(A, (str, os.PathLike)):
            choice = library.ReadChoice(format=library.text("format", format), columns=library.text("columns", columns),
                                        is_graph=bool(graph), ids=library.text("ids", ids),
                                        counts_once=bool(graph if counts_once is None else counts_once),
                                        separator=library.text("separator", separator), header=library.text("header", header),
                                        threads=library.threads_of(threads))
            check(lib.wr_read_as(os.fsencode(A), byref(choice), byref(handle)))
            self._is_file = True
        elif hasattr(A, "tocsr") and hasattr(A, "format"):
            _from_sparse(A, handle)
        elif isinstance(A, tuple):
            self._from_triple(A, shape, counts_once, labels, handle)
        elif hasattr(A, "get_edgelist") and hasattr(A, "vcount"):
            self._from_igraph(A, weight, counts_once, handle)
        elif hasattr(A, "edges") and hasattr(A, "is_directed"):
            self._from_networkx(A, weight, counts_once, handle)
        elif isinstance(A, np.ndarray) and A.ndim == 2:
            values = library.doubles("A", A)
            rows, cols = np.nonzero(values)
            _new_coo(values.shape, rows, cols, values[rows, cols], False, handle)
        else:
            raise UsageError(f"A is {_describe(A)}; it is a sparse matrix of scipy, an array of two dimensions, a tuple "
                             "(rows, cols, vals), a graph of networkx or igraph, or the name of a file or generator")
        self._handle = library.Handle("Matrix", handle.value, lib.wr_matrix_free, has_threads=False)
        if counts_once and lib.wr_matrix_val(handle):
            raise UsageError("counts_once is for entries without values, and those of A have some")
        self.shape = (lib.wr_matrix_rows(handle), lib.wr_matrix_columns(handle))
        self.nnz = lib.wr_matrix_entries(handle)
        if shape is not None and tuple(shape) != self.shape:
            raise UsageError(f"A has shape {self.shape}, and shape={tuple(shape)}")

    def __repr__(self):
        return f"<windrow.Matrix: {self.shape[0]} x {self.shape[1]}, {self.nnz} entries>"

    def csr(self):
        """Copies of its arrays in compressed sparse rows: (row_ptr, col, val), ones where it has no values."""
        rows, nnz = self.shape[0], self.nnz
        row_ptr = library.view(lib.wr_matrix_row_ptr(self._handle.get()), np.int64, rows + 1).copy()
        col = library.view(lib.wr_matrix_col(self._handle.get()), np.int32, nnz).copy()
        val = lib.wr_matrix_val(self._handle.get())
        return row_ptr, col, library.view(val, np.float64, nnz).copy() if val else np.ones(nnz)

    def id(self, i):
        """The name of row i: of a graph's node, of a file's row (a number where it is one), or i itself."""
        i = library.whole("i", i, most=self.shape[0] - 1)
        if self.nodes is not None:
            return self.nodes[i]
        if not self._is_file:
            return i
        text = ctypes.create_string_buffer(256)
        if lib.wr_matrix_id(self._handle.get(), i, text, len(text)) != 0:
            text = ctypes.create_string_buffer(1 << 20)
            check(lib.wr_matrix_id(self._handle.get(), i, text, len(text)))
        text = text.value.decode(errors="surrogateescape")
        return int(text) if text.isascii() and text.isdigit() and str(int(text)) == text else text

    def find(self, name):
        """The row of that name, the inverse of `id`. KeyError where there is none."""
        i = None
        if self.nodes is not None:
            if self._index is None:
                self._index = {node: i for i, node in enumerate(self.nodes)}
            i = self._index.get(name)
        elif self._is_file:
            found = c_int64()
            check(lib.wr_matrix_find(self._handle.get(), str(name).encode(errors="surrogateescape"), byref(found)))
            i = found.value if found.value >= 0 else None
        elif isinstance(name, (int, np.integer)) and 0 <= name < self.shape[0]:
            i = int(name)
        if i is None:
            raise KeyError(name)
        return i

    def _from_triple(self, A, shape, counts_once, labels, handle):
        if len(A) not in (2, 3):
            raise UsageError(f"A is a tuple of {len(A)}, not (rows, cols) or (rows, cols, vals)")
        if counts_once and len(A) == 3:
            raise UsageError("counts_once is for entries without values, (rows, cols)")
        rows, cols = _ids(A[0]), _ids(A[1])
        if rows.ndim != 1 or rows.shape != cols.shape:
            raise UsageError(f"rows have shape {rows.shape} and cols {cols.shape}; both are of one length")
        if labels or (rows.size and rows.dtype.kind in "USO" or cols.dtype.kind in "USO"):
            rows, cols = self._number(rows, cols)
            if shape is None:
                shape = (len(self.nodes),) * 2
        rows, cols = _indices("rows", rows), _indices("cols", cols)
        vals = A[2] if len(A) == 3 else None
        if vals is not None:
            vals = library.doubles("vals", vals)
            if vals.shape != rows.shape:
                raise UsageError(f"vals have shape {vals.shape} and rows {rows.shape}")
            self._check_weights(vals)
        if shape is None:
            shape = (1 + int(max(rows.max(), cols.max())),) * 2 if rows.size else (0, 0)
        _new_coo(shape, rows, cols, vals, counts_once, handle)

    def _check_weights(self, vals):
        if self._is_graph and vals is not None and (vals < 0).any():
            k = int(np.argmax(vals < 0))
            raise InputError(f"entry {k} has the weight {vals[k]:g}; weights of links are not negative")

    def _number(self, rows, cols):
        """Places of names in the order in which they occur first."""
        index = {}
        places = [index.setdefault(name, len(index)) for name in rows.tolist()]
        places += [index.setdefault(name, len(index)) for name in cols.tolist()]
        for name in index:
            if name is None or name != name:
                raise InputError(f"{name} is among the ids; every row and column needs one")
        self.nodes, self._index = list(index), index
        places = np.array(places, dtype=np.int64)
        return places[:len(rows)], places[len(rows):]

    def _from_networkx(self, graph, weight, counts_once, handle):
        self.nodes = list(graph.nodes)
        self._index = index = {node: i for i, node in enumerate(self.nodes)}
        count = graph.number_of_edges()
        rows, cols, vals = np.empty(count, np.int64), np.empty(count, np.int64), np.ones(count)
        plain = counts_once or weight is None
        edges = ((u, v, 1) for u, v in graph.edges()) if plain else graph.edges(data=weight, default=1)
        for k, (u, v, w) in enumerate(edges):
            rows[k], cols[k], vals[k] = index[u], index[v], w
        self._links(rows, cols, None if plain else vals, graph.is_directed(), counts_once, handle)

    def _from_igraph(self, graph, weight, counts_once, handle):
        if "name" in graph.vs.attributes():
            self.nodes = list(graph.vs["name"])
            self._index = {node: i for i, node in enumerate(self.nodes)}
            if len(self._index) < len(self.nodes):
                raise InputError("several vertices of the graph have one name; without the attribute name they are numbers")
        ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
        vals = None
        if not counts_once and weight is not None and weight in graph.es.attributes():
            vals = library.doubles("weights", graph.es[weight])
        self._links(ends[:, 0], ends[:, 1], vals, graph.is_directed(), counts_once, handle, graph.vcount())

    def _links(self, rows, cols, vals, is_directed, counts_once, handle, count=None):
        """An edge without direction is two links; one from a node to itself is one."""
        count = len(self.nodes) if count is None else count
        self._check_weights(vals)
        if not is_directed:
            other = rows != cols
            rows, cols = np.concatenate([rows, cols[other]]), np.concatenate([cols, rows[other]])
            vals = None if vals is None else np.concatenate([vals, vals[other]])
        _new_coo((count, count), rows, cols, vals, counts_once, handle)


def _ids(given):
    """As an array. NumPy makes texts of all ids of a list that has some, so 1 and "1" would be one: the list's own stay."""
    array = np.asarray(given)
    is_text = array.dtype.kind in "US" and not hasattr(given, "dtype")
    return np.asarray(given, dtype=object) if is_text else array


def read(name, **options):
    """A matrix or graph from a file, or from a generator.

    Parameters
    ----------
    name : str or path
        A Matrix Market file or an edge list, also as .gz, SciPy's .npz, GAP's .sg and .wsg, windrow's binary; or
        ``"gen:..."``.
    **options
        ``graph``, ``counts_once``, ``columns``, ``format``, ``ids``, ``separator``, ``header``, ``threads`` as of `Matrix`.

    Returns
    -------
    Matrix

    Examples
    --------
    >>> windrow.read("gen:fem:n=4")
    <windrow.Matrix: 192 x 192, 9000 entries>
    """
    if not isinstance(name, (str, os.PathLike)):
        raise UsageError(f"name is {_describe(name)}, not the name of a file or generator")
    return Matrix(name, **options)


def as_matrix(A, **options):
    if not isinstance(A, Matrix):
        return Matrix(A, **options)
    for name, value in options.items():
        if value is not None and value is not False:
            raise UsageError(f"{name} is for making a Matrix, and A is one already")
    return A


def _refuse_what_does_not_apply(A, options):
    """An option that would be passed over without a word."""
    if isinstance(A, (str, os.PathLike)):
        applies = ("graph", "counts_once", "columns", "format", "ids", "separator", "header", "threads")
    elif isinstance(A, tuple):
        applies = ("graph", "counts_once", "labels")
    else:
        applies = ("graph", "counts_once") if hasattr(A, "is_directed") else ()
    for name, value in options.items():
        if name not in applies and value is not None and value is not False:
            raise UsageError(f"{name} does not apply where A is {_describe(A)}")


def _describe(A):
    if hasattr(A, "matvec"):
        return "an operator, whose entries are not known"
    return f"{A!r:.60}" if np.isscalar(A) or A is None else f"of type {type(A).__name__}"


def _indices(name, values):
    if values.dtype.kind not in "iu":
        if values.size:
            raise UsageError(f"{name} has elements of type {values.dtype}; they are whole numbers, counted from 0, or names")
        return np.empty(0, np.int64)
    return np.ascontiguousarray(values, dtype=values.dtype if values.dtype in (np.int32, np.int64) else np.int64)


def _address(values):
    return None if values is None else values.ctypes.data


def _new_coo(shape, rows, cols, vals, counts_once, handle):
    """rows and cols as they are where both are int32 or both int64."""
    narrow = rows.dtype == np.int32 and cols.dtype == np.int32
    new = lib.wr_matrix_new_coo if narrow else lib.wr_matrix_new_coo64
    kind = np.int32 if narrow else np.int64
    rows, cols = np.ascontiguousarray(rows, kind), np.ascontiguousarray(cols, kind)
    vals = None if vals is None else np.ascontiguousarray(vals)
    check(new(library.whole("rows", shape[0]), library.whole("columns", shape[1]), len(rows), _address(rows),
              _address(cols), _address(vals), bool(counts_once and vals is None), byref(handle)))


def _from_sparse(A, handle):
    if library.is_on_gpu(getattr(A, "data", None)):  # cupyx.scipy.sparse; the library assembles and checks matrices on the host
        A = A.get()
    if A.format == "coo":
        vals = library.doubles("A.data", A.data)
        return _new_coo(A.shape, _indices("A.row", A.row), _indices("A.col", A.col), vals, False, handle)
    A = A.tocsr()
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    vals = np.ascontiguousarray(library.doubles("A.data", A.data))
    row_ptr, col = _indices("A.indptr", A.indptr), _indices("A.indices", A.indices)
    if row_ptr.dtype != col.dtype:
        row_ptr, col = row_ptr.astype(np.int64), col.astype(np.int64)
    if len(row_ptr) != A.shape[0] + 1 or min(len(col), len(vals)) < row_ptr[-1]:
        raise InputError(f"A has {A.shape[0]} rows, and indptr of length {len(row_ptr)} that ends with {row_ptr[-1]}, "
                         f"for {len(col)} indices and {len(vals)} values")
    new = lib.wr_matrix_new_csr if col.dtype == np.int32 else lib.wr_matrix_new_csr64
    check(new(A.shape[0], A.shape[1], _address(row_ptr), _address(col), _address(vals), byref(handle)))
