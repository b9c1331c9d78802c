#!/bin/sh
# What other processes that keep the processors busy cost: each problem is solved on one thread and on all, in turn, beside so
# many busy processes. Goal: all threads take at most twice as long as one, and on a machine with nothing beside (BUSY=0) less.
# usage: BUILD=build [BUSY=2] [RUNS=9] [BASE=build of another version] sh tests/bench/busy_bench.sh [MATRIX...]
# Prints the medians of the seconds from the start to the verified answer, and of solving alone.
set -eu
BUILD=${BUILD:-build} BUSY=${BUSY:-2} RUNS=${RUNS:-9} BASE=${BASE:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX")
busy=
trap 'kill $busy 2>/dev/null; rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- gen:stencil:n=20 gen:stencil:n=40 gen:stencil:n=80 gen:web:n=20000 gen:web:n=200000
for k in $(seq "$BUSY"); do
  (while :; do :; done) &
  busy="$busy $!"
done

# Of the first run in the report: a number by its name, and the seconds of the phase solve.
second() {
  awk -v name="\"$1\":" '/"runs":/ { on = 1 } on && $1 == name { print $2 + 0; exit }' "$work/report.json"
}

solving() {
  awk '/"runs":/ { on = 1 } on && /"solve":/ { inside = 1 } inside && $1 == "\"s\":" { print $2 + 0; exit }' "$work/report.json"
}

median() { sort -g "$1" | awk '{ v[NR] = $1 } END { printf "%.4f", v[int((NR + 1) / 2)] }'; }

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

printf '%-28s %-8s | %9s %9s %6s | %9s %9s %6s\n' "beside $BUSY busy processes" build 'verified' '1 thread' ratio solve \
  '1 thread' ratio
for matrix in "$@"; do
  program=bicgstab
  case $matrix in *web* | *NotreDame* | *wiki*) program=pagerank ;; esac
  rm -f "$work"/*.all "$work"/*.one
  for k in $(seq "$RUNS"); do
    for build in $BUILD $BASE; do
      for threads in 1 0; do
        name=$(echo "$build" | tr / _).$([ $threads = 0 ] && echo all || echo one)
        "$build/$program" -q -k cpu_csr --threads $threads --json "$work/report.json" "$matrix" >"$work/out" 2>&1 || true
        second to_verified_s >>"$work/verified.$name"
        solving >>"$work/solve.$name"
      done
    done
  done
  for build in $BUILD $BASE; do
    name=$(echo "$build" | tr / _)
    all=$(median "$work/verified.$name.all") one=$(median "$work/verified.$name.one")
    solve=$(median "$work/solve.$name.all") alone=$(median "$work/solve.$name.one")
    printf '%-28s %-8s | %9s %9s %6s | %9s %9s %6s\n' "$(basename "$matrix" .mtx.gz)" "$(basename "$build")" "$all" "$one" \
      "$(ratio "$all" "$one")" "$solve" "$alone" "$(ratio "$solve" "$alone")"
  done
  rm -f "$work"/verified.* "$work"/solve.*
done
