#!/bin/sh
# The research report's tables 1 to 3 (section 6.3) with cpu_bsr: the schedules on 1, 2, 4, ... threads, and how they take
# smaller pieces. usage: [BUILD=build] cpu_bsr_tables.sh [MATRIX [KNOBS [MOST_THREADS]]], default: gen:band, blocks as
# chosen, all processors. What else spmv should do stands in BENCH: BENCH='-p both --batches 11'.
set -eu
matrix=${1:-gen:band} knobs=${2:+:$2} most=${3:-$(getconf _NPROCESSORS_ONLN)}
spmv=${BUILD:-build}/spmv
schedules='sequential granular_row intra_row intra_row_nowait max_task fixed_task preprocessed'

list=cpu_csr
for schedule in $schedules; do
  list="$list,cpu_bsr$knobs:schedule=$schedule"
done
threads=1
while [ "$threads" -le "$((2 * most))" ]; do # the last is more than there are
  echo "== table 1: $threads threads"
  $spmv --device cpu --verify sample:100 -p f64 ${BENCH:-} --threads "$threads" -k "$list,cpu_bsr$knobs:chunks=8" "$matrix"
  threads=$((2 * threads))
done

for chunks in 1 8 32 64 128 256 512 1024 2048; do
  list=
  for schedule in intra_row_nowait max_task fixed_task preprocessed; do
    list="$list${list:+,}cpu_bsr$knobs:schedule=$schedule:chunks=$chunks"
  done
  echo "== tables 2 and 3: $chunks chunks a thread, $most threads"
  $spmv --device cpu --verify sample:100 -p f64 ${BENCH:-} --threads "$most" -k "$list" "$matrix"
done
