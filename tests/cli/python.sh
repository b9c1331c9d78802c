#!/bin/sh
# windrow for Python, on the shared library of this build: tests/python/check_python.py.
# Needs: programs libraries
. tests/cli/lib.sh

python=$(python_with 'numpy, scipy')
$python -c 'import numpy, scipy' 2>/dev/null || python=$(python_with 'numpy')
preload=
case ${SANITIZE:-} in *address*) preload=$(${CC:-gcc} -print-file-name=libasan.so) ;; esac
if ! $python -c 'import numpy' 2>/dev/null; then
  skip 1 "numpy is missing, which windrow for Python needs: $(sh tools/deps.sh --hint numpy)"
elif [ -n "${SANITIZE:-}" ] && [ ! -e "$preload" ]; then
  skip 1 "an ordinary python3 does not load a library with this sanitizer"
else
  export WINDROW_LIBRARY="$BUILD/libwindrow.so" PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg MPLCONFIGDIR="$work" CC="${CC:-gcc}"
  [ -z "$preload" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0:verify_asan_link_order=0"
  LD_PRELOAD=$preload PYTHONPATH=python $python tests/python/check_python.py "$work" >"$work/summary" 2>"$work/failures" ||
    cat "$work/failures" >&2
  grep '^\[python\] skipped' "$work/failures" >&2
  # shellcheck disable=SC2046
  set -- $(sed -n 's/^check_python: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped/\1 \2 \3/p' "$work/summary")
  passed=$((passed + ${1:-0}))
  failed=$((failed + ${2:-1}))
  skipped=$((skipped + ${3:-0}))
fi
report
