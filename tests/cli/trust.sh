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
  run 0 bicgstab -t 1e-6 --scale none -o "$work/x.txt" --json "$json" "$rows"
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
  run 0 bicgstab -k cpu_csr,reference -t 1e-6 --scale none "$rows"
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
  run 2 bicgstab --check "$work/large.txt" "$work/large.mtx" && says "$out" '||b - A x|| = inf'
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
  for option in '-k cpu_csr' "-o $work/y.txt" "-x $work/ones.txt" "--history $work/h.csv" '--repeat 2' '--time-limit 9'; do
    # shellcheck disable=SC2086
    refuses 1 '--check solves nothing: leave out --' bicgstab $option --check "$work/ones.txt" "$identity"
  done
  refuses 1 '--check computes on the CPU: leave out --device' bicgstab -d cuda --check "$work/ones.txt" "$identity"
  refuses 1 'standard input (-) can be one of the inputs only' bicgstab --check - -
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
check_check
check_defects
check_time_limit
check_advice
report
