#!/bin/sh
# `pagerank --check` of scores by networkx, igraph and SciPy, and of planted errors: tests/solvers/other_scores.py.
. tests/cli/lib.sh

python=$(python_with 'networkx, numpy')
if [ -z "$python" ]; then
  skip 1 'python3 is missing, which computes scores to be checked'
else
  graph=
  "$BUILD/pagerank" -q tests/data/real/polblogs.mtx.gz 2>/dev/null && graph='--graph tests/data/real/polblogs.mtx.gz'
  [ -n "$graph" ] || skip 1 'this build lacks zlib: polblogs is left out'
  # shellcheck disable=SC2086
  $python tests/solvers/other_scores.py --program "$BUILD/pagerank" --work "$work" $graph >"$out" || cat "$out" >&2
  # shellcheck disable=SC2046
  set -- $(sed -n 's/^other_scores: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped/\1 \2 \3/p' "$out")
  passed=$((passed + ${1:-0}))
  failed=$((failed + ${2:-1}))
  skipped=$((skipped + ${3:-0}))
fi
report
