#!/bin/sh
# Makes docs/benchmarks/all.md anew, with its tables and pictures, from the lines of bench_all.py that are kept beside it:
#   docs/benchmarks/DAY-MACHINE/all_*.jsonl.xz
# Further lines are added as one more such file of less than 1 MB:
#   xz -9e <more.jsonl >docs/benchmarks/DAY-MACHINE/all_more.jsonl.xz
# Pictures need matplotlib (make deps).
set -e
page=docs/benchmarks/all.md
set -- docs/benchmarks/*/all_*.jsonl.xz

draw() { # picture, options...
  picture=$1
  shift
  python3 tools/plot.py "$picture" "$@" -o "${page%.md}/$picture.svg"
}

draw profile "$@" --precision f64
draw roofline "$@" --precision f64
draw heatmap "$@" --matrix road --matrix web --matrix rmat --matrix hubs --matrix stencil:n=200 --matrix fem:n=49 \
  --matrix fem:n=24 --matrix band
draw breakeven "$@" --precision f64 --matrix road --matrix rmat --matrix stencil:n=200 --matrix fem:n=49 --run merbit \
  --run merge_csr --run lane_csr --run csr_thread_unrolled --run sell_coded --run sliced_dia --run bsr_unrolled --run cusparse
python3 tests/bench/all_tables.py "$page" "$@"
