#!/bin/sh
# A signal during a solve ends the iteration: exit code 130, and the iterate is written. Before, it ends the program. The
# program runs in the foreground, since a shell has others ignore SIGINT, and is told apart by /proc.
. tests/cli/lib.sh

matrix swap.mtx 'coordinate pattern general' '2 2 2' '1 2' '2 1'
matrix first.mtx 'array real general' '2 1' 1 0
folder=$work/folder answer=$work/folder/answer.mtx
mkdir "$folder"

# Mass that goes back and forth between two pages, and hardly any that jumps: the power method needs over 1e11 iterations.
endless="pagerank --method power -x $work/first.mtx --damping 0.9999999999 -n 1e15 $work/swap.mtx"
# A plane with 490000 points whose coefficients jump, neither scaled nor preconditioned: conjugate gradients need over 100000
# iterations.
long='bicgstab --method cg --scale none -n 1e15 gen:jump:n=700'

sleeps() { # process: does it sleep, and catch signals?
  catches_signals "$1" && grep -qs '^State:.*S' "/proc/$1/status"
}

# Waits, 300 s at least before it gives up, until this is true of the program.
wait_until() { # catches_signals or sleeps
  tries=0
  until [ -s "$work/pid" ] && "$1" "$(cat "$work/pid")" || [ $tries -ge 6000 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
}

# Waits until the program solves, then for the given seconds, and sends the signal.
interrupt() { # signal, seconds
  wait_until catches_signals
  sleep "$2"
  kill -s "$1" "$(cat "$work/pid")"
}

# The command with its process number in $work/pid.
call_known() { # exit code, program, arguments...
  wanted=$1 program=$2
  shift 2
  # shellcheck disable=SC2016
  call "$wanted" sh -c 'echo $$ >"$0"; exec "$@"' "$work/pid" "$BUILD/$program" -d cpu "$@"
}

interrupted() { # signal, seconds into the solve, program, arguments...
  rm -f "$work/pid"
  interrupt "$1" "$2" &
  shift 2
  call_known 130 "$@"
  wait
}

check_iterate() { # signal
  # shellcheck disable=SC2086
  interrupted "$1" 0.1 $endless -o "$answer" --json "$folder/report.json" --history "$folder/history.csv" \
    --report "$folder/report.html"
  says "$out" 'not converged (interrupted) after'
  says "$answer" ': interrupted, '
  element "$answer" 1 "1 - $(values "$answer" | sed -n 2p)" 1e-12
  says "$folder/report.json" '"exit_code": 130' '"outcome": "interrupted"'
  says "$folder/report.html" '<p class="verdict">Interrupted</p>' 'not converged (interrupted) after' '</html>'
  [ "$(wc -c <"$folder/report.html")" -lt 300000 ]
  expect 'the page is larger than 300 kB'
  run 2 pagerank -n 1 -x "$answer" --damping 0.9999999999 "$work/swap.mtx"
  # shellcheck disable=SC2086
  interrupted "$1" 0.1 $long -q -o "$answer"
  is_empty "$out"
  [ "$(grep -vc '^%' "$answer")" = 490001 ]
  expect 'the iterate has not 490000 values'
  [ "$(find "$folder" -type f | wc -l)" = 4 ]
  expect 'something else was left in the folder'
  rm "$folder"/*
}

# The later backends of the list are not begun, and the exit code is that of an interruption.
check_list() {
  # shellcheck disable=SC2086
  interrupted TERM 0.1 $endless -k cpu_csr,reference -o "$answer"
  says "$out" '! cpu_csr: interrupted' 'reference' 'interrupted before it began'
  says "$answer" ': interrupted, '
  # The first one is done by then, and solves again and again.
  interrupted TERM 1.5 pagerank -k cpu_csr,reference --repeat 1e6 --json "$folder/report.json" gen:chain:scale=10
  says "$out" 'interrupted before it began'
  says "$folder/report.json" '"program": "pagerank", "exit_code": 130'
  rm "$folder"/*
}

# Factors that fill 300 elements of a row take many seconds. No preconditioner is applied then, and the solve ends at once.
check_preparation() { # signal
  filling='bicgstab --precond ilut:drop=0:fill=300 gen:stencil:n=300,points=5' early='ended early, by a signal or at the time limit'
  # shellcheck disable=SC2086
  interrupted "$1" 0.2 $filling -o "$answer" --json "$folder/report.json"
  says "$folder/report.json" '"outcome": "interrupted"' "$early, and no preconditioner is applied"
  says "$answer" ': interrupted, '
  # shellcheck disable=SC2086
  run 2 $filling --time-limit 0.5 --json "$folder/report.json"
  says "$folder/report.json" '"outcome": "time-limit"' "$early, and no preconditioner is applied"
  rm "$folder"/*
}

check_reading() { # signal, exit code
  rm -f "$work/pid" "$answer"
  mkfifo "$work/fifo"
  { head -n 1 "$work/swap.mtx" && sleep 0.1 && kill -s "$1" "$(cat "$work/pid")"; } >"$work/fifo" &
  call_known "$2" pagerank -o "$answer" "$work/fifo"
  wait
  is_empty "$out"
  [ "$(find "$folder" -type f | wc -l)" = 0 ]
  expect 'a run that was ended while it read left a file'
  rm "$work/fifo"
}

# A named pipe as an output, which no process reads: the program sleeps until one does.
check_unread_pipe() {
  mkfifo "$work/unread"
  rm -f "$work/pid"
  { wait_until sleeps && kill -s TERM "$(cat "$work/pid")"; } &
  call_known 130 bicgstab -q -o "$work/unread" gen:stencil:n=4
  wait
  says "$err" "bicgstab: $work/unread: interrupted while it waited for a reader"
  rm "$work/unread"
}

# The limit on CPU time sends SIGXCPU every second, and nohup has SIGHUP ignored.
check_limit_and_nohup() {
  # shellcheck disable=SC2086
  call 130 sh -c 'ulimit -S -t 1 && exec "$@"' sh "$BUILD/${endless%% *}" -d cpu -q -o "$answer" ${endless#* }
  says "$answer" ': interrupted, '
  rm -f "$work/pid"
  interrupt HUP 0.1 &
  # shellcheck disable=SC2086,SC2016
  call 2 sh -c 'trap "" HUP; echo $$ >"$0"; exec "$@"' "$work/pid" "$BUILD/bicgstab" -d cpu -q --time-limit 1 ${long#* }
  wait
}

if [ ! -e /proc/self/status ]; then
  skip 1 'no /proc, which tells when a program solves'
elif ignores_interrupts; then
  skip 1 'SIGINT is ignored here, as in the background of a shell'
else
  check_iterate INT
  check_reading INT 130
fi
if [ -e /proc/self/status ]; then
  check_iterate TERM
  check_iterate HUP
  check_iterate XCPU
  check_unread_pipe
  check_limit_and_nohup
  check_list
  check_preparation TERM
  check_reading TERM 143
fi
report
