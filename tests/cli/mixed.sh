#!/bin/sh
# pagerank --precision mixed: the report and the JSON name multiplies of both types, the answer is that of f64, repeated solves
# and several backends; what it is refused with.
. tests/cli/lib.sh

scores() { # precision, name, arguments...
  precision=$1 name=$2
  shift 2
  run 0 pagerank -p "$precision" -t 1e-11 --top 0 -o "$work/$precision.txt" --json "$work/$precision.json" "$@"
  says "$work/$precision.json" "\"precision\": \"$precision\"" '"met_tolerance": true' '"outcome": "converged"'
  count=$(sed -n 's/.*"multiplies_f32": \([0-9]*\).*/\1/p' "$work/$precision.json" | sort -n | head -n 1)
}

# Both answers are within 1e-11 of the truth.
alike() { # arguments...
  scores f64 f64 "$@"
  [ "$count" = 0 ]
  expect "f64 has $count multiplies in f32"
  scores mixed mixed "$@"
  [ "$count" -gt 5 ]
  expect "mixed precision has $count multiplies in f32"
  says "$out" 'in mixed:'
  paste "$work/f64.txt" "$work/mixed.txt" | awk '{ d = $1 - $2; s += d < 0 ? -d : d } END { exit !(s < 2.1e-11) }'
  expect 'the answers differ by more than both bounds'
}

printf '%s\n' '1 2 0.5' '2 3 7' '3 1 1e-3' '3 4 2' '4 4 1' '5 1 3' >"$work/weights.tsv"
printf '%s\n' '1 1' '3 2' >"$work/targets.tsv"
alike --method power gen:web:n=2000
alike gen:road:side=40
alike --method power -k reference,cpu_csr,cpu_bsr gen:web:n=500
alike --method power --personalize "$work/targets.tsv" "$work/weights.tsv"
alike --method power --damping 0.99 --deterministic --repeat 3 --threads 2 gen:rmat:scale=8
run 0 pagerank -p mixed --top 0 --method power -k reference,cpu_csr gen:web:n=500
says "$out" 'times of multiplies are those in f32: reference ' ', cpu_csr '
run 0 pagerank -p mixed -t 1e-11 --top 0 --method power --deterministic --threads 1 -o "$work/one.txt" gen:rmat:scale=8
run 0 pagerank -p mixed -t 1e-11 --top 0 --method power --deterministic --threads 2 -o "$work/two.txt" gen:rmat:scale=8
same 'answers of one and of two threads' "$work/one.txt" "$work/two.txt"

# Multiplies of both types count.
run 2 pagerank -p mixed -n 9 --method power gen:web:n=500
says "$out" 'after 9 iterations (8 in f32, 1 in f64)'
run 0 pagerank -p mixed -t 1e-3 --stop change --method power gen:web:n=500
run 0 pagerank -p mixed --stop order --top 3 --method power gen:web:n=500
says "$out" 'the order of the first 3 is proven'
run 0 pagerank -p mixed --damping 0.999999 -t 1e-6 gen:road:side=6
says "$out" 'in f64, as f32 rounds too much'

refuses 1 "--precision mixed is for the methods power and chebyshev: idr computes in f64" pagerank -p mixed --method idr gen:web:n=50
refuses 1 "gauss-seidel computes in f64" pagerank -p mixed --method gauss-seidel gen:web:n=50
refuses 1 "--check solves nothing: leave out --precision mixed" pagerank -p mixed --check "$work/targets.tsv" gen:web:n=50
refuses 1 "--precision: 'mixed' is not one of f32|f64" bicgstab -p mixed gen:stencil:n=3
report
