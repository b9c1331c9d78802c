"""Builds of libwindrow in a source tree. Packaging uses this file, too, so it needs nothing but Python."""
import glob
import os


def _is_ordinary(library):
    """A library with a sanitizer ends an ordinary interpreter, so `make check-asan` must not be taken for a build."""
    try:
        with open(os.path.join(os.path.dirname(library), "flags")) as flags:
            return "-fsanitize" not in flags.read()
    except OSError:
        return True


def newest(root):
    """Libraries that make has built in a source tree, the newest first; of a folder that is none an empty list."""
    if not os.path.exists(os.path.join(root, "solvers", "api", "windrow.h")):
        return []
    found = glob.glob(os.path.join(glob.escape(root), "build*", "libwindrow.so"))
    found += glob.glob(os.path.join(glob.escape(root), "build*", "*", "libwindrow.so"))
    return sorted(filter(_is_ordinary, found), key=os.path.getmtime, reverse=True)
