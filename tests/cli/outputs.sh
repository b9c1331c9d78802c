#!/bin/sh
# What the programs write: -o, --json, --history, the report; whole or not at all; and what happens when it cannot be
# written (exit 8).
. tests/cli/lib.sh

matrix graph.mtx 'coordinate pattern general' '3 3 4' '1 2' '1 3' '2 1' '3 1'
matrix identity.mtx 'coordinate real general' '3 3 3' '1 1 1' '2 2 1' '3 3 1'
matrix turn.mtx 'coordinate real general' '2 2 2' '1 2 1' '2 1 -1'
matrix vector.mtx 'array real general' '3 1' 0.1 -2.5e-7 0.30000000000000004
graph=$work/graph.mtx system=gen:stencil:n=6
folder=$work/folder
mkdir "$folder"

holds_only() { # names in the folder
  [ "$(cd "$folder" && find . -mindepth 1 -maxdepth 1 | sed 's|^./||' | sort | paste -sd ' ')" = "$1" ]
  expect "the folder does not hold just '$1'"
}

is_json() { # file
  if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$1" 2>/dev/null
    held=$?; expect "$(basename "$1") is not valid JSON" "$held"
  else
    skip 1 'python3 is missing, which checks JSON'
  fi
}

check_reads_back() {
  run 0 pagerank -o "$folder/scores.mtx" "$graph"
  says "$out" 'converged in'
  run 0 pagerank -n 1 -x "$folder/scores.mtx" "$graph" # a first guess that has converged
  run 0 pagerank -n 1 --personalize "$folder/scores.mtx" --damping 0 "$graph"
  run 0 bicgstab -o "$folder/x.mtx" $system
  run 0 bicgstab -x "$folder/x.mtx" $system
  says "$out" 'converged in 0 iterations'
  run 0 bicgstab -b "$work/vector.mtx" -o "$folder/same.mtx" "$work/identity.mtx"
  says "$out" "b = $work/vector.mtx"
  values "$work/vector.mtx" >"$work/given"
  values "$folder/same.mtx" >"$work/got"
  same 'a right-hand side and its solution with the identity' "$work/given" "$work/got"
  run 0 bicgstab -b "$folder/same.mtx" -q -o "$folder/again.mtx" "$work/identity.mtx"
  values "$folder/again.mtx" >"$work/got"
  same 'a vector written, read and written' "$work/given" "$work/got"
  holds_only 'again.mtx same.mtx scores.mtx x.mtx'
  rm "$folder"/*
}

# The result alone on standard output, and nothing is drawn on what is no terminal.
check_standard_output() {
  for program in pagerank bicgstab; do
    for form in '-o -' '-o-' '--output=-'; do
      # shellcheck disable=SC2086
      run 0 "$program" $form "$work/identity.mtx"
      head -n 1 "$out" | grep -qx '%%MatrixMarket matrix array real general'
      expect 'standard output does not begin with a banner'
      [ "$(grep -vc '^%' "$out")" = 4 ]
      expect 'standard output has more than a size and three values'
      says "$err" 'converged in' 'verified in full'
      ! grep -q "$(printf '[\r\033]')" "$err"
      expect 'something is drawn on stderr'
    done
    run 0 "$program" -q -o - "$work/identity.mtx"
    is_empty "$err"
  done
  run 0 bicgstab -q -o - -b "$work/vector.mtx" "$work/identity.mtx"
  values "$out" | cmp -s - "$work/given"
  expect 'the vector is another one'
}

check_whole_or_nothing() {
  echo old >"$folder/x.mtx" && chmod 640 "$folder/x.mtx"
  refuses 3 'cannot be opened' bicgstab -o "$folder/x.mtx" "$work/none.mtx"
  refuses 1 'unknown option' bicgstab -o "$folder/x.mtx" --frobnicate $system
  run 4 bicgstab -q -k cusparse -o "$folder/x.mtx" $system
  echo old | cmp -s - "$folder/x.mtx"
  expect 'a run without an answer changed the file'
  run 2 bicgstab -n 1 -o "$folder/x.mtx" $system
  grep -q 'max-iterations, 1 iteration$' "$folder/x.mtx"
  expect 'the file was not replaced'
  find "$folder/x.mtx" -perm 640 | grep -q .
  expect 'the file has other permissions than before'
  holds_only x.mtx
  rm "$folder/x.mtx"
  small="ulimit -f 1; exec '$BUILD/bicgstab' -d cpu -q"
  if sh -c "$small $system" >"$out" 2>&1; then
    call 8 sh -c "$small -o '$folder/x.mtx' gen:stencil:n=12"
    says "$err" "$folder/x.mtx: cannot write it: File too large"
    holds_only ''
  else
    skip 3 'the program does not run where files are small, as under a sanitizer'
  fi
}

# Every output that cannot be written ends with 8 and a sentence that names it, before anything is read.
check_unwritable() {
  for option in -o --json --report --history; do
    refuses_output "$option" /dev/full 'No space left on device'
    refuses_output "$option" "$work/no/folder/file" 'No such file or directory'
    refuses_output "$option" "$folder" 'Is a directory'
    refuses_output "$option" "$graph/file" 'Not a directory'
  done
  run 8 bicgstab -o "$work/no/folder/file" "$work/none.mtx"
  if [ "$(id -u)" = 0 ]; then
    skip 2 'root may write into every folder'
  else
    chmod 555 "$folder"
    refuses_output -o "$folder/x.mtx" 'Permission denied'
    chmod 755 "$folder"
  fi
}

refuses_output() { # option, path, reason
  run 8 pagerank -q "$1" "$2" "$graph"
  grep -qF "pagerank: $2: cannot " "$err" && grep -qF "$3" "$err"
  expect "stderr does not name $2 and '$3'"
}

# Prints nothing itself: the report is what cannot be written.
check_full_streams() {
  for arguments in "$graph" "-k cpu_csr,merbit $graph" '--help' '--list-backends' '--version'; do
    call 8 sh -c "exec '$BUILD/pagerank' -d cpu $arguments >/dev/full"
    says "$err" 'pagerank: standard output'
  done
  call 8 sh -c "exec '$BUILD/pagerank' -d cpu -o - $graph >/dev/full"
  says "$err" 'pagerank: standard output: cannot write it: No space left on device'
  call 8 sh -c "exec '$BUILD/pagerank' -d cpu -o - $graph >&-"
  call 0 sh -c "exec '$BUILD/pagerank' -d cpu -q -o '$folder/x.mtx' $graph >&-"
  values "$folder/x.mtx" | wc -l | grep -qx 3
  expect 'with standard output closed the file is not whole'
  rm -f "$folder/x.mtx"
}

# A pipe that its reader closes: the program ends by SIGPIPE (141) or, where it ignores the signal, with 8.
check_broken_pipe() {
  command='pagerank -o - | head -n 1'
  { "$BUILD/pagerank" -d cpu -q -o - gen:web:n=20000; echo $? >"$work/status"; } 2>"$err" | head -n 1 >"$out"
  grep -qxE '141|8' "$work/status"
  held=$?; expect "exit code $(cat "$work/status"), not 141 or 8" "$held"
  (trap '' PIPE; "$BUILD/pagerank" -d cpu -q -o - gen:web:n=20000; echo $? >"$work/status") 2>"$err" | head -n 1 >"$out"
  grep -qx 8 "$work/status"
  held=$?; expect "SIGPIPE ignored: exit code $(cat "$work/status"), not 8" "$held"
  says "$err" 'pagerank: standard output: cannot write it'
}

check_json() {
  for program in pagerank bicgstab; do
    run 0 "$program" -k cpu_csr,merbit --json "$work/report.json" --history "$work/history.csv" "$work/identity.mtx"
    is_json "$work/report.json"
    says "$work/report.json" '"schema": 1' "\"program\": \"$program\"" '"exit_code": 0' '"nrows": 3' \
      '"backend": "cpu_csr"' '"backend": "merbit"' '"outcome": "converged"' '"level": "full"' '"status": "WR_EUNAVAILABLE"'
  done
  is_json "$work/report.json"
  says "$work/report.json" '"change": null' '"bound": null'
  run 2 bicgstab -n 2 --json "$work/report.json" $system
  is_json "$work/report.json"
  says "$work/report.json" '"exit_code": 2' '"outcome": "max-iterations"' '"iterations": 2'
  cp "$graph" "$work/odd \"name\" \\.mtx"
  run 4 pagerank -k merbit --json "$work/report.json" "$work/odd \"name\" \\.mtx"
  is_json "$work/report.json"
  says "$work/report.json" '"exit_code": 4' 'odd \"name\" \\.mtx"'
  run 4 pagerank -q -k merbit --json - "$graph"
  is_json "$out"
}

# What an iteration moves: its multiplies, and 15 vectors of BiCGSTAB's operations or the out-degrees of PageRank. The first
# apply_bytes are those of a multiply, others those of a preconditioner.
check_traffic() { # multiplies, vectors, n, program, arguments...
  multiplies=$1 vectors=$2 n=$3
  shift 3
  run 0 "$@" -p f64 -d cpu --json "$work/report.json"
  awk -F'[:,]' -v m="$multiplies" -v bytes=$((vectors * n * 8)) '
    /"apply_bytes"/ && !apply { apply = $2 }
    /"iteration_bytes"/ { all = $2 }
    END { exit !(apply > 0 && all == m * apply + bytes) }' "$work/report.json"
  expect "$*: an iteration's bytes are not those of $multiplies multiplies and $vectors vectors"
}

check_history() {
  run 2 pagerank -n 7 --history "$work/history.csv" "$graph"
  [ "$(head -n 1 "$work/history.csv")" = 'backend,iteration,measure' ]
  expect 'the history has another heading'
  awk -F, 'NR > 1 && !($1 == "cpu_csr" && $2 == NR - 1 && NF == 3 && $3 > 0) { wrong = 1 } END { exit wrong || NR != 8 }' \
    "$work/history.csv"
  expect 'the history is not one line for each of 7 iterations'
  run 2 pagerank -n 7 --check-every 3 --history "$work/history.csv" "$graph"
  [ "$(cut -d, -f 2 "$work/history.csv" | paste -sd ' ')" = 'iteration 3 6 7' ]
  expect 'with --check-every 3 the history has not the iterations 3 6 7'
  run 0 bicgstab -q --history - $system
  awk -F, 'END { exit !($3 > 0 && $3 < 1e-5) }' "$out"
  expect 'the last residual of a solve that converged is not small'
  run 0 pagerank -k cpu_csr,reference --history "$work/history.csv" "$graph"
  [ "$(cut -d, -f 1 "$work/history.csv" | uniq | paste -sd ' ')" = 'backend cpu_csr reference' ]
  expect 'the history is not first of cpu_csr, then of reference'
  run 0 bicgstab -k cpu_bsr:r=2:c=2,cpu_bsr:schedule=sequential,cusparse,cpu_bsr --history "$work/history.csv" $system
  [ "$(cut -d, -f 1 "$work/history.csv" | uniq | paste -sd ' ')" = \
    'backend cpu_bsr:r=2:c=2 cpu_bsr:schedule=sequential cpu_bsr' ]
  expect 'the history does not tell runs of one backend by their knobs'
}

# Standard output has one user: with --json - or --history - the report goes to stderr, as with -o -.
check_report_steps_aside() {
  run 0 pagerank --json - "$graph"
  is_json "$out"
  says "$err" 'converged in'
  run 0 pagerank --history - "$graph"
  ! grep -qvE '^(backend|cpu_csr),' "$out"
  expect 'standard output has more than the history'
  refuses 1 'only one of --output, --json, --jsonl, --report, --history, --save-binary and the best nodes' pagerank -o - --json - "$graph"
}

check_reads_back
check_standard_output
check_whole_or_nothing
check_unwritable
check_full_streams
check_broken_pipe
check_json
check_traffic 2 15 216 bicgstab -k cpu_csr gen:stencil:n=6
check_traffic 1 1 500 pagerank -k cpu_csr gen:web:n=500
check_history
check_report_steps_aside
report
