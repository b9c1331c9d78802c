"""windrow: iterative solvers for sparse linear systems and PageRank, on the CPU or a GPU.

`pagerank` ranks the nodes of a graph, `solve` and `bicgstab` solve A x = b, `Solver` does so for several b, `Operator`
multiplies, `spmv` compares how fast backends do. All take matrices of scipy.sparse, arrays, (rows, cols, vals), graphs of
networkx and igraph, and files. The library releases the interpreter's lock while it computes. It tells what it chooses
to ``logging.getLogger("windrow")`` at level INFO.

>>> import numpy as np, windrow
>>> windrow.pagerank("gen:web:n=1000").converged
True
"""
from .library import (InputError, OutOfMemoryError, UnavailableError, UsageError, WindrowError, backends,  # noqa: F401
                      built_with, path as library_path)
from .linear import History, Solver, SolveResult, SolveResults, bicgstab, solve  # noqa: F401
from .matrices import Matrix, read  # noqa: F401
from .multiplying import Operator, spmv  # noqa: F401
from .ranking import RankResult, SetsResult, pagerank, pagerank_sets  # noqa: F401
from .version import __version__  # noqa: F401
