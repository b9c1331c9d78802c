#!/bin/sh
# tools/plot.py on reports made by hand, on published ones and on those of a small run: tests/tools/check_plot.py.
. tests/cli/lib.sh

python=$(python_with 'matplotlib')
if [ -z "$python" ]; then
  skip 1 'python3 is missing, which draws pictures'
else
  export MPLCONFIGDIR="$work" PYTHONDONTWRITEBYTECODE=1
  mkdir "$work/fresh"
  run 0 spmv -q -k cpu_csr,cpu_bsr,reference -p both --seconds 0.01 --batches 7 --json "$work/fresh/spmv.json" gen:web:n=3000 gen:fem:n=6
  run 0 pagerank -q -k cpu_csr,reference --json "$work/fresh/pagerank.json" --history "$work/fresh/pagerank.csv" gen:web:n=3000
  run 0 bicgstab -q -k cpu_csr,cpu_bsr --json "$work/fresh/bicgstab.json" --history "$work/fresh/bicgstab.csv" gen:convect:n=30
  $python tests/tools/check_plot.py "$work" >"$work/summary" 2>"$work/failures" || cat "$work/failures" >&2
  grep '^\[plot\] skipped' "$work/failures" >&2
  # shellcheck disable=SC2046
  set -- $(sed -n 's/^check_plot: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped/\1 \2 \3/p' "$work/summary")
  passed=$((passed + ${1:-0}))
  failed=$((failed + ${2:-1}))
  skipped=$((skipped + ${3:-0}))
fi
report
