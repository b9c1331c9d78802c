#!/bin/sh
# Whether an answer can be relied on: doubtful answers, --stop backward, --check of any x, --time-limit, and advice whose commands
# run as they are printed.
. tests/cli/lib.sh

# Rows whose norms fall by a factor of 100 from each to the next: the last ones hardly show in ||b - A x||.
matrix rows.mtx 'coordinate real general' '6 6 16' '1 1 4' '1 2 1' '2 1 1e-2' '2 2 4e-2' '2 3 1e-2' '3 2 1e-4' '3 3 4e-4' \
  '3 4 1e-4' '4 3 1e-6' '4 4 4e-6' '4 5 1e-6' '5 4 1e-8' '5 5 4e-8' '5 6 1e-8' '6 5 1e-10' '6 6 4e-10'
matrix identity.mtx 'coordinate real general' '3 3 3' '1 1 1' '2 2 1' '3 3 1'
matrix nilpotent.mtx 'coordinate real general' '2 2 1' '1 2 1'
matrix swap.mtx 'coordinate real general' '4 4 4' '1 2 1' '2 1 -1' '3 4 2' '4 3 -2'
rows=$work/rows.mtx identity=$work/identity.mtx json=$work/report.json
system=gen:stencil:n=8

# Each element of the vector in this file is within a distance of 1.
near_ones() { # file, distance
  awk -v most="$2" '{ d = $1 - 1; if (!(d <= most && d >= -most)) bad = 1 } END { exit bad || NR == 0 }' "$1"
}

check_doubtful() {
  run 0 bicgstab -t 1e-6 --scale none --precond none -o "$work/x.txt" --json "$json" "$rows"
  says "$out" 'converged in' '(asked for 1e-6), but the backward error is 1: x may be useless' 'that of row' \
    'seen rows differ in norm by 1e10' 'try rows and columns scaled to norms of about 1: bicgstab' '--scale equilibrate'
  says "$json" '"exit_code": 0' '"doubtful": true' '"advice": {' '"remedy": "rows and columns scaled'
  ! near_ones "$work/x.txt" 0.01
  expect 'the answer is right: this shows little'
  run 0 bicgstab -t 1e-6 --precond jacobi --stop backward -o "$work/x.txt" --json "$json" "$rows"
  says "$out" 'converged in' 'backward error' '(asked for 1e-6), ||b - A x|| =' '1e-6 is allowed'
  ! grep -q useless "$out"
  expect 'an answer with a small backward error is called useless'
  near_ones "$work/x.txt" 1e-4
  expect 'the answer is wrong'
  says "$json" '"doubtful": false' 'stop = backward'
  run 0 bicgstab --verify off -t 1e-6 "$rows" && says "$out" 'unverified'
  ! grep -q useless "$out"
  expect 'an answer that was not checked is called useless'
  run 0 bicgstab -q -t 1e-6 "$rows"
  is_empty "$out"
  run 0 bicgstab -k cpu_csr,reference -t 1e-6 --scale none --precond none "$rows"
  says "$out" '! cpu_csr: meets the tolerance, but the backward error is 1: x may be useless' '! reference: ' '--scale equilibrate'
  run 0 bicgstab -t 1e-6 --scale match "$rows" && says "$out" 'rows matched to columns (0 moved)'
}

check_stop() {
  for type in f32 f64; do
    run 0 bicgstab -p $type --stop backward $system
    says "$out" 'backward error' 'true residual'
    run 0 bicgstab -p $type --stop backward --precond jacobi -t 1e-9 --verify sample:2 $system
    says "$out" '(asked for 1e-9)'
  done
  run 2 bicgstab --stop backward -t 1e-30 $system
  says "$out" 'not converged (stagnated)' 'is what f64 attains here: a larger tolerance would help' '1e-30 is allowed: TOO MUCH'
  run 0 bicgstab --stop backward --atol 1e9 $system && says "$out" 'converged in 0 iterations'
  refuses 1 "--stop: 'both' is not one of residual|backward" bicgstab --stop both $system
}

# In a singular system that has no solution, x may run off until rounding A x hides b.
check_running_off() {
  matrix lap.mtx 'coordinate real symmetric' '3 3 5' '1 1 1' '2 1 -1' '2 2 2' '3 2 -1' '3 3 1'
  printf '%s\n' 1 0 0 >"$work/b.txt"
  printf '%s\n' 1e20 1e20 1e20 >"$work/off.txt"
  run 0 bicgstab --stop backward -b "$work/b.txt" --check "$work/off.txt" --json "$json" "$work/lap.mtx"
  says "$out" '||b - A x|| = 1 ||b||'
  says "$json" '"doubtful": false'
  printf '%s\n' 1e20 1e20 1.0000001e20 >"$work/off.txt"
  run 0 bicgstab --stop backward -t 1e-6 -b "$work/b.txt" --check "$work/off.txt" --json "$json" "$work/lap.mtx"
  says "$out" 'x meets the tolerance' ', but x = 0 has a smaller residual: x may be useless'
  says "$json" '"doubtful": true'
}

# Numbers at the ends of f64: true backward errors, and outputs that are not written without a word.
check_extremes() {
  matrix apart.mtx 'coordinate real general' '2 2 2' '1 1 1e200' '2 2 1e-150'
  printf '%s\n' 1 7 >"$work/off.txt"
  run 2 bicgstab --stop backward --check "$work/off.txt" "$work/apart.mtx"
  says "$out" 'x does NOT meet the tolerance: backward error 0.75 '
  run 2 bicgstab --stop backward "$work/apart.mtx" && says "$out" 'not converged' 'the backward error stays at 1, that of row 2'
  printf '%s\n' 1 1 >"$work/off.txt"
  run 0 bicgstab --stop backward --check "$work/off.txt" "$work/apart.mtx" && says "$out" 'backward error 0 '
  matrix one.mtx 'coordinate real general' '2 2 3' '1 1 2' '1 2 1' '2 2 3'
  printf '%s\n' 1e-310 0 >"$work/b.txt"
  printf '%s\n' 0 1 >"$work/off.txt"
  run 0 bicgstab --atol 10 -x "$work/off.txt" -b "$work/b.txt" -o "$work/x.txt" "$work/one.mtx"
  says "$out" 'the first guess was replaced by 0'
}

check_check() {
  run 0 bicgstab -q -o "$work/x.mtx" $system
  for form in mtx tsv csv txt npy; do
    run 0 bicgstab -q -t 1e-12 -o "$work/x.$form" $system
    run 0 bicgstab --check "$work/x.$form" -t 1e-12 $system
    says "$out" 'x meets the tolerance: ||b - A x|| =' '||b|| (asked for 1e-12)' 'b = A times ones' 'error of at most' \
      'that of row' 'rounded to f64' "x $work/x.$form"
    cp "$out" "$work/$form.report"
    run 2 bicgstab --check "$work/x.$form" --rhs random:7 $system && says "$out" 'x does NOT meet' 'random numbers'
  done
  in=$work/x.npy
  run 0 bicgstab --check - $system
  in=/dev/null
  printf '1\n1\n1\n' >"$work/ones.txt"
  printf '1\n1.00001\n1\n' >"$work/near.txt"
  printf '5\n5\n5\n' >"$work/b.txt"
  run 2 bicgstab --check "$work/near.txt" "$identity" && says "$out" 'x does NOT meet the tolerance'
  run 0 bicgstab --check "$work/near.txt" -t 1e-4 "$identity"
  run 0 bicgstab --check "$work/near.txt" -p f32 "$identity" && says "$out" '(asked for 1e-5)' 'rounded to f32'
  run 0 bicgstab --check "$work/near.txt" --atol 1 "$identity"
  run 2 bicgstab --check "$work/ones.txt" -b "$work/b.txt" "$identity" && says "$out" '= 0.8 ||b||' "b = $work/b.txt"
  run 0 bicgstab --check "$work/ones.txt" --precond jacobi "$identity"
  says "$out" '||b - A x|| = 0 ||b||' 'error 0, that of row 1'
  run 2 bicgstab -q --check "$work/near.txt" "$identity"
  is_empty "$out"
  says "$err" 'near.txt does not meet the tolerance'
  printf '0\n0\n' >"$work/zeros.txt"
  run 0 bicgstab --check "$work/zeros.txt" -b "$work/zeros.txt" "$work/nilpotent.mtx" && says "$out" '||b - A x|| = 0 (asked'
  printf '0\n1\n' >"$work/second.txt"
  run 2 bicgstab --check "$work/zeros.txt" -b "$work/second.txt" "$work/nilpotent.mtx" # which no x solves
  printf '1e308\n1e308\n' >"$work/large.txt"
  matrix large.mtx 'coordinate real general' '2 2 2' '1 1 1e300' '2 2 1'
  run 2 bicgstab --check "$work/large.txt" "$work/large.mtx" && says "$out" '||b - A x|| = 1e308 ||b||'
  printf '1\n1\n1\n1\n1\n0.5\n' >"$work/half.txt"
  run 0 bicgstab --check "$work/half.txt" "$rows"
  says "$out" 'x meets the tolerance' 'but the backward error is' 'x may be useless'
  run 2 bicgstab --check "$work/half.txt" --stop backward "$rows"
  says "$out" 'x does NOT meet the tolerance: backward error'
  run 2 bicgstab --check "$work/near.txt" --json - "$identity"
  says "$out" '"exit_code": 2' '"check": {' '"met_tolerance": false' '"stop": "residual"' '"backward_error": ' \
    '"attainable": ' '"measure_error": '
  says "$err" 'x does NOT meet'
}

check_defects() {
  matrix missing.mtx 'coordinate real general' '3 1 2' '1 1 1' '3 1 1'
  matrix twice.mtx 'coordinate real general' '3 1 3' '1 1 1' '3 1 1' '1 1 2'
  matrix nan.mtx 'array real general' '3 1' 1 nan 1
  printf '1 1\n2 1\n1 3\n' >"$work/ids.txt"
  printf '1 1\n3 1\n' >"$work/few.txt"
  refuses 3 "$work/missing.mtx: element 2, one of the matrix's columns, has no entry (2 of 3 have one)" \
    bicgstab --check "$work/missing.mtx" "$identity"
  refuses 3 "$work/twice.mtx: element 1 has two entries" bicgstab --check "$work/twice.mtx" "$identity"
  refuses 3 "$work/nan.mtx:4: the value is not a number ('nan')" bicgstab --check "$work/nan.mtx" "$identity"
  refuses 3 "$work/ids.txt:3: id 1 has a value already" bicgstab --check "$work/ids.txt" "$identity"
  refuses 3 "$work/few.txt:3: the file ends without a value for id 2" bicgstab --check "$work/few.txt" "$identity"
  refuses 3 "$work/few.mtx" bicgstab --check "$work/few.mtx" "$identity"
  run 0 bicgstab -q -b "$work/missing.mtx" "$identity" # a right-hand side may be sparse
  for option in '-k cpu_csr' "-o $work/y.txt" "-x $work/ones.txt" "--report $work/r.html" "--history $work/h.csv" '--repeat 2' '--time-limit 9' '--format tsv'; do
    # shellcheck disable=SC2086
    refuses 1 '--check solves nothing: leave out --' bicgstab $option --check "$work/ones.txt" "$identity"
  done
  refuses 1 '--check computes on the CPU: leave out --device' bicgstab -d cuda --check "$work/ones.txt" "$identity"
  refuses 1 'standard input (-) can be one of the inputs only' bicgstab --check - -
}

# The scores of a graph with ids 5, 7, 9, 20, 30 and 31 (which dangles), with lines changed by an awk program.
changed_scores() { # awk program
  awk "$1" "$work/scores.tsv" >"$work/changed.tsv"
}

check_scores() {
  printf '5 7\n7 9\n9 5\n20 5\n20 31\n30 20\n30 5\n9 31\n7 20\n' >"$work/edges.tsv"
  edges=$work/edges.tsv
  for form in mtx tsv csv txt npy; do
    run 0 pagerank -q -t 1e-13 -o "$work/scores.$form" "$edges"
    run 0 pagerank --check "$work/scores.$form" -t 1e-12 "$edges"
    says "$out" 'scores meet the tolerance: L1 error <=' '(asked for 1e-12)' '1 dangling node' 'divided by 1 - damping = 0.15' \
      "scores $work/scores.$form" 'order proven for all 6 nodes'
    run 2 pagerank --check "$work/scores.$form" -d cpu --damping 0.5 "$edges"
    says "$out" 'scores do NOT meet' 'scores of another definition: damping 0.85'
  done
  run 2 pagerank -q --check "$work/scores.tsv" -t 1e-30 "$edges"
  is_empty "$out"
  says "$err" 'scores.tsv does not meet the tolerance'
  changed_scores '$1 == 9 { $2 = sprintf("%.17g", $2 + 1e-6) } { print $1 "\t" $2 }'
  run 2 pagerank --check "$work/changed.tsv" "$edges"
  says "$out" 'do NOT meet' 'sum 1.000001, off 1 by 1e-6' 'worst node 9: a step changes its score' 'by -1e-6'
  run 0 pagerank --check "$work/changed.tsv" -t 1e-4 "$edges"
  run 2 pagerank --check "$work/changed.tsv" -t 1e-6 --stop change "$edges" && says "$out" 'a step changes them by'
  run 0 pagerank --check "$work/changed.tsv" -t 1e-5 --stop change "$edges"
  changed_scores '{ id[NR] = $1; s[NR] = $2 } END { for (k = 1; k <= NR; k++) print id[k] "\t" s[k == 1 ? 2 : k == 2 ? 1 : k] }'
  run 2 pagerank --check "$work/changed.tsv" "$edges" && says "$out" 'do NOT meet' 'explains these scores'
  changed_scores '{ printf "%s\t%.17g\n", $1, 4 * $2 }'
  run 2 pagerank --check "$work/changed.tsv" "$edges"
  says "$out" 'another definition: multiplied by 4' 'sum 4, off 1 by 3' 'order proven for all 6 nodes, by the bound' \
    'divided by their sum'
  run 0 pagerank -q --edges in -t 1e-13 -o "$work/turned.tsv" "$edges"
  run 2 pagerank --check "$work/turned.tsv" --json - "$edges"
  says "$out" '"exit_code": 2' '"check": {' '"met_tolerance": false' '"stop": "bound"' '"text": "edges reversed"' '"proven_ranks": 0'
  run 0 pagerank --check "$work/turned.tsv" --edges in "$edges"
  printf '9\t1\n' >"$work/jumps.tsv"
  run 0 pagerank -q -t 1e-13 --personalize "$work/jumps.tsv" -o "$work/near.tsv" "$edges"
  run 0 pagerank --check "$work/near.tsv" --personalize "$work/jumps.tsv" "$edges"
  run 2 pagerank --check "$work/scores.tsv" --personalize "$work/jumps.tsv" "$edges" && says "$out" 'definition: no personalisation'
  for threads in 1 2 5; do
    run 2 pagerank --threads $threads --check "$work/turned.tsv" "$edges"
    grep -v '^  times' "$out" >"$work/threads.$threads"
    same 'on other numbers of threads' "$work/threads.1" "$work/threads.$threads"
  done
  changed_scores '$1 != 20'
  refuses 3 'the file ends without a value for id 20' pagerank --check "$work/changed.tsv" "$edges"
  changed_scores '{ print } $1 == 20'
  refuses 3 "$work/changed.tsv:5: id 20 has a value already" pagerank --check "$work/changed.tsv" "$edges"
  changed_scores '$1 == 20 { $1 = 21 } { print $1 "\t" $2 }'
  refuses 3 "$work/changed.tsv:4: id 21 is none of the graph's nodes" pagerank --check "$work/changed.tsv" "$edges"
  for bad in nan inf 1e999; do
    changed_scores "\$1 == 20 { \$2 = \"$bad\" } { print \$1 \"\\t\" \$2 }"
    refuses 3 "$work/changed.tsv:4: the value is" pagerank --check "$work/changed.tsv" "$edges"
  done
  changed_scores '$1 == 20 { $2 = -0.25 } { print $1 "\t" $2 }'
  refuses 3 'node 20 has the score -0.25; scores are not negative' pagerank --check "$work/changed.tsv" "$edges"
  changed_scores '{ print $1 "\t1e308" }'
  run 2 pagerank --check "$work/changed.tsv" "$edges" && says "$out" 'L1 error <= inf'
  changed_scores '{ print $1 "\t0" }'
  run 2 pagerank --check "$work/changed.tsv" "$edges" && says "$out" 'sum 0, off 1 by -1' 'do NOT meet'
  for option in '-k cpu_csr' "-o $work/y.txt" "-x $work/scores.txt" "--report $work/r.html" "--history $work/h.csv" '--repeat 2' '--time-limit 9' '--format tsv'; do
    # shellcheck disable=SC2086
    refuses 1 '--check solves nothing: leave out --' pagerank $option --check "$work/scores.tsv" "$edges"
  done
  matrix node.mtx 'coordinate pattern general' '1 1 0'
  echo 1 >"$work/one.txt"
  run 0 pagerank --check "$work/one.txt" "$work/node.mtx" && says "$out" 'proven for all 1 node'
}

# Of six nodes the order of the first three is proven; 3, 4 and 6 get no links and are tied. In a circle nothing is proven.
check_order() {
  printf '1 2\n2 1\n3 1\n4 1\n5 2\n6 1\n1 5\n2 5\n' >"$work/order.tsv"
  printf '1 2\n2 3\n3 4\n4 1\n' >"$work/circle.tsv"
  edges=$work/order.tsv
  run 0 pagerank --top 3 "$edges" && says "$out" 'order proven: each score exceeds the next one by more than the bound'
  run 0 pagerank --top 6 --json "$work/order.json" "$edges"
  says "$out" '== 5 4' '== 6 6' 'order proven: each score exceeds the next one by more than the bound' 'on the error, or is the same' \
    '; == where both are the same in truth, since the same nodes link to both'
  grep -qE '^ +4 +3 +' "$out"
  expect 'rank 4 has no plain number'
  says "$work/order.json" '"order": null' '"order": { "ranks": 6, "proven_ranks": 6, "ties": 2,'
  run 0 pagerank --top 4 "$edges" && says "$out" 'since the same nodes link to both, as the last one and the next one are'
  run 0 pagerank --top 3 "$work/circle.tsv"
  says "$out" '= 2 2' '= 3 3' 'order not proven from the first node on; = stands where the score above is within the bound' \
    'as the last score here is of the next one'
  run 0 pagerank --top 4 "$work/circle.tsv"
  ! grep -q 'as the last score' "$out"
  expect 'all nodes are shown'
  run 0 pagerank --top 3 --stop order --json "$work/order.json" -o "$work/early.tsv" "$edges"
  says "$out" 'the order of the first 3 is proven, L1 error <=' 'for 1e-9 it would take about' 'order proven: each score'
  says "$work/order.json" '"order": { "ranks": 3, "proven_ranks": 3, "reviews":' '"exit_code": 0' '"met_tolerance": true'
  run 2 pagerank --check "$work/early.tsv" "$edges" && says "$out" 'order proven for all 6 nodes, of which 2 are equal to the next'
  run 0 pagerank --top 6 --stop order "$edges" && says "$out" 'the order of the first 6 is proven, L1 error <='
  run 0 pagerank --top 4 --stop order "$work/circle.tsv"
  says "$out" 'the order of the first 4 is not proven (of 0 it is), L1 error <=' '(asked for 1e-9)'
  run 2 pagerank --top 3 --stop order -n 1 "$edges"
  run 0 pagerank --top 3 --stop order -p f32 --repeat 3 "$edges" && says "$out" 'the order of the first 3 is proven'
  run 0 pagerank --top 0 "$edges"
  ! grep -q '^  order' "$out"
  expect 'an order of no nodes'
  refuses 1 '--stop order needs a --top of 1 or more' pagerank --stop order --top 0 "$edges"
  refuses 1 '--check solves nothing: leave out --stop order' pagerank --stop order --check "$work/early.tsv" "$edges"
}

check_time_limit() {
  run 2 bicgstab --time-limit 1e-9 -o "$work/y.mtx" --json "$json" $system
  says "$out" 'not converged (time-limit) after 0 iterations' 'why the time limit had passed before the first iteration'
  says "$json" '"outcome": "time-limit"' '"exit_code": 2'
  says "$work/y.mtx" 'time-limit, 0 iterations'
  ! grep -q '^  try' "$out"
  expect 'advice where nothing was tried'
  run 2 pagerank --time-limit 1e-9 gen:web:n=500,dmax=20
  says "$out" 'not converged (time-limit) after 0 iterations' 'the time limit had passed before the first iteration'
  # A solve that its iterations would keep busy for years, since its tolerance cannot be met in so few digits.
  run 2 bicgstab --time-limit 0.2 -t 1e-300 -n 1000000000000 --precond jacobi gen:stencil:n=40
  says "$out" 'not converged ('
  for limit in 0 1e9; do
    run 0 bicgstab --time-limit $limit $system
    run 0 pagerank --time-limit $limit gen:web:n=500,dmax=20
  done
  run 2 bicgstab --time-limit 1e-9 -k cpu_csr,reference $system
  says "$out" '! cpu_csr: time-limit' 'not available: reference: the time limit had passed before it began'
  refuses 1 '--time-limit: -1 is not in [0, 1e9]' bicgstab --time-limit -1 $system
}

# The command that the report names, as a shell takes it, and its options; the program at hand runs it.
follow() { # exit code
  sed -n '/^            bicgstab /,/[^\\]$/p' "$out" >"$work/command"
  grep -q . "$work/command"
  expect 'no command is named'
  call "$1" sh -c "PATH='$BUILD:$PATH' . '$work/command'"
}

check_advice() {
  awk 'BEGIN { for (i = 1; i <= 512; i++) print i }' >"$work/it's b.txt"
  run 2 bicgstab -n 2 -b "$work/it's b.txt" $system
  says "$out" 'try as many iterations as by default: bicgstab'
  follow 0 && says "$out" 'converged in' "it's b.txt"
  run 0 bicgstab -t 1e-6 "$rows" && says "$out" 'useless'
  follow 0 && says "$out" 'backward error'
  ! grep -q useless "$out"
  expect 'the advice does not help'
  printf '1\n0\n' >"$work/first.txt"
  run 5 bicgstab -b "$work/first.txt" "$work/nilpotent.mtx"
  says "$out" 'seen 1 row has no entries but 0, the first is 2: the matrix is singular' 'try a least-squares solver'
  matrix zeros.mtx 'coordinate real general' '3 3 5' '1 2 1' '2 1 3' '2 3 1e-9' '3 2 2' '3 3 1e-12'
  run 2 bicgstab -n 1 --rhs random:3 "$work/zeros.mtx"
  says "$out" '2 diagonal elements are 0, the first in row 1' '--fallback direct'
  run 0 bicgstab $system
  ! grep -qE '^  (seen|try|or) ' "$out"
  expect 'advice for a solve that did not fail'
}

check_doubtful
check_stop
check_running_off
check_extremes
check_check
check_scores
check_order
check_defects
check_time_limit
check_advice
report
