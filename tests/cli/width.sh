#!/bin/sh
# No line of a report is wider than the stream, 80 columns at least, and lines are broken only between
# words, and not between a number and its unit.
. tests/cli/lib.sh

graph=gen:web:n=2000,dmax=50 system=gen:stencil:n=8
every=$("$BUILD/pagerank" --list-backends | sed -n 's/^\([a-z][a-z_0-9]*\)  *[CG]PU .*/\1/p' | paste -sd, -)
long=cpu_bsr:r=3:c=2:schedule=intra_row_nowait:chunks=17,cpu_bsr:r=4:c=4:schedule=granular_row

# The options that -v repeats are lines of an option file, and longer where their values are.
lines() { # file
  awk '/^# effective options/ { option = 1 } /^$/ { option = 0 } !option' "$1"
}

fits() { # columns, file
  lines "$2" | LC_ALL=C awk -v most="$1" 'length > most { print; wide = 1 } END { exit wide }' >"$work/wide"
  held=$?; expect "$(basename "$2") is wider than $1 columns: $(cat "$work/wide")" "$held"
  lines "$2" | awk '
    number && /^ +(ns|us|ms|s|B|kB|MB|GB|TB)[^a-z]/ { print before; print; broken = 1 }
    { before = $0; number = /(^| )[0-9.]+$/ }
    END { exit broken }' >"$work/broken"
  held=$?; expect "$(basename "$2") has a number and its unit on two lines: $(cat "$work/broken")" "$held"
}

# In widths that COLUMNS asks for, and at last in 80 columns, where nothing says how wide the stream is.
reports() { # exit code, program, arguments...
  for columns in 200 100; do
    export COLUMNS=$columns
    run "$@"
    unset COLUMNS
    fits $columns "$out"
  done
  run "$@"
  fits 80 "$out"
}

check_single() {
  reports 0 pagerank $graph
  reports 0 pagerank --verify off --top 3 gen:chain:scale=0
  reports 0 bicgstab -v --repeat 2 --precond jacobi $system
  reports 2 bicgstab -n 2 -v -k cpu_bsr:r=3:c=2:schedule=intra_row_nowait:chunks=17 $system
  reports 0 bicgstab "$work/$1"
}

check_tables() {
  reports 0 pagerank --top 2 -k cpu_csr $graph
  reports 0 pagerank --top 2 -k cpu_csr,reference $graph
  reports 0 pagerank --top 2 -k "$every" $graph
  reports 0 bicgstab -v -k "$long,$every" $system
  reports 2 bicgstab -n 1 --precond none --verify off -k "$long,$every" "$work/$1"
}

check_spmv() {
  quick='--batches 7 --seconds 0'
  # shellcheck disable=SC2086
  {
    reports 0 spmv $quick -p f64 $system
    reports 0 spmv $quick -p f64 gen:chain:scale=0
    reports 0 spmv $quick -v --cold --sectors -k "$long,$every" $system "$work/$1"
  }
}

# The same letters, however wide: only a list of choices longer than a line is broken elsewhere than at blanks.
check_texts() {
  for program in pagerank bicgstab spmv; do
    for action in --help --list-backends --list-generators; do
      reports 0 $program $action
      tr -d ' \n' <"$out" >"$work/words"
      export COLUMNS=200
      run 0 $program $action
      unset COLUMNS
      tr -d ' \n' <"$out" >"$work/wide_words"
      same "the words of $program $action in 80 and 200 columns" "$work/words" "$work/wide_words"
    done
  done
}

# What a program says where standard output and standard error are a terminal of so many columns.
on_terminal() { # columns, exit code, program, arguments...
  columns=$1
  shift
  cat >"$work/typed" <<end
stty cols $columns
shift
exec "$BUILD/\$@"
end
  wanted=$1 command="$* on a terminal of $columns columns"
  shift
  script -qec "sh '$work/typed' - $*" "$work/session" </dev/null >"$out" 2>&1
  code=$?
  [ $code = "$wanted" ]
  expect "exit code $code, not $wanted"
  tr -d '\r' <"$out" >"$work/screen"
  fits "$((columns > 80 ? columns : 80))" "$work/screen"
}

check_terminal() {
  if ! script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    skip 1 'there is no script (bsdutils), which gives a program a terminal'
    return
  fi
  for columns in 60 80 120; do
    on_terminal $columns 0 pagerank -d cpu -k cpu_csr,reference,cusparse --top 0 $graph
    on_terminal $columns 0 bicgstab --help
    on_terminal $columns 4 bicgstab -d cpu -k cusparse $system
    on_terminal $columns 1 bicgstab -k cpu_bsr:r=3:c=2:schedule=no_such_schedule_as_this_is_there $system
    on_terminal $columns 3 bicgstab -d cpu "$work/$1.that/does/not/exist/and/has/a/name/longer/than/a/line.mtx"
  done
  on_terminal 80 1 pagerank -p mixed --method idr $graph
  [ "$(wc -l <"$work/screen")" = 3 ]
  expect 'a message longer than a line is not on two, before a hint of one line'
}

# A name of more than 80 characters.
name=a_file_with_a_name_that_is_longer_than_a_line_is_wide_and_yet_names_nothing_but_a_matrix.mtx
matrix $name 'coordinate real general' '2 2 2' '1 1 2' '2 2 4'
check_single $name
check_tables $name
check_spmv $name
check_texts
check_terminal $name
report
