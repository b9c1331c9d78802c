#!/bin/sh
# Whole solves on one card, ours beside a plain solver written with cuSPARSE and cuBLAS (yardstick.cu, launched kernel by kernel
# and as a CUDA graph), in both precisions. Every report is one line of $OUT/solver.jsonl (OUT: build/gpu by default), which
# solver_tables.py makes tables of. Exit status: 0 if every answer of ours was right.
#   make programs build/bench/yardstick && OUT=DIR sh tests/bench/solver_bench.sh build [pagerank|bicgstab ...]   default: both
#   PAGERANK='merbit,csr_warp'  BICGSTAB='merbit,bsr_unrolled'   backends     OPTIONS='--deterministic'  further options of ours
#   GRAPHS='gen:road'  SYSTEMS='gen:fem'   matrices     EVERY=10  iterations between two checks of the yardstick (even)
#   REPEAT=9  timed solves of each     LIMIT=200  seconds for one program
# Ours are solved to the default tolerance and to a loose one: the difference in time over that in iterations is what an
# iteration takes, without what begins and ends a solve. The yardstick's events leave that out too.
set -u
build=$1
shift
steps=${*:-pagerank bicgstab}
out=${OUT:-build/gpu}
every=${EVERY:-10}
repeat=${REPEAT:-9}
limit=${LIMIT:-200}
bad=0
mkdir -p "$out"
lines=$out/solver.jsonl
: >"$lines"

# A yardstick that misses the tolerance in f32 says so in its line.
yardstick() { # method, matrix
  echo "== yardstick $1 $2"
  timeout -k 20 "$limit" "$build/bench/yardstick" -p both --graph --check-every "$every" --repeat "$repeat" \
    --json "$lines" "$1" "$2"
  case $? in 0 | 2) ;; *) bad=1 ;; esac
}

ours() { # program, backends, precision, matrix, options...
  program=$1 list=$2 precision=$3 matrix=$4
  shift 4
  echo "== $program $precision $matrix $*"
  rm -f "$out/report.json"
  # shellcheck disable=SC2086
  timeout -k 20 "$limit" "$build/$program" -d cuda -k "$list" -p "$precision" --repeat $((repeat + 1)) \
    --json "$out/report.json" ${OPTIONS:-} "$@" "$matrix" || bad=1
  [ -f "$out/report.json" ] && tr -d '\n' <"$out/report.json" >>"$lines" && echo >>"$lines"
  rm -f "$out/report.json"
}

both() { # program, backends, matrices...
  method=$1 backends=$2
  shift 2
  for name in "$@"; do
    yardstick "$method" "$name"
    for type in f64 f32; do
      ours "$method" "$backends" $type "$name" --verify full
      ours "$method" "$backends" $type "$name" --verify off -t 1e-2
    done
  done
}

for step in $steps; do
  case $step in
    pagerank)
      # shellcheck disable=SC2086
      both pagerank "${PAGERANK:-merbit,csr_warp,cusparse_coo,cusparse}" \
        ${GRAPHS:-gen:road gen:web gen:rmat gen:hubs gen:web:n=10000}
      ;;
    bicgstab)
      # shellcheck disable=SC2086
      both bicgstab "${BICGSTAB:-merbit,bsr_unrolled,csr_thread_unrolled,csr_warp,cusparse_sell,cusparse}" \
        ${SYSTEMS:-gen:stencil:n=200 gen:fem:n=49 gen:fem:n=24 gen:stencil:n=100,points=5}
      ;;
    *)
      echo "solver_bench.sh: '$step' is neither pagerank nor bicgstab" >&2
      bad=1
      ;;
  esac
done
exit $bad
