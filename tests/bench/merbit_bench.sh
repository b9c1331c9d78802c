#!/bin/sh
# The figures of docs/merbit.md: one multiply beside the yardsticks, a sweep over sigma, what each optimisation is worth, and
# whole solves. JSON files go to the folder OUT (default: build/gpu), solves as lines of one.
#   OUT=DIR sh tests/bench/merbit_bench.sh BUILD [multiply|sigma|switches|solve ...]     default: all
set -u
build=$1
shift
steps=${*:-multiply sigma switches solve}
out=${OUT:-build/gpu}
bad=0
mkdir -p "$out"
matrices='gen:road gen:web gen:rmat gen:hubs gen:stencil:n=200 gen:band gen:fem:n=49'

multiply() { # name of the JSON file, backends, options and matrices...
  name=$1 backends=$2
  shift 2
  "$build/spmv" -d cuda -k "$backends" --json "$out/$name.json" "$@" || bad=1
}

solve() { # program, options and matrix...
  program=$1
  shift
  rm -f "$out/report.json"
  "$build/$program" -d cuda --json "$out/report.json" --repeat 3 "$@" || bad=1
  [ -f "$out/report.json" ] && tr -d '\n' <"$out/report.json" >>"$out/merbit_solve.jsonl" && echo >>"$out/merbit_solve.jsonl"
  rm -f "$out/report.json"
}

for step in $steps; do
  case $step in
    multiply)
      # shellcheck disable=SC2086
      multiply merbit cusparse,cusparse:alg=2,cusparse_coo,cusparse_sell,merbit,merbit:commit=dual,merbit:commit=ordered \
        --seconds ${SECONDS_EACH:-0.2} $matrices gen:fem:n=24 gen:rmat:scale=18 gen:uniform gen:web:seed=7
      ;;
    sigma)
      list=cusparse_coo
      for sigma in 5 7 10 12 14 16 19 22 28; do list=$list,merbit:gather=local:sigma=$sigma; done
      # shellcheck disable=SC2086
      multiply merbit_sigma "$list" --values --seconds 0.05 --verify sample:10000 $matrices
      ;;
    switches)
      list=merbit:commit=dual,merbit:commit=dual:long_rows=off,merbit:commit=dual:segmented=off,merbit:commit=clear
      list=$list,merbit:commit=ordered,merbit:gather=local,merbit:gather=scattered
      # shellcheck disable=SC2086
      multiply merbit_switches "$list" --values --seconds 0.05 --verify sample:10000 $matrices
      ;;
    solve)
      : >"$out/merbit_solve.jsonl"
      list=cusparse_coo,cusparse,merbit:commit=dual,merbit:commit=ordered
      for graph in road web rmat; do
        for precision in f64 f32; do solve pagerank -p $precision -k "$list" gen:$graph; done
      done
      for precision in f64 f32; do solve bicgstab -p $precision -k "$list" gen:stencil:n=200; done
      ;;
  esac
done
exit $bad
