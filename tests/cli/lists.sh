#!/bin/sh
# pagerank and bicgstab on a list of matrices: a report each, a summary, the worst exit code, lines of JSON, and what is refused.
. tests/cli/lib.sh

matrix graph.mtx 'coordinate pattern general' '3 3 4' '1 2' '1 3' '2 1' '3 1'
matrix wide.mtx 'coordinate real general' '2 5 3' '1 1 2' '1 5 -1' '2 3 0.5'
graph=$work/graph.mtx list=$work/list.txt lines=$work/lines.jsonl

ends_with() { # the last line, file
  [ "$(tail -n 1 "$2")" = "$1" ]
  held=$?; expect "the last line of $(basename "$2") is not '$1'" "$held"
}

list_of() { # matrices...
  printf '%s\n' "$@" >"$list"
}

holds() { # expression of r, the reports of the lines
  if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; r = [json.loads(line) for line in open(sys.argv[1])]; sys.exit(not eval(sys.argv[2]))' \
      "$lines" "$1" 2>/dev/null
    held=$?; expect "$(basename "$lines"): not true: $1" "$held"
  else
    skip 1 'python3 is missing, which reads JSON'
  fi
}

# Each as by a call of its own: what is printed differs in times alone.
check_reports() {
  list_of gen:stencil:n=6 '  gen:fem:n=3   # blocks' '' '# nothing' gen:band:n=400
  rm -f "$lines"
  run 0 bicgstab --jsonl "$lines" "@$list"
  is_empty "$err"
  [ "$(grep -c '^converged in' "$out")" = 3 ]
  expect 'there is not a report for each matrix'
  ends_with '3 of 3 converged' "$out"
  says "$out" 'gen:stencil:n=6 in f64' 'gen:fem:n=3 in f64' 'gen:band:n=400 in f64'
  holds '[line["problem"]["source"] for line in r] == ["gen:stencil:n=6", "gen:fem:n=3", "gen:band:n=400"]'
  holds 'all(line["program"] == "bicgstab" and line["exit_code"] == 0 and len(line["runs"]) == 1 for line in r)'
  holds 'all("backend = \"auto\"" in line["settings"] for line in r)'
  cp "$lines" "$work/listed"
  rm "$lines"
  for matrix in gen:stencil:n=6 gen:fem:n=3 gen:band:n=400; do run 0 bicgstab -q --jsonl "$lines" $matrix; done
  for file in "$lines" "$work/listed"; do
    tr ',' '\n' <"$file" | grep -E '"(source|nnz|iterations|measure|outcome|restarts)"' >"$file.facts"
  done
  same 'the answers of a list and of single calls' "$lines.facts" "$work/listed.facts"
  run 0 bicgstab --json "$work/report.json" --jsonl "$lines" gen:fem:n=3
  [ "$(wc -l <"$lines")" = 4 ] && [ -s "$work/report.json" ]
  expect '--json and --jsonl are not both written'
  list_of "$graph" gen:road:side=9
  run 0 pagerank --top 1 -k cpu_csr,reference "@$list"
  [ "$(grep -cE '^cpu_csr +[0-9.]+ [num]?s' "$out")" = 2 ]
  expect 'there is not a table for each graph'
  run 0 pagerank -q --jsonl - "@$list"
  [ "$(wc -l <"$out")" = 2 ]
  expect 'standard output has not a line for each graph'
  is_empty "$err"
  run 0 pagerank --jsonl - "@$list"
  ends_with '2 of 2 converged' "$err"
  list_of gen:fem:n=3
  run 0 bicgstab "@$list"
  ! grep -q '1 of 1' "$out"
  expect 'a list of one has a summary'
}

# The others are solved all the same.
check_bad_matrices() {
  list_of gen:stencil:n=4 "$work/none.mtx" gen:nothing "$work/wide.mtx" gen:fem:n=3
  rm -f "$lines"
  run 3 bicgstab --jsonl "$lines" "@$list"
  says "$err" "bicgstab: $work/none.mtx: " 'bicgstab: gen:nothing: unknown family' "bicgstab: $work/wide.mtx: "
  [ "$(grep -c '^converged in' "$out")" = 2 ]
  expect 'a bad matrix keeps others from being solved'
  ends_with "2 of 5 converged; worst exit code 3: $work/none.mtx" "$out" # the first of two, and worse than 1
  holds '[line["exit_code"] for line in r] == [0, 3, 1, 3, 0]'
  holds '[line.get("status") for line in r] == [None, "WR_EINPUT", "WR_EUSAGE", "WR_EINPUT", None]'
  holds '"none.mtx" in r[1]["reason"] and r[1]["runs"] == [] and r[1]["problem"]["source"].endswith("none.mtx")'
  list_of gen:stencil:n=6 gen:chain:scale=2
  run 2 bicgstab -q -n 1 "@$list" # the worst of 2 and 0 or 2
  says "$err" 'bicgstab: cpu_csr: max-iterations'
  list_of gen:stencil:n=6
  run 4 bicgstab -q -k cusparse "@$list"
}

is_printable() { # file
  ! tr -d '\n' <"$1" | grep -q '[[:cntrl:]]'
  expect "$(basename "$1") has control characters"
}

check_refused() {
  list_of "$graph" gen:road:side=9
  refuses 1 '--json has the report of one matrix: with a list of them use --jsonl' pagerank --json x "@$list"
  for option in --output --report --history --save-binary --guess --personalize --seeds --check; do
    refuses 1 "$option is for one matrix: leave it out with a list of them" pagerank $option "$work/x.mtx" "@$list"
  done
  refuses 1 '--rhs-file is for one matrix: leave it out with a list of them' bicgstab -b "$work/x.mtx" "@$list"
  refuses 1 "one matrix at a time, or a list of them (@LIST): '$graph' is too many" pagerank "@$list" "$graph"
  refuses 1 '--check solves nothing: leave out --jsonl' pagerank --jsonl "$lines" --check "$work/x.mtx" "$graph"
  refuses 1 'would overwrite the list' pagerank --jsonl "$list" "@$list"
  refuses 1 'would overwrite the matrix' pagerank --jsonl "$graph" "@$list"
  refuses 1 'only one of --output, --json, --jsonl' pagerank --json - --jsonl - "$graph"
  refuses 8 "$work/no/lines" pagerank --jsonl "$work/no/lines" "@$list"
  if [ -w /dev/full ]; then
    run 8 pagerank --jsonl /dev/full "@$list"
    [ "$(grep -c '/dev/full: cannot write it' "$err")" = 1 ]
    expect 'the list went on after its output was lost'
  fi
  list_of - -
  refuses 1 'standard input (-) can be one of the inputs only, not 2 of them' pagerank "@$list"
  refuses 3 'none.txt: the list of matrices cannot be read: No such file or directory' pagerank "@$work/none.txt"
  refuses 3 'the list of matrices cannot be read: Is a directory' pagerank "@$work"
  : >"$list"
  refuses 3 'the list names no matrix' bicgstab "@$list"
  printf 'gen:stencil:n=3\ngen:\000stencil\n' >"$list"
  refuses 3 "$list:2: a NUL byte: a list of matrices is a text" bicgstab "@$list"
  refuses 3 '/dev/zero:1: a NUL byte' bicgstab @/dev/zero
  printf 'gen:\033[31mred:n=4\n' >"$list" # which would colour the terminal
  refuses 1 'gen: [31mred:n=4: gen:?[31mred: unknown family' pagerank "@$list"
  is_printable "$err"
}

# The first of two is interrupted, and the other one is not begun.
check_signal() {
  command='bicgstab with a list, ended by a signal'
  list_of gen:jump:n=700 gen:stencil:n=4 # neither scaled nor preconditioned the first one takes over 100000 iterations
  rm -f "$lines"
  "$BUILD/bicgstab" -d cpu --method cg --scale none -n 1e15 --jsonl "$lines" "@$list" >"$out" 2>"$err" &
  child=$!
  waited=0
  until catches_signals $child || [ $waited -ge 3000 ]; do
    sleep 0.1
    waited=$((waited + 1))
  done
  kill -TERM $child
  wait $child
  [ $? = 130 ]
  expect 'exit code is not 130'
  [ "$(wc -l <"$lines")" = 1 ] && grep -q '"outcome":"interrupted"' "$lines"
  expect 'there is not one line, that of the matrix which was interrupted'
  ends_with '0 of 2 converged; 1 not begun; worst exit code 130: gen:jump:n=700' "$out"
}

check_reports
check_bad_matrices
check_refused
if [ -e /proc/self/status ]; then check_signal; else skip 2 'no /proc, which shows when signals are caught'; fi
report
