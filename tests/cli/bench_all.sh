#!/bin/sh
# The table of all matrices: which are drawn, that a cut run goes on, and what the page makes of lines that are known.
. tests/cli/lib.sh

lines=$work/all.jsonl page=$work/all.md
if ! command -v python3 >/dev/null; then
  skip 1 'python3 is missing'
  report
fi

names() { # arguments...
  python3 tests/bench/bench_all.py --list "$@"
}

bench() { # exit code, arguments...
  wanted=$1
  shift
  call "$wanted" python3 tests/bench/bench_all.py --program "$BUILD/spmv" --groups unseen,real --unseen 3 --most 3000 \
    --folder "$work/folder" "$@" "$lines" -- -d cpu -k cpu_csr,reference
}

count_of() { # pattern
  grep -c "$1" "$lines"
}

check_drawing() {
  command='bench_all.py --list'
  names >"$work/one" && names --seed 1 >"$work/again" && names --seed 2 >"$work/two"
  same 'the lists of one seed' "$work/one" "$work/again"
  [ "$(sort "$work/one" "$work/two" | uniq -d | wc -l)" = $(($(wc -l <"$work/one") - 60)) ]
  expect 'another seed does not draw 60 other matrices'
  [ "$(sort "$work/one" | uniq -d)" = '' ]
  expect 'a matrix is drawn twice'
  names --groups unseen --unseen 200 | sort >"$work/more" && names --groups unseen | sort | comm -23 - "$work/more" >"$work/lost"
  is_empty "$work/lost" # a longer list begins with the shorter one
  "$BUILD/spmv" --list-generators | sed -n 's/^gen:\([a-z]*\):.*/\1/p' >"$work/families"
  for group in seen unseen; do
    names --groups $group >"$work/group"
    while read -r family; do
      grep -q "^gen:$family:" "$work/group"
      expect "no $group matrix is of the family $family"
    done <"$work/families"
  done
  names --groups seen,unseen --unseen 400 --most 1 >"$work/tiny" # every shape, as small as it gets
  run 0 spmv -q -p f64 -k cpu_csr --batches 1 --seconds 0 --verify off --csv "$work/tiny.csv" "@$work/tiny"
}

check_resuming() {
  mkdir "$work/folder"
  matrix folder/good.mtx 'coordinate pattern general' '3 3 4' '1 2' '1 3' '2 1' '3 1'
  matrix folder/bad.mtx 'coordinate real general' '2 2 1' '1 3 1'
  matrix folder/vector.mtx 'array real general' '3 1' 1 2 3
  bench 2 --limit 0
  says "$out" 'left: 5 of 5 matrices; call it again to go on'
  [ ! -e "$lines" ]
  expect 'something was timed past the limit'
  bench 0
  says "$out" 'left: 0 of 5 matrices'
  [ "$(wc -l <"$lines")" = 17 ] && [ "$(count_of '"status":"WR_EINPUT"')" = 1 ] # 4 matrices in 4 kinds, and a bad one
  expect 'there is not a line for each matrix, precision, with and without values'
  cp "$lines" "$work/whole" && bench 0
  same 'a finished file and the same after one call more' "$work/whole" "$lines"
  { head -n 10 "$work/whole" && sed -n 11p "$work/whole" | head -c 100; } >"$lines" # as a killed process leaves it
  bench 0
  for kind in '"precision":"f32".*"has_values":true' '"precision":"f64".*"has_values":true' \
    '"precision":"f32".*"has_values":false' '"precision":"f64".*"has_values":false'; do
    [ "$(grep "$kind" "$lines" | grep -o '"source":"[^"]*","family' | sort -u | wc -l)" = 4 ]
    expect "not every matrix was timed again with $kind"
  done
  [ "$(wc -l <"$lines")" -lt 22 ]
  expect 'more was timed again than the matrix that was cut'
}

# A program that is killed at its first matrix.
check_given_up() {
  printf '#!/bin/sh\nkill -9 $$\n' >"$work/killed" && chmod +x "$work/killed"
  call 2 python3 tests/bench/bench_all.py --program "$work/killed" --groups unseen --unseen 2 "$work/none.jsonl" -- -k cpu_csr
  says "$out" 'ended by signal 9' 'left: 2 of 2 matrices'
  # A device that fails for good after its second matrix: each later one is timed by another process.
  cat >"$work/failing" <<'END'
#!/bin/sh
for last in "$@"; do :; done
while [ "$1" != --jsonl ]; do shift; done
at=0
while read -r name; do
  at=$((at + 1))
  status=WR_OK ran=true
  [ $at -le 2 ] || status=WR_EDEVICE ran=false
  for kind in '"f32","has_values":true' '"f64","has_values":true' '"f32","has_values":false' '"f64","has_values":false'; do
    echo "{\"matrices\":[{\"source\":\"$name\",\"precision\":$kind,\"status\":\"WR_OK\",\"runs\":[{\"ran\":$ran,\"status\":\"$status\"}]}]}"
  done >>"$2"
done <"${last#@}"
END
  chmod +x "$work/failing"
  call 0 python3 tests/bench/bench_all.py --program "$work/failing" --groups unseen --unseen 7 "$work/some.jsonl" -- -k cpu_csr
  says "$out" '2 of 7 matrices' '4 of 7 matrices' '6 of 7 matrices' 'left: 0 of 7 matrices'
  call 1 python3 tests/bench/bench_all.py --program "$work/absent" "$work/none.jsonl"
  says "$err" 'is no program'
  call 1 python3 tests/bench/bench_all.py --groups seen,others "$work/none.jsonl"
  says "$err" 'others is none of'
}

# Lines with known times, in place of a card: cuSPARSE's best takes 8 us, ours 4 us on one matrix and 16 us on the other.
make_lines() {
  python3 - "$lines" "$work/known.jsonl" <<'END'
import json, sys
reports = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{") and line.endswith("}\n") and '"ran":true' in line]
one = next(r for r in reports if r["matrices"][0]["family"])
with open(sys.argv[2], "w") as out:
    for source, family, ours in (("gen:road", "road", 4), ("gen:road:side=7,seed=77", "road", 16), ("far/a.mtx", None, 4)):
        report = json.loads(json.dumps(one))
        matrix = report["matrices"][0]
        matrix.update(source=source, family=family, precision="f64", has_values=True, csr_bytes=8000, nnz=500)
        matrix["sectors"] = {"streams": 200, "x": 250}
        report["places"][1].update(status="WR_OK", device="a card", read_bandwidth=1e9)
        model = next(run for run in matrix["runs"] if run["ran"])
        matrix["runs"] = []
        for label, us in (("cusparse", 9), ("cusparse:alg=2", 8), ("merbit", ours), ("csr_warp", 20), ("broken", 1)):
            run = json.loads(json.dumps(model))
            run.update(label=label, backend=label.split(":")[0], place="cuda", prepare_s=1e-5)
            run["hot"].update(median_s=us * 1e-6, median_low_s=us * 0.9e-6, median_high_s=us * 1.2e-6)
            run["plan"].update(apply_bytes=4000, memory_bytes=12345)
            run["verification"]["multiplied_right"] = label != "broken"
            matrix["runs"].append(run)
        out.write(json.dumps(report) + "\n")
END
}

check_page() {
  call 0 python3 tests/bench/all_tables.py "$page" "$lines" # without cuSPARSE
  says "$page" '| good.mtx | real | 3 | 4 |' '**cpu_csr' '## Not timed' 'bad.mtx'
  command='all_tables.py'
  make_lines
  call 0 python3 tests/bench/all_tables.py "$page" "$work/known.jsonl"
  # of 8000 bytes at 1 GB/s 8 us, of 450 sectors at 225 a nanosecond 2 ns
  says "$page" '| road | seen |' '| 500 | 8.00 | **merbit 4.00** | csr_warp 20.0 | - | cusparse:alg=2 8.00 | 2.00 |' \
    '| 2.00 | 20.0% | 1.00 | 2.00 | 200% | 10.0 | 12.3 k |' \
    '| road:side=7,seed=77 | unseen |' '| merbit 16.0 | csr_warp 20.0 | - | **cusparse:alg=2 8.00** | 0.50 |' '| a.mtx | real |' \
    '| f64, with values | seen | 1 | **2.000** | 2.000 | 2.000 | road | 0 |' \
    '| f64, with values | unseen | 1 | **0.500** | 0.500 | 0.500 | road:side=7,seed=77 | 1 |' \
    '| road:side=7,seed=77 | f64, with values | unseen | 500 | merbit | 16.0 | cusparse:alg=2 | 8.00 | 0.500 |' \
    '| merbit | 3 | 2.000 | 0.500 | 2.000 | 2.000 | 0.500 | 2 |' \
    'Wrong products: road in f64, with values: broken; ' \
    '| road f64 | merbit 4.00 | cusparse:alg=2 8.00 | 257 | 289 | 296 | 333 | 253 | 783 |'
  [ "$(grep -c '^gen:road,' "$work/all/f64-values.csv")" = 4 ] &&
    grep -q '^gen:road,seen,.*,8000,8,merbit,4,3.6,4.8,4000,10,12345$' "$work/all/f64-values.csv"
  expect 'the CSV has not every right product'
  sed 's/a card/another card/' "$work/known.jsonl" >"$work/other.jsonl"
  call 1 python3 tests/bench/all_tables.py "$page" "$work/known.jsonl" "$work/other.jsonl"
  says "$err" 'a table is of one machine, and these lines are of a card, another card'
  : >"$work/empty.jsonl"
  call 1 python3 tests/bench/all_tables.py "$page" "$work/empty.jsonl"
  says "$err" 'there is no timed matrix in'
}

check_drawing
check_resuming
check_given_up
check_page
report
