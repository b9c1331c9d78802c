#!/bin/sh
# A disk that becomes full, and pipes without a reader: an error, exit code 8, the older file untouched, no partial file.
. tests/cli/lib.sh

matrix graph.mtx 'coordinate pattern general' '3 3 4' '1 2' '1 3' '2 1' '3 1'
graph=$work/graph.mtx

# In a room of its own with a file system of 64 KiB: what fits and what does not, as a list of what went wrong.
on_small_disk() {
  cat >"$work/small.sh" <<'END'
mount -t tmpfs -o size=64k none "$1" || exit 99
cd "$1" || exit 99
try() { # exit code, program, output, option...
  wanted=$1 program=$2 output=$3
  shift 3
  for old in no yes; do
    rm -f "$output" ${filling:+"$filling"}
    [ $old = no ] || echo old >"$output"
    [ -z "$filling" ] || head -c 65536 /dev/zero >$filling 2>"$work/small.err"
    "$BUILD/$program" -d cpu "$@" >"$work/small.out" 2>"$work/small.err"
    code=$?
    [ $code = "$wanted" ] || echo "$program $*: exit code $code, not $wanted"
    [ "$wanted" = 8 ] || continue
    grep -q "^$program: $output: cannot .*: No space left on device" "$work/small.err" || {
      echo "$program $*: stderr does not say why"
      cat "$work/small.err"
    }
    [ $old = no ] || [ "$(cat "$output")" = old ] || echo "$program $*: the older file has changed"
    [ $old = yes ] || [ ! -e "$output" ] || echo "$program $*: a part is there"
    rm -f "$output"
    [ "$(ls -A)" = "$filling" ] || echo "$program $*: left behind: $(ls -A)"
  done
}
filling=
try 0 bicgstab x.mtx -q -o x.mtx gen:stencil:n=8
rm -f x.mtx
try 8 bicgstab x.mtx -q -o x.mtx gen:stencil:n=20
try 8 pagerank saved.wrm -q --save-binary saved.wrm gen:web:n=20000
filling=filling
for option in -o --json --report --history --save-binary; do try 8 pagerank x -q $option x "$graph"; done
try 8 spmv x -q --batches 1 --seconds 0 -k cpu_csr --json x "$graph"
# Lines are appended until the disk is full: each is whole.
rm -f filling
lines=0
while "$BUILD/bicgstab" -d cpu -q --jsonl lines.jsonl gen:stencil:n=4 2>"$work/small.err"; do lines=$((lines + 1)); done
grep -q '^bicgstab: lines.jsonl: cannot write it: No space left on device' "$work/small.err" || cat "$work/small.err"
[ $lines -gt 2 ] && [ "$(grep -c '^{.*}$' lines.jsonl)" = $lines ] && [ -z "$(tail -c 1 lines.jsonl)" ] ||
  echo "after $lines lines of JSON the file has a part of one"
END
  mkdir "$work/small"
  for enter in 'unshare -m' 'unshare -rm'; do
    # shellcheck disable=SC2086
    BUILD=$BUILD work=$work graph=$graph $enter sh "$work/small.sh" "$work/small" >"$out" 2>"$err"
    code=$?
    [ $code = 0 ] && return
  done
  return 1
}

check_small_disk() {
  command='outputs on a disk of 64 KiB'
  if on_small_disk; then
    is_empty "$out"
  else
    skip 1 'no file system of 64 KiB can be mounted here'
  fi
}

# spmv as the other programs (outputs.sh, binary.sh).
check_spmv() {
  quick='-p f64 --batches 1 --seconds 0 -k cpu_csr'
  for place in '/dev/full=No space left on device' "$work/no/file=No such file or directory" "$work=Is a directory"; do
    # shellcheck disable=SC2086
    run 8 spmv -q $quick --json "${place%%=*}" "$graph"
    says "$err" "spmv: ${place%%=*}: cannot " "${place#*=}"
  done
  for arguments in "$quick $graph" "$quick -q --json - $graph" --help --list-backends --list-generators --version; do
    call 8 sh -c "exec '$BUILD/spmv' -d cpu $arguments >/dev/full"
    says "$err" 'spmv: standard output'
  done
}

# A pipe that no process reads any longer: SIGPIPE ends the program (141), or where that is ignored it ends with an error. A
# named pipe that is opened to read and write has a reader until that descriptor is closed.
check_closed_pipe() { # program, arguments...
  command="$* | (no reader)"
  exec 3<>"$work/pipe" 4>"$work/pipe" 3>&-
  if [ -z "$ignores_pipe" ]; then
    "$BUILD/$@" >&4 2>"$err" 4>&-
    code=$?
    [ $code = 141 ]
    expect "exit code $code, not 141"
    is_empty "$err"
  fi
  (trap '' PIPE && exec "$BUILD/$@" >&4 2>"$err" 4>&-)
  code=$?
  [ $code = 8 ]
  expect "SIGPIPE ignored: exit code $code, not 8"
  says "$err" "$1: standard output"
}

check_closed_pipes() {
  mkfifo "$work/pipe"
  ignores_pipe=$(grep -s '^SigIgn:.*[13579bdf][0-9a-f]\{3\}$' /proc/self/status)
  [ -z "$ignores_pipe" ] || skip 1 'SIGPIPE is ignored here, which a shell cannot change'
  for output in -o --json --report --history --save-binary; do check_closed_pipe pagerank -d cpu -q $output - "$graph"; done
  check_closed_pipe pagerank -d cpu "$graph"
  check_closed_pipe bicgstab -d cpu -k cpu_csr,reference gen:stencil:n=4
  check_closed_pipe spmv -d cpu -p f64 --batches 1 --seconds 0 -k cpu_csr "$graph"
  check_closed_pipe spmv -d cpu -p f64 --batches 1 --seconds 0 -k cpu_csr -q --json - "$graph"
  for program in pagerank bicgstab spmv; do
    for action in --help --version --list-backends --list-generators; do check_closed_pipe $program $action; done
  done
}

check_small_disk
check_spmv
check_closed_pipes
report
