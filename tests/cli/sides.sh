#!/bin/sh
# bicgstab -b with several columns: one read, plan, scaling and preconditioner, an outcome for each column. Against single runs.
. tests/cli/lib.sh

system=gen:fem:n=5 # 375 rows
sides=$work/b.mtx

# Five columns of very different sizes, one of them 0; $work/b1.txt to b5.txt are the same one by one.
make_sides() { # rows
  printf '%%%%MatrixMarket matrix array real general\n%s 5\n' "$1" >"$sides"
  for k in 1 2 3 4 5; do
    awk -v n="$1" -v k=$k 'BEGIN {
      for (i = 1; i <= n; i++) print (k == 3 ? 0 : sin(i * k) + 0.1 * k) (k == 5 ? "e200" : k == 4 ? "e-150" : "") }' >"$work/b$k.txt"
    cat "$work/b$k.txt" >>"$sides"
  done
}

# Each column of x meets the tolerance by --check. Where columns are not iterated together it has the bits of a run of its own.
check_single() { # exit code wanted, options...
  code_wanted=$1
  shift
  run "$code_wanted" bicgstab -q "$@" -b "$sides" -o "$work/all.txt" "$system"
  for k in 1 2 3 4 5; do
    "$BUILD/bicgstab" -k cpu_csr -q "$@" -b "$work/b$k.txt" -o "$work/one.txt" "$system" 2>"$err"
    cut -d ' ' -f $k "$work/all.txt" >"$work/column.txt"
    case $* in
      *idr*) same "column $k and a run of its own ($*)" "$work/one.txt" "$work/column.txt" ;;
      *-n*) ;; # not converged, or by the direct solver
      *) run 0 bicgstab -q "$@" -b "$work/b$k.txt" --check "$work/column.txt" "$system" ;;
    esac
  done
}

check_options() {
  for precond in none jacobi ilu0 auto; do check_single 0 --precond $precond; done
  check_single 0 --method idr
  check_single 0 -p f32 -t 1e-4
  check_single 0 --scale equilibrate
  check_single 0 --stop backward -t 1e-10
  check_single 2 -n 2
  has_klu && check_single 0 -n 2 --fallback direct
  system=gen:circuit:n=400 # whose rows are matched
  make_sides "$(rows_of)"
  check_single 0
  system=gen:fem:n=5
  make_sides "$(rows_of)"
}

rows_of() {
  "$BUILD/bicgstab" -q -n 1 -d cpu -o "$work/x.txt" "$system" 2>/dev/null
  wc -l <"$work/x.txt" | tr -d ' '
}

check_report() {
  run 0 bicgstab -b "$sides" --json "$work/report.json" "$system"
  says "$out" '5 right-hand sides, the worst: converged in' "b = $sides, 5 columns" 'columns 1: converged in' \
    '3: converged in 0 iterations: ||b - A x|| = 0 ||b||' '5: converged in'
  [ "$(grep -c '"outcome": "converged"' "$work/report.json")" = 6 ]
  expect 'the report does not have the outcomes of five columns and of the worst'
  says "$out" 'iterated together, 8 at once at most'
  grep -q '"together": "iterated together' "$work/report.json"
  expect 'the report does not say that columns were iterated together'
  run 0 bicgstab --method idr -b "$sides" "$system"
  says "$out" 'one after the other, as idr iterates one at a time'
  run 2 bicgstab -n 2 -b "$sides" "$system"
  says "$out" 'the worst: not converged (max-iterations) after 2 iterations' '3: converged in 0 iterations' \
    '4: max-iterations in 2 iterations'
  run 0 bicgstab -k cpu_csr,reference -b "$sides" -o "$work/two.npy" "$system"
  says "$out" "b = $sides, 5 columns" 'answers differ by at most'
}

# Written in every form; NumPy and Matrix Market arrays are read as columns again.
check_forms() {
  run 0 bicgstab -q -b "$sides" -o "$work/x.mtx" "$system"
  run 0 bicgstab -q -b "$sides" -o "$work/x.npy" "$system"
  run 0 bicgstab -q -b "$sides" -o "$work/x.csv" "$system"
  [ "$(head -n 1 "$work/x.csv")" = id,value1,value2,value3,value4,value5 ]
  expect 'the table has other names'
  for form in mtx npy; do
    run 0 bicgstab -q -b "$work/x.$form" -o "$work/again.$form.txt" "$system"
  done
  same 'solutions by way of .mtx and .npy' "$work/again.mtx.txt" "$work/again.npy.txt"
  run 0 bicgstab -x "$work/x.npy" -b "$sides" "$system" # from the solution on
  says "$out" '1: converged in 0 iterations' '5: converged in 0 iterations'
  tail -n +2 "$work/x.csv" | cut -d , -f 2 >"$work/guess.txt"
  run 0 bicgstab -x "$work/guess.txt" -b "$sides" "$system" # of the first one, for all
  says "$out" '1: converged in 0 iterations' '5: converged in'
}

check_refused() {
  for option in "--history $work/h.csv" '--repeat 2' "--check $work/b1.txt"; do
    # shellcheck disable=SC2086 # an option and its value
    refuses 1 "is for one right-hand side: $sides has 5" bicgstab -b "$sides" $option "$system"
  done
  matrix two.mtx 'array real general' '375 2' $(awk 'BEGIN { for (i = 0; i < 750; i++) print 1 }')
  refuses 3 'has 2 first guesses' bicgstab -b "$sides" -x "$work/two.mtx" "$system"
  matrix short.mtx 'array real general' '3 2' 1 2 3 4 5 6
  refuses 3 'a vector has one column, not a matrix of 3 x 2' bicgstab -b "$work/short.mtx" "$system"
  refuses 3 'a vector has one column, not a matrix of 3 x 2' pagerank --personalize "$work/short.mtx" gen:chain:scale=1
  matrix empty.mtx 'coordinate real general' '2 2 1' '1 1 1'
  matrix ones.mtx 'array real general' '2 2' 1 0 1 1
  run 3 bicgstab -b "$work/ones.mtx" "$work/empty.mtx"
  says "$err" 'right-hand side 2: '
}

make_sides "$(rows_of)"
# -b again: the columns of all files, with the bits that one file with all of them gives.
check_files() {
  run 0 bicgstab -q --precond jacobi -b "$sides" -o "$work/all.txt" "$system"
  head -n 2 "$sides" | sed 's/5$/2/' >"$work/two.mtx"
  cat "$work/b2.txt" "$work/b3.txt" >>"$work/two.mtx"
  run 0 bicgstab --precond jacobi -b "$work/b1.txt" -b "$work/two.mtx" --rhs-file "$work/b4.txt" -b "$work/b5.txt" \
    -o "$work/files.txt" "$system"
  says "$out" '5 right-hand sides' "b = $work/b1.txt and 3 more files, 5 columns"
  same 'the solutions for one file and for four' "$work/all.txt" "$work/files.txt"
  refuses 3 'none.txt: cannot be opened' bicgstab -b "$work/b1.txt" -b "$work/none.txt" "$system"
  refuses 1 '--check is for one right-hand side: --rhs-file has 2' bicgstab -b "$work/b1.txt" -b "$work/b2.txt" \
    --check "$work/b1.txt" "$system"
  refuses 1 'standard input' bicgstab -b - -b - "$system"
}

check_options
check_report
check_files
check_forms
check_refused
report
