#!/bin/sh
# How a run ends: every exit code that can be had without a card and without a defect. 7 (a wrong multiply) and 9 (a
# device that fails in mid-run) cannot; 8 is in outputs.sh, 130 in signals.sh, 1 and 3 in errors.sh.
. tests/cli/lib.sh

matrix graph.mtx 'coordinate pattern general' '3 3 4' '1 2' '1 3' '2 1' '3 1'
matrix swap.mtx 'coordinate pattern general' '2 2 2' '1 2' '2 1'
matrix turn.mtx 'coordinate real general' '2 2 2' '1 2 1' '2 1 -1'
matrix nilpotent.mtx 'coordinate real general' '2 2 1' '1 2 1' # A maps the residual (1, 0) to 0
matrix zero.mtx 'coordinate real general' '2 2 0'
matrix large.mtx 'coordinate real general' '2 2 2' '1 1 1e300' '2 2 1'
matrix first.mtx 'array real general' '2 1' 1 0
matrix far.mtx 'array real general' '2 1' 1e300 -1e300
matrix deceiving.mtx 'coordinate real general' '2 2 4' '1 1 1.4267320568177375' '1 2 1.8024103068486483' \
  '2 1 -0.04946939502386516' '2 2 -0.06249536977774123'
matrix single.mtx 'coordinate real general' '1 1 1' '1 1 1e20'
matrix tiny.mtx 'array real general' '1 1' 1e-310
matrix small.mtx 'coordinate real general' '1 1 1' '1 1 1e-200'
matrix huge.mtx 'array real general' '1 1' 1e200
matrix columns.mtx 'coordinate real general' '2 2 4' '1 1 1e-25' '1 2 1' '2 1 1e25' '2 2 1'
graph=$work/graph.mtx answer=$work/answer.mtx
system=gen:stencil:n=6

writes() { # outcome
  [ -e "$answer" ] && grep -q "^% by .*: $1, [0-9]* iterations\$" "$answer"
  held=$?; expect "$(basename "$answer") is missing, or does not say '$1'" "$held"
  rm -f "$answer"
}

check_converged() {
  run 0 pagerank -o "$answer" "$graph"
  says "$out" 'converged in' 'L1 error <=' '(asked for 1e-9)' '3 x 3, 4 nonzeros' 'verified in full'
  writes converged
  run 0 bicgstab -o "$answer" $system
  says "$out" 'converged in' '||b - A x|| =' '(asked for 1e-8)' '216 x 216' 'b = A times ones' 'verified in full'
  writes converged
  run 0 pagerank -p f32 "$graph" && says "$out" '(asked for 1e-5)' ' in f32: '
  run 0 bicgstab -p f32 $system && says "$out" '(asked for 1e-5)' ' in f32: '
  run 0 bicgstab "$work/zero.mtx" && says "$out" 'converged in 0 iterations'
  run 0 bicgstab --atol 1e9 $system && says "$out" 'converged in 0 iterations'
  run 0 bicgstab --rhs random:3 $system && says "$out" 'b = A times random numbers'
}

check_not_converged() {
  run 2 pagerank -n 7 -o "$answer" "$graph"
  says "$out" 'not converged (max-iterations) after 7 iterations'
  writes max-iterations
  run 2 bicgstab -n 3 -o "$answer" $system
  says "$out" 'not converged (max-iterations) after 3 iterations'
  writes max-iterations
  run 2 pagerank -n 4 --check-every 3 "$graph" # the last iteration is always checked
  says "$out" 'after 4 iterations'
  run 2 pagerank --method power -p f32 -t 1e-12 -x "$work/first.mtx" -o "$answer" "$work/swap.mtx"
  says "$out" 'not converged (stagnated)'
  writes stagnated
  run 2 bicgstab -t 1e-19 --rhs random:1 -o "$answer" $system
  says "$out" 'not converged (stagnated)' 'why' 'is what f64 attains here' 'a larger tolerance would help' 'TOO MUCH'
  writes stagnated
  for type in f32 f64; do # a residual of 0 in plain arithmetic, and 0.3 ||b|| in truth
    command="bicgstab -p $type deceiving.mtx"
    "$BUILD/bicgstab" -d cpu -p $type -b "$work/first.mtx" "$work/deceiving.mtx" >"$out" 2>"$err"
    code=$?
    [ $code = 2 ] || [ $code = 5 ]
    expect "exit code $code, not 2 or 5"
    says "$out" 'not converged'
  done
  run 2 bicgstab -b "$work/tiny.mtx" -o "$answer" "$work/single.mtx"
  says "$out" 'not converged (stagnated)' 'element 1 of the solution is below the normal numbers of f64' 'true residual 1,'
  writes stagnated
}

# The default method of a symmetric matrix, with Jacobi, too; of another one; and one that was asked for.
check_methods() {
  run 0 bicgstab --precond jacobi gen:aniso:n=9 && says "$out" 'of cg:'
  run 0 bicgstab gen:aniso:n=9 && says "$out" 'of cg:'
  run 0 bicgstab gen:stencil:n=5 && says "$out" 'of bicgstab:'
  run 0 bicgstab --precond ilu0 -v --json "$work/ilu.json" gen:aniso:n=9 && says "$out" 'of cg:' 'ILU(0): ' 'applying it moves' &&
    says "$work/ilu.json" '"preconditioner": {' '"prepare_s": '
  run 0 bicgstab --precond ilut:fill=5 --method bicgstab gen:aniso:n=9 && says "$out" 'ilut:fill=5, ' 'ILUT: '
  run 1 bicgstab --precond ilut --method cg gen:aniso:n=9 && says "$err" '--method cg needs a preconditioner that is symmetric'
  run 2 bicgstab --precond ilu0 --time-limit 1e-9 gen:aniso:n=9 && says "$out" 'had passed before the first iteration'
  run 0 bicgstab --method idr --precond jacobi gen:aniso:n=9 && says "$out" 'of idr:'
}

# Each method of pagerank, and what is said of the automatic choice.
check_ranking_methods() {
  for method in idr gauss-seidel; do
    run 0 pagerank --method $method --damping 0.99 --json "$work/rank.json" gen:web:n=1000 && says "$out" "of $method:" &&
      says "$work/rank.json" "\"method\": \"$method\"" '"method_changes": ""' '"method_choice": ""'
  done
  run 0 pagerank --method chebyshev gen:road:side=9 && says "$out" 'of chebyshev:'
  run 1 pagerank --method chebyshev gen:web:n=100 && says "$err" 'a mirror image of the same weight'
  run 0 pagerank -v --json "$work/rank.json" gen:web:n=100 && says "$out" 'power, as its steps converge fast enough' &&
    says "$work/rank.json" '"method": "power"' '"method_choice": "power, as '
  run 0 pagerank -v gen:road:side=9 && says "$out" 'of chebyshev:' 'chebyshev, as each link has its mirror image'
  matrix slow.mtx 'coordinate pattern general' '6 6 6' '1 2' '2 1' '3 4' '4 3' '5 1' '5 6'
  run 0 pagerank --damping 0.99999 "$work/slow.mtx" && says "$out" 'of several methods' 'power; from iteration '
}

check_breakdown() {
  run 5 bicgstab -b "$work/first.mtx" -o "$answer" "$work/nilpotent.mtx"
  says "$out" 'not converged (breakdown)' 'why'
  writes breakdown
  refuses 3 "$work/zero.mtx: row 1 has no entries but 0, and the right-hand side is 1 there" \
    bicgstab -b "$work/first.mtx" -o "$answer" "$work/zero.mtx"
  run 5 bicgstab -p f32 --precond jacobi --scale none -o "$answer" "$work/columns.mtx"
  says "$err" 'the value 1e+50 in row 2, column 1 is beyond f32: use -p f64'
  [ ! -e "$answer" ]
  expect 'an answer that does not exist was written'
  run 5 bicgstab -b "$work/huge.mtx" "$work/small.mtx"
  says "$out" 'not converged (non-finite) after 1 iteration' 'element 1 of the solution is beyond f64: scale'
}

# Scaled so that nothing overflows, and corrected so that f32 does not bound the accuracy.
check_scaled() {
  run 0 bicgstab "$work/turn.mtx" # no residual polynomial of one step makes a residual smaller
  run 0 bicgstab -p f32 -t 1e-12 -o "$answer" $system
  says "$out" '1 continuation from the true residual' '(asked for 1e-12)'
  writes converged
  run 0 bicgstab -p f32 --scale none "$work/large.mtx"
  says "$out" 'A scaled by 2^-997' 'f32 holds 1 value below 1.2e-38 with few digits or as 0'
  for matrix in 1e160 1e-160; do
    matrix scaled.mtx 'coordinate real general' '2 2 2' "1 1 $matrix" "2 2 3${matrix#1}"
    run 0 bicgstab "$work/scaled.mtx" && says "$out" 'A scaled by 2^'
    run 0 bicgstab -p f32 "$work/scaled.mtx"
  done
  run 0 bicgstab -p f32 "$work/large.mtx"
  says "$out" 'equilibrated: the largest elements of columns differ by up to 2^996'
  run 0 bicgstab -p f32 --precond jacobi "$work/columns.mtx"
  matrix swapped.mtx 'coordinate real general' '3 3 3' '1 2 5' '2 3 7' '3 1 1e-3'
  run 0 bicgstab --scale match "$work/swapped.mtx"
  says "$out" 'converged in 1 iteration' 'rows matched to columns (3 moved) and scaled to a diagonal of 1'
  matrix deficient.mtx 'coordinate real general' '3 3 4' '1 1 5' '2 1 7' '3 3 1' '3 2 2'
  run 0 bicgstab "$work/deficient.mtx"
  says "$out" 'A is singular: its structural rank is 1 less than its rows' 'row 2 and 1 other have elements in 1 column only'
  run 0 bicgstab -x "$work/far.mtx" "$work/both.mtx"
  says "$out" 'note' 'the first guess was replaced by 0'
}

check_memory() {
  for program in pagerank bicgstab; do
    refuses 6 'out of memory: ' "$program" gen:uniform:n=2000000000,degree=1000000000
    says "$err" 'asked for the entries of gen:uniform'
  done
  if ! sh -c "ulimit -v 2000000 && '$BUILD/bicgstab' --version" >"$out" 2>&1; then
    skip 3 'the program does not start in little memory, as under a sanitizer'
    return
  fi
  call 6 sh -c "ulimit -v 2000000 && exec '$BUILD/bicgstab' -d cpu -o '$answer' gen:stencil:n=400"
  says "$err" 'out of memory: ' 'asked for'
  [ ! -e "$answer" ]
  expect 'an answer that does not exist was written'
}

# Backends that are not available decide the exit code only if no other has run.
check_lists() {
  run 0 pagerank -k merbit,cpu_csr,reference -o "$answer" "$graph"
  says "$out" 'not available: merbit: ' 'gave its verified answer first' 'answers differ by at most'
  says "$answer" 'by cpu_csr in f64: converged'
  run 2 bicgstab -k cpu_csr,cusparse -n 2 $system
  says "$out" '! cpu_csr: max-iterations' 'not available: cusparse: ' 'no backend gave an answer'
  run 4 pagerank -k merbit,cusparse "$graph"
  says "$out" 'not available: merbit' ' cusparse: '
  run 4 bicgstab -q -k merbit,cusparse $system
  is_empty "$out"
  says "$err" 'bicgstab: merbit: ' 'bicgstab: cusparse: '
  run 5 bicgstab -k merbit,cpu_csr,cpu_csr -b "$work/first.mtx" "$work/nilpotent.mtx"
  run 4 pagerank -k cusparse -o "$work/none.mtx" "$graph"
  says "$err" 'pagerank: cusparse: '
  run 4 pagerank -d cuda -k cpu_csr,reference "$graph"
  says "$out" 'not available: cpu_csr, reference: --device cuda excludes backends that run on the CPU'
  [ ! -e "$work/none.mtx" ]
  expect 'an answer that does not exist was written'
}

check_verify() { # program, operand, rows
  run 0 "$1" --verify full "$2" && says "$out" "verified in full, on the host: $3 rows multiplied right"
  run 0 "$1" --verify sample:2 "$2" && says "$out" 'in a sample: 2 rows multiplied right'
  run 0 "$1" --verify sample:1 "$2" && says "$out" 'in a sample: 1 row multiplied right'
  run 0 "$1" --verify sample:999999 "$2" && says "$out" "in a sample: $3 rows multiplied right"
  run 0 "$1" --verify sample "$2" && says "$out" "in a sample: $3 rows multiplied right"
  run 0 "$1" --verify device "$2" && says "$out" 'verified on the device alone: '
  run 0 "$1" --verify auto "$2" && says "$out" 'verified in full'
  run 0 "$1" --verify off "$2" && says "$out" ', unverified' 'this answer was not checked (--verify off)' '(unverified)'
}

check_counts() {
  for program in pagerank bicgstab; do
    run 0 "$program" --repeat 4 "$work/both.mtx" && says "$out" '; a second solve, warm: '
    run 0 "$program" "$work/both.mtx"
    ! grep -q 'warm' "$out"
    expect 'a warm time without --repeat'
  done
  run 0 pagerank --check-every 10 "$graph"
  grep -qE 'converged in [0-9]+0 iterations' "$out"
  expect 'it did not converge after a multiple of ten iterations'
  for program in pagerank bicgstab; do # 0 is the same as no option
    run 0 "$program" -q -o "$work/usual.mtx" "$work/both.mtx"
    for option in -n --check-every --time-limit; do
      run 0 "$program" -q -o "$answer" $option 0 "$work/both.mtx" && same "$option 0" "$work/usual.mtx" "$answer"
    done
  done
  run 0 pagerank --stop change -t 1e-6 "$graph" && says "$out" 'last change' '(asked for 1e-6), L1 error <='
}

table() { # the rows of the table of ranks
  sed -n '/^ *rank  *node  *score$/,/^ *order /p' "$out" | grep -Ev '^ *(rank|order) '
}

ranks() { # how many are printed
  [ "$(table | wc -l)" = "$1" ]
  expect "there are not $1 ranks"
}

check_top() {
  run 0 pagerank "$graph" && ranks 3
  run 0 pagerank --top 2 "$graph" && ranks 2
  run 0 pagerank --top 99 "$graph" && ranks 3
  run 0 pagerank --top 1000000000 "$graph" && ranks 3
  run 0 pagerank gen:web:n=100,dmax=20 && ranks 10
  run 0 pagerank --top 0 "$graph"
  ! grep -qE '^ *rank  *node' "$out"
  expect 'ranks are printed although none were asked for'
  run 0 pagerank --top 3 "$graph" # equal scores by number
  [ "$(table | awk '{ print $(NF - 1) }' | paste -sd ' ')" = '1 2 3' ]
  expect 'nodes 2 and 3, which are equal, are not in order behind 1'
}

matrix both.mtx 'coordinate real general' '2 2 3' '1 1 1' '2 2 1' '1 2 2'
check_converged
check_not_converged
check_methods
check_ranking_methods
check_breakdown
check_scaled
check_memory
check_lists
check_verify pagerank "$graph" 3
check_verify bicgstab $system 216
check_counts
check_top
report
