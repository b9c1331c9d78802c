"""Reading Matrix Market texts with SciPy and, where it is installed, fast_matrix_market: what io_bench is held beside.

usage: io_bench.py FILE.mtx...
Best of three, as others would put it; MB are 10^6 bytes of text. What is not installed is left out with a line.
"""
import importlib
import os
import sys
import time


def best(read, path):
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        read(path)
        seconds.append(time.perf_counter() - begin)
    return os.path.getsize(path) * 1e-6 / min(seconds)


def readers():
    for title, module, name in (("scipy.io.mmread", "scipy.io", "mmread"),
                                ("fast_matrix_market", "fast_matrix_market", "mmread")):
        try:
            yield title, getattr(importlib.import_module(module), name)
        except ImportError:
            print(f"{title}: not installed")


def main(paths):
    if not paths:
        sys.exit(__doc__)
    for title, read in list(readers()):
        for path in paths:
            print(f"{title:20} {os.path.basename(path)}: {best(read, path):7.0f} MB/s")


main(sys.argv[1:])
