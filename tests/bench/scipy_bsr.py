"""SciPy's multiply by a BSR matrix, on one thread: the yardstick of docs/cpu_bsr.md, and no part of the tests.

usage: scipy_bsr.py [MATRIX...]
MATRIX: gen:band:n=32000,block=5,density=0.05 or gen:fem:n=49, with the places of the generator's entries and values by
chance, or FILE.mtx:SIDE (gzip too), a Matrix Market file in blocks of SIDE x SIDE. Default: gen:band gen:fem
"""
import sys
import time

import numpy
import scipy.io
import scipy.sparse

REPEATS = 31
SECONDS = 3.0  # and no longer, but seven times


def fill(row_ptr, col, side, n, dtype):
    blocks = numpy.random.default_rng(1).random((len(col), side, side), dtype)
    return scipy.sparse.bsr_matrix((blocks, col, row_ptr), shape=(n, n))


def band(dtype, n=32000, block=5, density=0.05):
    n, block = int(n), int(block)
    if n % block:
        raise SystemExit(f"gen:band: {n} rows are no whole number of blocks of {block}")
    along = n // block
    width = max(1, round(along * density))
    first = numpy.clip(numpy.arange(along) - width // 2, 0, along - width)
    col = (first[:, None] + numpy.arange(width)).astype(numpy.int32).ravel()
    return fill(numpy.arange(along + 1, dtype=numpy.int32) * width, col, block, n, dtype)


def fem(dtype, n=49):
    n = int(n)
    x = numpy.arange(n**3) % n
    y = numpy.arange(n**3) // n % n
    z = numpy.arange(n**3) // n**2
    steps = [(dx, dy, dz) for dz in (-1, 0, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    inside = numpy.stack([(0 <= x + dx) & (x + dx < n) & (0 <= y + dy) & (y + dy < n) & (0 <= z + dz) & (z + dz < n)
                          for dx, dy, dz in steps], axis=1)
    near = numpy.arange(n**3)[:, None] + numpy.array([dx + n * (dy + n * dz) for dx, dy, dz in steps])
    row_ptr = numpy.concatenate(([0], numpy.cumsum(inside.sum(axis=1)))).astype(numpy.int32)
    return fill(row_ptr, near[inside].astype(numpy.int32), 3, 3 * n**3, dtype)


def load(name, dtype):
    if name.startswith("gen:"):
        family, _, settings = name[4:].partition(":")
        given = dict(pair.split("=") for pair in settings.split(",") if pair)
        return {"band": band, "fem": fem}[family](dtype, **{key: float(text) for key, text in given.items()})
    path, _, side = name.rpartition(":")
    return scipy.io.mmread(path).tocsr().astype(dtype).tobsr((int(side), int(side)))


def measure(A):
    x = numpy.ones(A.shape[1], A.dtype)
    times = []
    begin = time.perf_counter()
    while len(times) < REPEATS and (len(times) < 7 or time.perf_counter() - begin < SECONDS):
        start = time.perf_counter()
        A @ x
        times.append(time.perf_counter() - start)
    return sorted(times)


def main():
    print(f"SciPy {scipy.__version__}, one thread")
    for name in sys.argv[1:] or ["gen:band", "gen:fem"]:
        for dtype in (numpy.float32, numpy.float64):
            A = load(name, dtype)
            times = measure(A)
            median = times[len(times) // 2]
            size = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes + sum(A.shape) * A.dtype.itemsize
            print(f"{name:<28} f{8 * A.dtype.itemsize} {A.blocksize[0]} x {A.blocksize[1]}  {1e6 * median:9.1f} us"
                  f"  ({1e6 * times[0]:.1f} to {1e6 * times[-1]:.1f})  {1e-9 * size / median:5.1f} GB/s", flush=True)


main()
