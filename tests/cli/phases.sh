#!/bin/sh
# A signal at any moment of a run: while the matrix is read, while it is saved, while the answer is written, and at moments
# swept over the whole run. Each output file is then complete or absent, and no other file is left.
. tests/cli/lib.sh
. tests/cli/common.sh
old= # a file that is in the folder before

# Two signals of one kind become one while the first is still pending.
wait_until_taken() {
  while grep -q '^ShdPnd:.*[1-9a-f]' "/proc/$process/status"; do :; done
}

# Waits until the program has reached the point, and holds it there while the first of the signals is sent.
strike() { # is_open or is_writing, file or pattern, signals...
  hold "$1" "$2" || return
  shift 2
  for signal in "$@"; do
    kill -s "$signal" "$process"
    kill -s CONT "$process"
    wait_until_taken
  done
} 2>/dev/null

# Tries until the signals reach the program at that point; it may be too fast a few times. $old: a file that exists before.
meet() { # is_open or is_writing, file or pattern, signals, program, arguments...
  doing=$1 place=$2 signals=$3
  shift 3
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    rm -rf "$folder" "$work/pid" && mkdir "$folder"
    [ -z "$old" ] || echo old >"$folder/$old"
    # shellcheck disable=SC2086
    strike "$doing" "$place" $signals &
    known "$@"
    wait
    [ $code = 0 ] || [ $code = 2 ] || break
  done 2>/dev/null # a shell may tell of processes that were killed
}

struck() { # exit code, is_open or is_writing, file or pattern, signals, program, arguments...
  wanted=$1
  shift
  meet "$@"
  case $code in
    0 | 2)
      skip 1 'this machine is too busy to meet the program at what it does'
      rm -rf "$folder"/*
      return 1
      ;;
  esac
  [ $code = "$wanted" ]
  expect "exit code $code, not $wanted"
}

holds_only() { # names
  [ "$(ls -A "$folder" | sort | paste -sd ' ' -)" = "$1" ]
  held=$?; expect "the folder holds '$(ls -A "$folder" | paste -sd ' ' -)', not '$1'" "$held"
}

number_of() { # signal: the exit code of a program that it ended
  case $1 in INT) echo 130 ;; KILL) echo 137 ;; *) echo 143 ;; esac
}

check_reading() {
  old=
  for signal in TERM INT KILL; do
    for program in pagerank bicgstab; do
      struck "$(number_of $signal)" is_open "$text" $signal \
        $program -n 2 --save-binary "$folder/saved.wrm" -o "$folder/x.mtx" "$text" && holds_only ''
    done
  done
  struck 143 is_open "$text" 'TERM TERM' spmv -k cpu_csr --batches 1 --json "$folder/report.json" "$text" && check_whole
}

# After SIGKILL the system removes a file only if it has no name; some file systems have no such files.
has_nameless_files() {
  case $(stat -f -c %T "$folder" 2>/dev/null) in
    ext* | xfs | btrfs | tmpfs) return ;;
  esac
  meet is_writing "$folder/*(deleted)" TERM pagerank -n 2 --save-binary "$folder/saved.wrm" "$large"
  [ $code = 143 ]
}

# An older file is replaced in two steps; between them the new one is complete under another name.
holds_the_old_one() {
  grep -qx old "$folder/saved.wrm"
  expect 'the older file has changed'
  for name in "$folder"/.windrow-*.partial; do
    [ ! -e "$name" ] || { same 'a file about to replace another and a whole one' "$name" "$work/large.wrm" && rm "$name"; }
  done
  holds_only saved.wrm
}

check_saving() {
  run 2 pagerank -q -n 2 --save-binary "$work/large.wrm" "$large"
  for signal in TERM INT KILL; do
    for old in other.wrm saved.wrm; do
      struck "$(number_of $signal)" is_writing "$folder/*" $signal \
        pagerank -n 2 --save-binary "$folder/saved.wrm" "$large" || continue
      case $old in other.wrm) holds_only other.wrm ;; *) holds_the_old_one ;; esac
    done
  done
}

# While an answer is written the first signal is caught and the answer completed; a second signal of its kind ends the program.
check_writing() {
  old=
  if struck 130 is_writing "$folder/*" TERM pagerank -n 3 --verify off -o "$folder/x.mtx" "$large"; then
    holds_only x.mtx
    values "$folder/x.mtx" | wc -l | grep -qx 1000000
    expect 'the answer has not a million values'
  fi
  struck 143 is_writing "$folder/*" 'TERM TERM' pagerank -n 3 --verify off -o "$folder/x.mtx" "$large" && holds_only ''
}

# The files of an interrupted run are complete, as those of any run.
check_whole() {
  for name in "$folder"/* "$folder"/.windrow*; do
    case ${name##*/} in
      saved.wrm) same 'an interrupted and a whole run' "$name" "$work/saved.wrm" ;;
      x.mtx) values "$name" | wc -l | grep -qx 60000 && expect 'the answer is not whole' ;;
      report.json) [ "$(tail -c 2 "$name")" = '}' ] && expect 'the report is not whole' ;;
      history.csv) [ "$(tail -n 1 "$name" | tr -cd , )" = ,, ] && expect 'the history is not whole' ;;
      '*' | '.windrow*') ;;
      *) false || expect "${name##*/} was left behind" ;;
    esac
  done
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

sweep() { # signal, its exit code, program, arguments...
  signal=$1 number=$2
  shift 2
  begin=$(milliseconds)
  known "$@" --save-binary "$work/saved.wrm" # how long it takes, and what it saves
  step=$((($(milliseconds) - begin) / 10 + 1))
  for k in 1 2 3 4 5 6 7 8 9 10; do
    (
      sleep "$(awk "BEGIN { print $k * $step / 1000 }")"
      kill -s "$signal" "$(cat "$work/pid")"
    ) 2>/dev/null &
    known "$@" --save-binary "$folder/saved.wrm" -o "$folder/x.mtx" --json "$folder/report.json" --history "$folder/history.csv"
    wait
    echo $code | grep -qxE "$number|130|0|2"
    expect "$signal after $((k * step)) ms: exit code $code"
    check_whole
    rm -rf "$folder" && mkdir "$folder"
  done
}

text=$work/text.mtx large=gen:uniform:n=1000000,degree=20
awk 'BEGIN { print "%%MatrixMarket matrix coordinate pattern general\n1000000 1000000 1500000"
  for (k = 1; k <= 1500000; k++) print k % 1000000 + 1, 1000000 - k % 999983 }' >"$text"
if ignores_interrupts; then
  skip 1 'SIGINT is ignored here, as in the background of a shell'
  report
fi
check_reading
if has_nameless_files; then
  check_saving
else
  skip 6 'this file system has no files without a name: a signal leaves a .windrow-*.partial'
fi
check_writing
sweep TERM 143 pagerank -n 40 gen:web:n=60000
sweep INT 130 pagerank -n 40 gen:web:n=60000
report
