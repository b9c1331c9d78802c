#!/bin/sh
# Every option in every form, on the command line and in a file; what -v prints repeats the run.
. tests/cli/lib.sh

matrix graph.mtx 'coordinate pattern general' '3 3 4' '1 2' '1 3' '2 1' '3 1'
matrix vector.mtx 'array real general' '3 1' 1 2 3
settings=$work/settings conf=$work/conf
matrix both.mtx 'coordinate real general' '2 2 3' '1 1 1' '2 2 1' '1 2 2'
graph=$work/graph.mtx vector=$work/vector.mtx
printf '1 2\n1 3\n2 1\n3 1\n' >"$work/graph.el"
operand=$graph beside= # what else a command gets

# name, letter or -, value, whether quoted. What is asked of the card is not solved by cpu_csr, so every run is short.
both_options="backend k reference,cpu_csr quoted
device d cuda:3 quoted
precision p f32 plain
threads - 3 plain
deterministic - yes flag
tune-cache - $work/tuned quoted
no-graph - yes flag
no-resident - yes flag
tolerance t 1e-6 plain
max-iterations n 7 plain
check-every - 5 plain
patience - 2.5 plain
exchange - nccl plain
time-limit - 2.5 plain
guess x $vector quoted
output o $work/unwritten quoted
format - txt plain
input-format - mtx plain
columns - 1,2 quoted
header - no plain
separator - blank plain
ids - names plain
json - $work/report.json quoted
jsonl - $work/lines.jsonl quoted
report - $work/report.html quoted
history - $work/history.csv quoted
save-binary - $work/saved.wrm quoted
verify - sample:5 quoted
repeat - 3 plain"
pagerank_options="damping - 0.5 plain
method - idr plain
personalize - $vector quoted
edges - in plain
duplicates - sum plain
seeds - $work/graph.el quoted
top - 3 plain
stop - change plain"
bicgstab_options="rhs-file b $vector quoted
rhs - random:7 quoted
precond - ilu0:order=given quoted
method - idr plain
ell - 3 plain
scale - equilibrate plain
atol - 0.001 plain
stop - backward plain
fallback - $(if has_klu; then echo direct; else echo none; fi) plain"
elsewhere='gpus partition config verbose quiet list-backends list-generators version help' # tested below, and in parts_simt.sh and parts.sh
solves_nothing='check vectors' # tested in trust.sh; for --seeds alone, tested in sets.sh

# The effective options of a run that comes to no solve.
effective() { # program, arguments...
  program=$1
  shift
  # shellcheck disable=SC2086
  run 4 "$program" -v -k cpu_csr -d cuda "$@" $beside "$operand"
  sed '/^$/q' "$out" >"$settings"
}

# As above, but the option file decides on device and backend.
effective_by_file() { # program
  { echo 'verbose = yes' && echo 'backend = cpu_csr' && echo 'device = cuda' && echo "$2"; } >"$conf"
  # shellcheck disable=SC2086
  call 4 "$BUILD/$1" --config "$conf" $beside "$operand"
  sed '/^$/q' "$out" >"$settings"
}

has_line() { # line
  grep -qxF -- "$1" "$settings"
  expect "the effective options lack '$1'"
}

check_forms() { # program, name, letter, value, plain | quoted | flag
  line="$2 = $4" operand=$graph beside=
  case $2 in
    columns | header | separator | ids) operand=$work/graph.el ;; # of an edge list alone
    format) beside="--output $work/unwritten.txt" ;;              # refused without it
  esac
  [ "$5" != quoted ] || line="$2 = \"$4\""
  effective "$1" "--$2=$4" && has_line "$line"
  if [ "$5" = flag ]; then
    effective "$1" "--$2" && has_line "$line"
    effective "$1" "--$2" "--$2=no" && has_line "$2 = no"
  else
    effective "$1" "--$2" "$4" && has_line "$line"
  fi
  if [ "$3" != - ]; then
    effective "$1" "-$3" "$4" && has_line "$line"
    effective "$1" "-$3$4" && has_line "$line"
  fi
  effective_by_file "$1" "$line" && has_line "$line"
  effective_by_file "$1" "$2=$4 # a comment" && has_line "$line"
}

check_program() { # program, its own options
  printf '%s\n' "$both_options" "$2" >"$work/table"
  while read -r name letter value kind; do check_forms "$1" "$name" "$letter" "$value" "$kind"; done <"$work/table"
  call 0 "$BUILD/$1" --help
  sed -n 's/^ *\(-., \)\{0,1\}--\([a-z-]*\).*/\2/p' "$out" >"$work/names"
  while read -r name; do
    { cut -d ' ' -f 1 "$work/table" && echo "$elsewhere $solves_nothing" | tr ' ' '\n'; } | grep -qx -- "$name"
    expect "--$name is not tested here"
  done <"$work/names"
  for name in $(cut -d ' ' -f 1 "$work/table") $elsewhere; do
    grep -qE "^ *(-., )?--$name( |\$)" "$out"
    expect "--help lacks --$name"
  done
}

check_actions() { # program
  for form in --help -h --help=yes "--help $graph" '--version=no --help'; do
    # shellcheck disable=SC2086
    call 0 "$BUILD/$1" $form
    says "$out" "usage: $1 [options]"
  done
  for code in 0 1 2 3 4 5 6 7 8 9 130; do
    sed -n '/^Exit:/,/^$/p' "$out" | tr '\n' ' ' | grep -qE "[ ,]$code [a-z]"
    expect "--help does not explain exit code $code"
  done
  call 0 "$BUILD/$1" --version
  grep -qxE "$1 \(windrow\) [0-9]+\.[0-9]+\.[0-9]+" "$out"
  expect 'the version is not "PROGRAM (windrow) N.N.N"'
  call 0 "$BUILD/$1" --list-backends
  [ "$(grep -cE '^[a-z_0-9]+ +(CPU|GPU) ' "$out")" = "$(grep -c '^WR_BACKEND(' spmv/backends.def)" ]
  expect 'these are not the backends of backends.def'
  for name in reference cpu_csr cusparse merbit yaspmv; do
    [ "$(grep -cE "^$name " "$out")" = 1 ]
    expect "--list-backends does not have $name once"
  done
}

check_precedence() {
  echo 'damping = 0.5' >"$conf"
  effective pagerank --config "$conf" && has_line 'damping = 0.5'
  effective pagerank --config="$conf" --damping 0.7 && has_line 'damping = 0.7'
  effective pagerank --damping 0.7 --config "$conf" && has_line 'damping = 0.7'
  effective pagerank --damping 0.7 --damping 0.8 && has_line 'damping = 0.8'
  effective pagerank --damp 0.6 && has_line 'damping = 0.6' # as short as is clear
  run 4 pagerank "$graph" -d cuda -v -k cpu_csr --damping 0.4 # options may follow the matrix
  sed '/^$/q' "$out" >"$settings" && has_line 'damping = 0.4'
  printf '\n# nothing but this\n' >"$conf"
  effective pagerank --config "$conf" && has_line 'damping = 0.85'
}

check_quiet() {
  for program in pagerank bicgstab; do
    for form in -q --quiet; do
      run 0 "$program" $form "$work/both.mtx"
      is_empty "$out"
      is_empty "$err"
    done
  done
}

# -v once more, the program told nothing but what it printed: the same answer, bit for bit.
check_repeats() { # program, arguments...
  program=$1
  shift
  run 0 "$program" -v --json "$work/report.json" -o "$work/first.mtx" "$@"
  sed '/^$/q' "$out" >"$conf"
  sed -n 's/^  "settings": "\(.*\)",$/\1/p' "$work/report.json" | sed 's/\\n/\n/g; s/\\"/"/g' | sed '/^$/d' >"$work/json.conf"
  sed '/^#/d; /^$/d' "$conf" | cmp -s - "$work/json.conf"
  expect 'the options in the JSON report differ from those of -v'
  for last in "$@"; do :; done
  call 0 "$BUILD/$program" --config "$conf" -o "$work/second.mtx" "$last"
  same 'a run and its repetition by the options of -v' "$work/first.mtx" "$work/second.mtx"
  sed '/^$/q' "$out" | sed 's/second/first/' | cmp -s - "$conf"
  expect 'the effective options differ'
}

check_presets() {
  for preset in config/presets/*.conf; do
    for program in pagerank bicgstab; do run 0 "$program" --config "$preset" "$work/both.mtx"; done
  done
}

# The matrix chooses: blocks are worth their preparation only where there are some and enough multiplies.
check_auto() {
  run 0 bicgstab -k auto -v gen:fem:n=8
  says "$out" 'backend = "auto"' 'backend cpu_bsr on CPU' 'choice cpu_bsr has the least expected time for 200 multiplies'
  run 2 bicgstab -k auto -v -n 2 gen:fem:n=8
  says "$out" 'backend cpu_csr on CPU' 'for 4 multiplies' 'there is too little to do for another one to pay'
  printf 'gen:fem:n=8\ngen:stencil:n=30\n' >"$work/list.txt"
  run 0 bicgstab -k auto --json "$work/none.json" gen:stencil:n=30
  grep -q '"second": "cpu_bsr"' "$work/none.json"
  expect 'no second in JSON'
  run 0 bicgstab -k auto --jsonl "$work/auto.jsonl" "@$work/list.txt"
  [ "$(sed 's/.*"backend":"\([a-z_]*\)".*/\1/' "$work/auto.jsonl" | tr '\n' ' ')" = 'cpu_bsr cpu_csr ' ]
  expect 'each matrix of a list has a choice of its own'
  run 0 pagerank -k auto --json "$work/auto.json" "$work/both.mtx"
  grep -q '"chosen": {' "$work/auto.json"
  expect 'no choice in JSON'
  run 0 pagerank --json "$work/auto.json" "$work/both.mtx" # as without -k
  grep -q '"chosen": {' "$work/auto.json"
  expect 'without -k nothing is said of the choice'
  run 0 pagerank -k cpu_csr --json "$work/auto.json" "$work/both.mtx"
  grep -q '"chosen": null' "$work/auto.json"
  expect 'a choice in JSON that was not asked for'
  for list in auto,cpu_csr cpu_csr,auto auto:measure=1,cpu_csr; do
    run 1 bicgstab -k $list gen:stencil:n=6
    says "$err" '--backend: auto, which chooses a backend for a solve, stands alone'
  done
  run 0 bicgstab -k auto:measure=1 -v --json "$work/timed.json" gen:fem:n=8
  says "$out" 'backend = "auto:measure=1"' '; timed, a multiply took' 'taken with the choice; a multiply'
  grep -q '"timed_s": 0\.0*[1-9]' "$work/timed.json" && grep -q '"took_multiplies": [1-9]' "$work/timed.json"
  expect 'no times of both, or not what the run took, in JSON'
  grep -q '"timed_s": null' "$work/none.json"
  expect 'a time in JSON that was not asked for'
  run 1 bicgstab -k auto:measure=1 --deterministic gen:fem:n=8
  says "$err" 'auto:measure=1 chooses by a clock, so two runs may choose differently, which deterministic excludes'
  for knob in measure=2 measure= measur=1; do run 1 bicgstab -k auto:$knob gen:stencil:n=6; done
  run 1 spmv -k auto gen:stencil:n=6
  says "$err" 'auto, which chooses a backend for a solve'
}

check_program pagerank "$pagerank_options"
check_program bicgstab "$bicgstab_options"
check_actions pagerank
check_actions bicgstab
check_precedence
check_quiet
check_presets
check_auto
check_repeats pagerank -p f32 --damping 0.7 -t 1e-4 --edges in -x "$vector" --personalize "$vector" --threads 2 "$graph"
check_repeats bicgstab -t 1e-11 --rhs random:5 --precond jacobi -k reference gen:stencil:n=6
report
