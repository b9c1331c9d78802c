"""What a careful Python user takes from a file to PageRank's answer on the same card: scipy.io.mmread, CuPy's CSR, the power
method to an L1 error of 1e-9 (f64) or 1e-5 (f32), stopped as windrow does; whole processes, timed from their start.

usage: cupy_bench.py FILE.mtx [f64|f32] [SCORES.txt]     prints a line of JSON, writes the scores; without CuPy or SciPy: says so
The iteration is as windrow's: r <- d (P^T r + dangling / n) + (1 - d) / n, without values (r / out-degree is gathered).
"""
import json
import sys
import time


def since_start():
    """Seconds since this process began, imports of the interpreter included."""
    with open("/proc/self/stat", encoding="ascii") as file:
        began = int(file.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/uptime", encoding="ascii") as file:
        return float(file.read().split()[0]) - began / 100


def main(path, precision="f64", output=None):
    try:
        import cupy
        import cupyx.scipy.sparse
        import numpy
        import scipy.io
    except ImportError as missing:
        sys.exit(f"cupy_bench.py: {missing.name} is not installed")
    phases = {"start and import": since_start()}

    def phase(name, begin):
        cupy.cuda.Device().synchronize()
        phases[name] = time.perf_counter() - begin
        return time.perf_counter()

    kind, bound, d = (numpy.float64, 1e-9, 0.85) if precision == "f64" else (numpy.float32, 1e-5, 0.85)
    clock = time.perf_counter()
    links = scipy.io.mmread(path)
    clock = phase("read", clock)
    links = links.tocsr()
    links.data[:] = 1
    degree = numpy.asarray(links.sum(axis=1)).ravel()
    clock = phase("csr", clock)
    flow = links.T.tocsr().astype(kind)
    clock = phase("transpose", clock)
    matrix = cupyx.scipy.sparse.csr_matrix(flow)
    n, dangling = matrix.shape[0], cupy.asarray(degree == 0)
    inverse = cupy.asarray(numpy.where(degree > 0, 1 / numpy.maximum(degree, 1), 0).astype(kind))
    clock = phase("upload", clock)
    ranks, iterations, change = cupy.full(n, 1 / n, kind), 0, 1.0
    while change * d / (1 - d) > bound and iterations < 1000:
        after = d * (matrix @ (ranks * inverse) + ranks[dangling].sum() / n) + (1 - d) / n
        change, ranks, iterations = float(cupy.abs(after - ranks).sum()), after, iterations + 1
    clock = phase("solve", clock)
    answer = cupy.asnumpy(ranks)
    clock = phase("download", clock)
    if output:
        numpy.savetxt(output, answer, fmt="%.17g")
        phase("write", clock)
    print(json.dumps({"file": path.rsplit("/", 1)[-1], "precision": precision, "iterations": iterations, "sum": float(answer.sum()),
                      "change": change, "phases_s": phases, "whole_s": since_start()}))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
