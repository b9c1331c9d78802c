#!/bin/sh
# spmv: matrices of every kind, tables, JSON, what is refused and with which exit code.
# Needs: programs simt-programs
. tests/cli/lib.sh

matrix graph.mtx 'coordinate pattern general' '3 3 4' '1 2' '1 3' '2 1' '3 1'
matrix wide.mtx 'coordinate real general' '2 5 3' '1 1 2' '1 5 -1' '2 3 0.5'
matrix broken.mtx 'coordinate real general' '2 2 1' '1 3 1'
matrix huge.mtx 'coordinate real general' '1 1 1' '1 1 1e300'
graph=$work/graph.mtx wide=$work/wide.mtx json=$work/report.json
quick='--batches 1 --seconds 0' # the least that is measured

# A value of the report: a Python expression of r.
holds() { # expression
  if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$json" "$1" 2>/dev/null
    held=$?; expect "$(basename "$json"): not true: $1" "$held"
  else
    skip 1 'python3 is missing, which reads JSON'
  fi
}

spmv() { # exit code, arguments...
  wanted=$1
  shift
  # shellcheck disable=SC2086
  run "$wanted" spmv $quick "$@"
}

misuse() { # text, arguments...
  sentence=$1
  shift
  refuses 1 "$sentence" spmv "$@"
  grep -qx 'spmv --help shows the options' "$err"
  expect 'stderr does not point to --help'
}

check_table() {
  export COLUMNS=120
  spmv 0 --batches 8 --cold --sectors -v -k cpu_csr,reference gen:stencil:n=6
  unset COLUMNS
  is_empty "$err"
  says "$out" 'gen:stencil:n=6 in f32:' 'gen:stencil:n=6 in f64:' 'rows: 4 to 7 entries, ' 'none empty; matrix bandwidth 36' \
    'batches = 8' 'least time: ' 'sectors: none of these backends reads plain rows on a GPU' \
    'backend prepare first us hot us +- cold us bytes GB/s read memory speed-up pays at'
  for name in cpu_csr reference; do
    [ "$(grep -c "^$name  *[0-9]" "$out")" = 2 ]
    expect "not a row of $name in each precision"
  done
  spmv 0 -p f64 -k cpu_csr gen:stencil:n=6
  ! grep -qE 'cold us|least time|sectors|effective' "$out"
  expect 'the table has what was not asked for'
  spmv 0 -q -k cpu_csr "$graph"
  is_empty "$out"
  is_empty "$err"
}

check_json() {
  spmv 0 --batches 8 --cold --json "$json" -k cpu_csr,reference,cusparse "$wide" "$graph"
  holds '(r["schema"], r["program"], r["exit_code"]) == (1, "spmv", 0)'
  holds '[m["precision"] for m in r["matrices"]] == ["f32", "f64"] * 2'
  holds 'all(m["status"] == "WR_OK" and len(m["runs"]) == 3 for m in r["matrices"])'
  holds '[(m["nrows"], m["ncols"], m["nnz"]) for m in r["matrices"][::2]] == [(2, 5, 3), (3, 3, 4)]'
  holds 'r["matrices"][0]["rows"] == {"least": 1, "mean": 1.5, "most": 2, "empty": 0, "bandwidth": 4}'
  holds '[run["ran"] for run in r["matrices"][0]["runs"]] == [True, True, False]'
  holds 'r["matrices"][0]["runs"][2]["status"] == "WR_EUNAVAILABLE"'
  holds 'all(run[key]["median_s"] > 0 for m in r["matrices"] for run in m["runs"][:2] for key in ("hot", "cold"))'
  holds 'all(run["first_s"] > 0 and run["prepare_s"] >= 0 for m in r["matrices"] for run in m["runs"][:2])'
  holds 'all(run["verification"]["multiplied_right"] for m in r["matrices"] for run in m["runs"][:2])'
  holds 'all(run["verification"]["rows"] == m["nrows"] for m in r["matrices"] for run in m["runs"][:2])'
  holds 'all(m["least_time"][0]["from"] == 1 for m in r["matrices"])'
  says "$out" 'not available: cusparse: '
  spmv 0 -p f64 --json - -k cpu_csr "$graph"
  cp "$out" "$json"
  holds 'r["matrices"][0]["source"].endswith("graph.mtx") and not r["matrices"][0]["runs"][0]["cold"]'
  says "$err" 'graph.mtx in f64: '
}

check_vectors() {
  export COLUMNS=120
  spmv 0 --vectors 3 --json "$json" -k cpu_csr,reference "$wide" gen:stencil:n=6
  unset COLUMNS
  says "$out" '; 3 vectors at once' 'hot us +- a vector bytes'
  holds 'all(run["vectors"] == 3 and run["verification"]["multiplied_right"] for m in r["matrices"] for run in m["runs"])'
  # f64: row pointers, columns and values once, X and Y three times; or three times all of it, and copies of 14 elements
  holds '[run["plan"]["apply_bytes"] for run in r["matrices"][1]["runs"]] == [24 + 36 + 3 * 56, 3 * (24 + 36 + 56 + 2 * 56)]'
  spmv 0 --vectors 8 -d cpu "$graph"
  misuse '--vectors: 0 is not in [1, 8]' --vectors 0 "$graph"
  misuse '--vectors: 9 is not in [1, 8]' --vectors 9 "$graph"
  misuse "--vectors: '1,2,4' is not one number: give one, and run once for each" --vectors 1,2,4 "$graph"
  misuse '--sectors counts a multiply of one vector' --sectors --vectors 2 "$graph"
}

# By the model alone, where cpu_bsr pays from 37 multiplies on, and by measured times.
check_advise() {
  export COLUMNS=120
  call 0 "$BUILD/spmv" -d cpu --advise -p f64 --json "$json" --csv "$work/advice.csv" gen:fem:n=8
  says "$out" 'advice for 1 solve of 200 multiplies, by bytes and a usual memory: nothing was timed' \
    'backend prepare multiply us bytes memory saves us pays at worth it' 'from 37 on cpu_bsr'
  [ "$(awk '/^cpu_/ { print $1, $NF }' "$out" | tr '\n' ' ')" = 'cpu_csr - cpu_bsr yes ' ]
  expect 'blocks are not worth 200 multiplies'
  holds 'r["matrices"][0]["advice"] == {"solves": 1, "multiplies": 200, "by": "model", "calibrated": False, "times_of": None}'
  holds '[run["ran"] for run in r["matrices"][0]["runs"]] == [False, False]'
  holds '[run["comparison"].get("worth") for run in r["matrices"][0]["runs"]] == [None, True]'
  holds 'all(run["expected"]["multiply_s"] > 0 for run in r["matrices"][0]["runs"])'
  [ "$(cut -d , -f 9,13- "$work/advice.csv" | sed -n 's/^\(cpu_bsr\),[0-9.]*,,,.*,no,\(model,200\),[0-9.e-]*,/\1 \2 /p')" = \
    'cpu_bsr model,200 37,yes' ]
  expect 'the CSV does not have the advice'
  call 0 "$BUILD/spmv" -d cpu --advise -p f64 --solves 3 gen:rmat:scale=10
  says "$out" 'advice for 3 solves of 200' 'never no' 'least time: cpu_csr for any number of multiplies'
  spmv 0 --batches 8 -p f64 --solves 2 --json "$json" -k reference,cpu_csr gen:stencil:n=12
  says "$out" 'advice for 2 solves of 200 multiplies, by the times measured' 'saves us pays at worth it'
  holds 'r["matrices"][0]["advice"]["by"] == "times" and "expected" not in r["matrices"][0]["runs"][1]'
  holds 'r["matrices"][0]["runs"][1]["comparison"]["worth"] in (True, False)'
  unset COLUMNS
  spmv 0 -p f64 --json "$json" -k cpu_csr "$graph"
  holds 'r["matrices"][0]["advice"] is None'
  call 3 "$BUILD/spmv" -d cpu --advise "$work/broken.mtx" "$graph"
  says "$out" '1 of 2 judged by the model'
  for excluded in '-k cpu_csr' '--vectors 2' --cold "--report $work/page.html"; do
    # shellcheck disable=SC2086
    misuse '--advise times nothing and has backends of its own; for --' --advise $excluded "$graph"
  done
  misuse '--solves: -1 is not in [0, 1e12]' --solves -1 "$graph"
}

check_sources() {
  printf '# two\n\n  %s  # wide\n\t%s\r\ngen:chain:scale=4' "$wide" "$graph" >"$work/list.txt"
  spmv 0 -p f64 -k cpu_csr "@$work/list.txt" gen:stencil:n=3
  [ "$(grep -c ' in f64: ' "$out")" = 4 ]
  expect 'there are not four tables'
  in=$wide
  spmv 0 -p f64 -k cpu_csr -
  in=/dev/null
  says "$out" '2 x 5, 3 nonzeros'
  printf '1\t2\n2\t3\n3\t1\n' >"$work/edges"
  spmv 0 -p f64 -k cpu_csr --input-format edges "$work/edges"
  says "$out" '3 x 3, 3 nonzeros'
  spmv 0 -p f64 -k cpu_csr --values --pattern --json "$json" "$graph" "$wide"
  holds '[m["has_values"] for m in r["matrices"]] == [True, False] * 2'
  says "$out" 'values made up' 'values left out'
  spmv 0 -p f32 -k cpu_csr --verify sample:2 --json "$json" gen:stencil:n=4
  holds 'r["matrices"][0]["runs"][0]["verification"]["rows"] == 2'
  spmv 0 -p f32 -k cpu_csr --verify off --json "$json" gen:stencil:n=4
  holds 'r["matrices"][0]["runs"][0]["verification"] == {"level": "off"}'
  spmv 0 -p f64 --json "$json" "$graph" # without -k: all that runs here but reference
  holds '"cpu_csr" in [run["backend"] for run in r["matrices"][0]["runs"]]'
  holds '"reference" not in [run["backend"] for run in r["matrices"][0]["runs"]]'
}

# A line is a report with one matrix, so that a file of lines can grow from run to run.
check_lines() {
  lines=$work/lines.jsonl
  printf '{"cut o' >"$lines" # by a process that was killed
  spmv 3 -p f64 -k cpu_csr --sectors --jsonl "$lines" --csv "$work/table.csv" "$graph" "$work/none.mtx" gen:road:side=9
  spmv 0 -p both -k cpu_csr,reference --pattern --jsonl "$lines" "$wide"
  [ "$(sed 1d "$lines" | grep -c '^{"schema":1,"program":"spmv",.*,"exit_code":[0-9]*}$')" = 5 ] && [ "$(wc -l <"$lines")" = 6 ]
  expect 'there is not a line for each matrix and precision behind the one that was there'
  { printf '[' && sed '1d; $!s/$/,/' "$lines" && printf ']'; } >"$json"
  holds 'all(len(line["matrices"]) == 1 and line["places"] and line["settings"] for line in r)'
  holds '[line["exit_code"] for line in r] == [0, 3, 0, 0, 0]'
  holds '[line["matrices"][0]["status"] for line in r] == ["WR_OK", "WR_EINPUT"] + ["WR_OK"] * 3'
  holds '[line["matrices"][0]["family"] for line in r] == [None, None, "road", None, None]'
  # graph.mtx: 4 row pointers and 4 columns of 4 bytes, x and y of 3 doubles; a sector each of pointers, columns and x
  holds 'r[0]["matrices"][0]["csr_bytes"] == 80 and r[0]["matrices"][0]["sectors"] == {"streams": 2, "x": 1}'
  holds 'r[3]["matrices"][0]["csr_bytes"] == 3 * 8 + 7 * 4 and r[3]["matrices"][0]["sectors"] is None'
  holds 'all(run["plan"]["memory_bytes"] == run["plan"]["extra_bytes"] + run["plan"]["borrowed_bytes"]
    for line in r for run in line["matrices"][0]["runs"])'
  [ "$(wc -l <"$work/table.csv")" = 4 ] && [ "$(grep -c ',cpu_csr,host,WR_OK,,[0-9.e-]*,.*,yes,times,,,,$' "$work/table.csv")" = 2 ]
  expect 'the CSV has not a line for each matrix'
  grep -qE "^$work/none.mtx,,0,0,0,,no,,,,WR_EINPUT,.*,,,,,,,,,,,,,,,\$" "$work/table.csv"
  expect 'the CSV does not say that none.mtx could not be had'
  [ "$(awk -F, '{ print NF }' "$work/table.csv" | sort -u)" = 27 ]
  expect 'the lines of the CSV differ in their fields'
  spmv 0 -p f64 -k cpu_csr --csv - "$graph"
  [ "$(head -n 1 "$out" | cut -d , -f 1-3)" = matrix,family,nrows ] && [ -s "$err" ]
  expect 'standard output is not the CSV alone'
  misuse 'only one of --json, --jsonl, --csv and --report can go to standard output' --json - --jsonl - "$graph"
  misuse 'would overwrite the matrix' --jsonl "$graph" "$graph"
  refuses 8 "$work/no/lines" spmv --jsonl "$work/no/lines" "$graph"
  refuses 8 "$work" spmv --jsonl "$work" "$graph"
  if [ -w /dev/full ]; then
    run 8 spmv -q --batches 1 --seconds 0 -k cpu_csr --jsonl /dev/full "$graph"
    says "$err" '/dev/full: cannot write it'
  fi
}

# Many matrices in a list, some of which cannot be had.
check_long_list() {
  for k in $(seq 100); do printf '%s\n%s\ngen:chain:scale=3,seed=%s\n' "$graph" "$work/none$((k % 7)).mtx" "$k"; done >"$work/many.txt"
  rm -f "$lines"
  spmv 3 -q -p f64 -k cpu_csr --verify off --jsonl "$lines" "@$work/many.txt"
  [ "$(wc -l <"$lines")" = 300 ] && [ "$(grep -c '"status":"WR_EINPUT"' "$lines")" = 100 ]
  expect 'not every matrix of a long list has its line'
  printf '# nothing\n\n' >"$work/empty.txt"
  refuses 3 'empty.txt: the list names no matrix' spmv "@$work/empty.txt"
}

# A matrix that cannot be loaded does not keep the others from being timed.
check_bad_matrices() {
  spmv 3 -p f64 -k cpu_csr --json "$json" "$work/none.mtx" "$work/broken.mtx" "$graph"
  says "$err" "spmv: $work/none.mtx: " "spmv: $work/broken.mtx:3: "
  says "$out" 'graph.mtx in f64: '
  [ "$(tail -n 1 "$out")" = "1 of 3 measured, and every product right; worst exit code 3: $work/none.mtx" ]
  expect 'the last line does not sum up'
  holds '[m["status"] for m in r["matrices"]] == ["WR_EINPUT", "WR_EINPUT", "WR_OK"] and r["exit_code"] == 3'
  holds 'r["matrices"][0]["runs"] == [] and "none.mtx" in r["matrices"][0]["reason"]'
  spmv 5 -k cpu_csr "$work/huge.mtx" # fits f64 alone
  says "$err" "spmv: $work/huge.mtx: "
  says "$out" 'huge.mtx in f64: '
  refuses 3 'the list of matrices cannot be read' spmv "@$work/none.txt"
  echo "@$work/none.txt" >"$work/nested.txt"
  refuses_list 3 "$work/nested.txt:1: " "$work/nested.txt"
  head -c 5000 /dev/zero | tr '\0' a >"$work/long.txt"
  refuses_list 3 "$work/long.txt:1: no name is longer than" "$work/long.txt"
  spmv 1 -k cpu_csr gen:nothing
}

refuses_list() { # exit code, text, list
  spmv "$1" -k cpu_csr "@$3"
  says "$err" "spmv: $2"
}

check_refused() {
  misuse 'no matrix is given'
  misuse '--standard has matrices of its own' --standard "$graph"
  misuse 'standard input (-) can be read once, not 2 times' - -
  misuse '--frobnicate: unknown option' --frobnicate "$graph"
  misuse '--tolerance: unknown option' --tolerance 1e-3 "$graph"
  misuse '--batches: 0 is not in [1, 100000]' --batches 0 "$graph"
  misuse "--precision: 'f16' is not one of f32|f64|both" -p f16 "$graph"
  misuse '--verify: device is not for spmv' --verify device "$graph"
  misuse '--verbose and --quiet contradict each other' -v -q "$graph"
  misuse 'cpu_csrr' -k cpu_csrr "$graph"
  misuse 'sigma' -k cpu_csr:sigma=3 "$graph"
  refuses 4 'cusparse: ' spmv -k cusparse "$graph"
  refuses 4 'merbit: ' spmv -k merbit "$graph" # excluded by -d cpu, or not in this build
  refuses 8 "$work/no/report.json" spmv --json "$work/no/report.json" "$graph"
  spmv 4 --json "$json" -k cusparse "$graph"
  holds 'r["exit_code"] == 4 and not r["matrices"][0]["runs"][0]["ran"]'
  if has_card; then
    skip 4 'this machine has a card'
  else
    refuses 4 CUDA spmv -d cuda "$graph"
  fi
}

check_actions() {
  for form in --help -h; do
    call 0 "$BUILD/spmv" $form
    says "$out" 'usage: spmv [options] MATRIX|@LIST...'
  done
  for exit_code in 0 1 3 4 5 6 7 8 9 130; do
    sed -n '/^Exit:/,/^$/p' "$out" | tr '\n' ' ' | grep -qE "[ ,]$exit_code [a-z]"
    expect "--help does not explain exit code $exit_code"
  done
  call 0 "$BUILD/spmv" --version
  grep -qxE 'spmv \(windrow\) [0-9]+\.[0-9]+\.[0-9]+' "$out"
  expect 'the version is not "spmv (windrow) N.N.N"'
  call 0 "$BUILD/spmv" --list-backends
  says "$out" cpu_csr merbit
  call 0 "$BUILD/spmv" --list-generators
  says "$out" stencil rmat
}

# What -v printed is an option file that asks for the same.
check_settings() {
  spmv 0 -v -p f32 --threads 1 --verify sample:3 --pattern -k cpu_csr "$graph"
  sed '/^$/q' "$out" >"$work/again.conf"
  call 0 "$BUILD/spmv" --config "$work/again.conf" "$graph"
  sed '/^$/q' "$out" >"$work/second"
  same 'the effective options and their repetition' "$work/again.conf" "$work/second"
}

# What was measured by then is reported.
check_signal() {
  command='spmv, ended by a signal'
  : >"$out" # nothing of what was run before
  "$BUILD/spmv" -d cpu -k cpu_csr --batches 100000 --seconds 1e6 --json "$json" gen:stencil:n=6 gen:fem:n=3 \
    >"$out" 2>"$err" &
  child=$!
  waited=0
  while [ ! -s "$out" ] && [ $waited -lt 600 ]; do # from its first line on it handles signals
    sleep 0.1
    waited=$((waited + 1))
  done
  kill -TERM $child
  wait $child
  [ $? = 130 ]
  expect 'exit code is not 130'
  holds 'r["exit_code"] == 130'
  tail -n 1 "$out" | grep -q '^0 of 2 measured, .*; [12] not begun' # 2: the signal came before the first
  expect 'the last line does not say what was not begun'
}

# Kernels on the CPU. The two rows of wide.mtx: columns 1, 5, 3, so x is 2 sectors in f64 and 1 in f32; 12 bytes of columns, 24 or
# 12 of values and 12 of row pointers are one sector each.
check_simt() {
  if [ ! -x "$BUILD/simt/spmv" ]; then
    skip 8 'this build has no programs with kernels that run on the CPU'
    return
  fi
  export WR_SIMT=replay=off
  # shellcheck disable=SC2086
  call 0 "$BUILD/simt/spmv" -d cuda $quick --sectors --json "$json" -k csr_warp,merbit,csr_thread "$wide"
  says "$out" 'sectors: csr_warp 4 (streams 3, x 1), merbit ' 'csr_thread 5 (streams 3, x 2); of 32 bytes, read from L2'
  holds '[m["runs"][0]["sectors"] for m in r["matrices"]] == [{"streams": 3, "x": x} for x in (1, 2)]'
  holds 'all(run["verification"]["multiplied_right"] for m in r["matrices"] for run in m["runs"])'
  holds 'all(run["place"] == "cuda" and run["sectors"]["x"] for m in r["matrices"] for run in m["runs"])'
  call 0 "$BUILD/simt/spmv" --advise -p f64 --json "$json" gen:fem:n=4
  says "$out" 'by a model of the times of an H200: nothing was timed' 'merbit' 'bsr_unrolled'
  holds 'r["matrices"][0]["runs"][0]["backend"] == "merbit" and len(r["matrices"][0]["runs"]) == 9'
  holds 'all(run["status"] == "WR_EUNAVAILABLE" or run["expected"]["multiply_s"] > 0 for run in r["matrices"][0]["runs"])'
  # shellcheck disable=SC2086
  call 0 "$BUILD/simt/spmv" -d cuda $quick --vectors 5 --json "$json" -k csr_warp,merbit,csr_thread "$wide"
  holds 'all(run["vectors"] == 5 and run["verification"]["multiplied_right"] for m in r["matrices"] for run in m["runs"])'
}

check_table
check_json
check_vectors
check_advise
check_sources
check_lines
check_long_list
check_bad_matrices
check_refused
check_actions
check_settings
check_signal
check_simt
report
