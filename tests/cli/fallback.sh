#!/bin/sh
# bicgstab --fallback direct: systems that the iterations do not solve, matrices that are singular, limits of time and memory,
# interrupts. A build without KLU refuses it by name.
. tests/cli/lib.sh

# Rows 1 to 40 tie their unknown to the next one and the one before it; all diagonal elements are 0.
{
  echo '%%MatrixMarket matrix coordinate real general'
  awk 'BEGIN { n = 40; print n, n, 2 * n
    for (i = 1; i <= n; i++) { print i, i % n + 1, 2 + i % 5; print i, (i + n - 2) % n + 1, i % 3 ? 0.5 : -0.25 } }'
} >"$work/ring.mtx"
matrix singular.mtx 'coordinate real general' '3 3 6' '1 1 1' '1 2 2' '2 1 2' '2 2 4' '3 3 1' '3 1 1'
matrix structural.mtx 'coordinate real general' '3 3 4' '1 1 1' '2 1 2' '3 2 3' '3 3 4'
matrix b.mtx 'array real general' '3 1' 1 5 2
ring=$work/ring.mtx json=$work/report.json answer=$work/x.mtx

if ! has_klu; then
  for file in "$ring" gen:stencil:n=4; do
    refuses 4 '--fallback direct: a direct solver needs KLU of SuiteSparse, which this build lacks: install libsuitesparse-dev' \
      bicgstab --fallback direct "$file"
  done
  run 2 bicgstab -n 1 "$ring"
  says "$out" 'or a direct solver: install libsuitesparse-dev (KLU), make windrow again, and use --fallback direct'
  run 2 bicgstab -n 1 --fallback none "$ring"
  skip 30 'this build has no KLU, so nothing is solved directly'
  report
fi

solved() { # arguments...
  rm -f "$answer"
  run 0 bicgstab -n 1 --fallback direct -o "$answer" --json "$json" "$@"
  says "$out" 'solved directly, after' 'direct LU factors by KLU:' 'the iterations had ended with' 'true residual'
  says "$json" '"exit_code": 0' '"direct": {' '"by": "KLU"' '"used": true' '"met_tolerance": true' '"outcome": "converged"'
  says "$answer" ', then directly by KLU in f64'
}

check_solved() {
  run 2 bicgstab -n 1 "$ring" # the iterations alone
  says "$out" 'not converged (max-iterations) after 1 iteration' 'or a direct solver: --fallback direct, which takes a moment'
  for options in '-p f64' '-p f32' '--scale none' '--scale equilibrate' '--scale match' '--stop backward' '--verify sample:3' \
    '--verify device' '--deterministic' '-t 1e-14' '--method idr' '--repeat 2' '--time-limit 1000'; do
    # shellcheck disable=SC2086
    solved $options "$ring"
    for i in 1 20 40; do element "$answer" $i 1 1e-6; done
  done
  run 0 bicgstab -q -n 1 --fallback direct "$ring"
  is_empty "$out"
  run 0 bicgstab --verify off -n 1 --fallback direct "$ring" && says "$out" 'solved directly, after' 'unverified'
}

check_not_needed() {
  run 0 bicgstab --fallback direct --json "$json" gen:stencil:n=8
  says "$out" 'converged in'
  says "$json" '"direct": null'
  ! grep -q KLU "$out"
  expect 'a direct solver where the iterations converge'
  run 2 bicgstab -n 1 --json "$json" "$ring"
  says "$json" '"direct": null'
}

check_table() {
  run 0 bicgstab -n 1 -k cpu_csr,reference --fallback direct "$ring"
  says "$out" 'cpu_csr: solved directly: LU factors by KLU:' 'reference: solved directly: '
  run 2 bicgstab -n 1 -k cpu_csr,reference --fallback direct -b "$work/b.mtx" "$work/singular.mtx"
  says "$out" '! cpu_csr: ' 'LU factors by KLU did not help: the matrix is singular'
}

# A singular matrix is named by KLU, and the best iterate stays the answer.
check_singular() {
  for scale in none equilibrate; do
    rm -f "$answer"
    run 2 bicgstab -n 1 --scale $scale --fallback direct -o "$answer" --json "$json" -b "$work/b.mtx" "$work/singular.mtx"
    says "$out" 'not converged (max-iterations) after 1 iteration' \
      'direct LU factors by KLU did not help: the matrix is singular: no pivot other than 0 was left; row ' \
      'is, but for rounding, a combination of others'
    says "$out" 'as many iterations as by default'
    says "$json" '"exit_code": 2' '"used": false' '"singular": true' '"outcome": "breakdown"' '"why": "the matrix is singular'
    says "$answer" 'max-iterations, 1 iteration'
    ! grep -q KLU "$answer"
    expect 'the iterate is said to be a direct answer'
    run 2 bicgstab -n 1 --scale $scale --fallback direct -b "$work/b.mtx" "$work/structural.mtx"
    says "$out" 'the matrix is structurally singular: no more than 2 of its 3 rows can be matched'
  done
}

# What f64 does not attain: the better of both answers, and the outcome says that it does not suffice.
check_tolerance() {
  run 2 bicgstab -n 1 -t 1e-30 --rhs random:5 --fallback direct -o "$answer" --json "$json" gen:stencil:n=6
  says "$out" 'not converged (stagnated) after 1 iteration' 'LU factors by KLU did not suffice: the residual stays at' \
    'a larger tolerance would help; '
  says "$json" '"used": true' '"met_tolerance": false'
  run 0 bicgstab --check "$answer" -t 1e-14 --rhs random:5 gen:stencil:n=6
}

check_limits() {
  run 2 bicgstab --time-limit 1e-9 --fallback direct "$ring"
  says "$out" 'not converged (time-limit)' 'LU factors by KLU did not help: the time limit has passed'
  for options in '--check x.mtx' '--check x.mtx -n 3'; do
    # shellcheck disable=SC2086
    refuses 1 '--check solves nothing: leave out --fallback' bicgstab --fallback direct $options "$ring"
  done
  refuses 1 "--fallback: 'lu' is not one of none|direct" bicgstab --fallback lu "$ring"
}

# A cube of 40^3 points takes KLU half a minute and more than 0.6 GB, and an iteration some milliseconds.
large=gen:stencil:n=40

check_memory() {
  if ! sh -c "ulimit -v 500000 && '$BUILD/bicgstab' --version" >/dev/null 2>&1; then
    skip 3 'this build does not run in 500 MB of address space'
    return
  fi
  call 2 sh -c 'ulimit -v 500000; exec "$@"' sh "$BUILD/bicgstab" -d cpu --threads 1 -n 1 --fallback direct --json "$json" $large
  says "$out" 'LU factors by KLU did not help: out of memory: ' 'asked for the factors of KLU; ' '(ulimit)'
  says "$json" '"exit_code": 2' '"used": false'
}

# The first signal ends the program with the iterate, although KLU cannot be stopped, which has a second thread. The thread
# sanitizer has one of its own.
check_interrupt() {
  rm -f "$work/pid" "$answer"
  case ${SANITIZE:-} in *thread*) threads=3 ;; *) threads=2 ;; esac
  {
    until [ -s "$work/pid" ] && grep -qs "^Threads:[[:blank:]]*$threads\$" "/proc/$(cat "$work/pid")/status"; do
      sleep 0.05
    done
    kill -s TERM "$(cat "$work/pid")"
  } &
  # shellcheck disable=SC2016
  call 130 sh -c 'echo $$ >"$0"; exec "$@"' "$work/pid" "$BUILD/bicgstab" -d cpu -n 1 --fallback direct -o "$answer" $large
  wait
  says "$out" 'not converged (interrupted) after 1 iteration' 'LU factors by KLU did not help: it was interrupted'
  [ "$(values "$answer" | wc -l)" = 64000 ]
  expect 'the iterate was not written'
  for limit in 0.5 5 50; do # a busy machine may take longer for the iteration
    run 2 bicgstab -n 1 --time-limit $limit --fallback direct $large
    grep -q 'after 1 iteration' "$out" && break
  done
  says "$out" 'not converged (max-iterations) after 1 iteration' 'did not help: the time limit has passed'
}

check_solved
check_not_needed
check_table
check_singular
check_tolerance
check_limits
check_memory
check_interrupt
report
