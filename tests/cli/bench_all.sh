#!/bin/sh
# The table of all matrices: which are drawn, that a cut run goes on, and what the page makes of lines that are known.
. tests/cli/lib.sh

lines=$work/all.jsonl page=$work/all.md rows=$work/all/f64-values.md
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
  names --groups unseen >"$work/one_drawn" && names --groups unseen --seed 2 >"$work/two_drawn"
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

# The same file by other names, and other backends than the lines have.
check_what_is_done() {
  cp "$lines" "$work/whole" && ln -s folder "$work/link"
  for folder in "$work/./folder/" "$work/link" "$work/none/../folder"; do
    [ -d "$folder" ] || mkdir -p "$work/none"
    bench 0 --folder "$folder"
    same "the lines before and after $folder" "$work/whole" "$lines"
  done
  sed "s|\"$work/folder/|\"$work/./folder/../folder/|g" "$work/whole" >"$lines" && cp "$lines" "$work/renamed"
  bench 0
  same 'the lines, with other names of the files, before and after' "$work/renamed" "$lines"
  ! cmp -s "$work/whole" "$lines"
  expect 'the names were not changed'
  cp "$work/whole" "$lines"
  timed() { # exit code, backends of spmv...
    wanted=$1
    shift
    call "$wanted" python3 tests/bench/bench_all.py --program "$BUILD/spmv" --groups real --folder "$work/some" \
      "$work/some.jsonl" -- -d cpu "$@"
  }
  mkdir "$work/some" && cp "$work/folder/good.mtx" "$work/some" && cp "$work/folder/bad.mtx" "$work/some"
  timed 0 -k cpu_csr
  [ "$(wc -l <"$work/some.jsonl")" = 5 ]
  expect 'there is not a line for each kind and one for the bad matrix'
  timed 0 -k cpu_bsr:c=2:r=2,csr_warp,reference # csr_warp has a reason in place of a time
  [ "$(wc -l <"$work/some.jsonl")" = 9 ]
  expect 'other backends are not timed where one was'
  timed 0 --backend=reference,csr_warp
  timed 0 -kreference
  [ "$(wc -l <"$work/some.jsonl")" = 9 ]
  expect 'backends that the last lines have are timed again'
  "$BUILD/spmv" -q -d cpu --vectors 4 -p both --values --pattern --jsonl "$work/some.jsonl" -k cpu_csr "$work/some/good.mtx"
  timed 0 -k cpu_csr
  [ "$(wc -l <"$work/some.jsonl")" = 17 ]
  expect 'lines of several vectors count as those of one'
}

# What is no Matrix Market file is not taken for a vector: spmv says what is wrong with it, and the page has it.
check_broken_files() {
  mkdir -p "$work/broken/a" "$work/broken/b"
  cp "$work/folder/good.mtx" "$work/broken/a" && cp "$work/folder/good.mtx" "$work/broken/b"
  cp "$work/folder/vector.mtx" "$work/broken" && : >"$work/broken/empty.mtx" && : >"$work/broken/empty.mtx.gz"
  echo '%%MatrixMarkt matrix array real general' >"$work/broken/misspelt.mtx"
  echo 'array' >"$work/broken/no_gzip.mtx.gz"
  call 0 python3 tests/bench/bench_all.py --program "$BUILD/spmv" --groups real --folder "$work/broken" "$work/broken.jsonl" \
    -- -d cpu -k cpu_csr
  says "$out" 'left: 0 of 6 matrices'
  call 0 python3 tests/bench/all_tables.py "$work/broken.md" "$work/broken.jsonl"
  says "$work/broken.md" '| empty.mtx | | ' '| empty.mtx.gz | | ' '| misspelt.mtx | | ' '| no_gzip.mtx.gz | | '
  says "$work/broken/f64-values.md" '| a/good.mtx | real |' '| b/good.mtx | real |'
  [ "$(cut -d, -f 1-5 "$work/broken/f64-values.csv" | grep -c '^[ab]/good.mtx,real,3,3,4$')" = 2 ]
  expect 'the CSV has not both files of one name'
  mkdir "$work/vectors" "$work/nothing" && cp "$work/folder/vector.mtx" "$work/vectors"
  for folder in vectors nothing; do
    call 1 python3 tests/bench/bench_all.py --program "$BUILD/spmv" --folder "$work/$folder" "$work/none.jsonl" -- -k cpu_csr
    says "$err" "no .mtx or .mtx.gz in $work/$folder"
  done
  call 1 python3 tests/bench/bench_all.py --groups real "$work/none.jsonl"
  says "$err" '--groups real needs --folder DIR'
  call 1 python3 tests/bench/bench_all.py --groups unseen --unseen 0 "$work/none.jsonl"
  says "$err" 'no matrix is asked for'
}

check_usage() {
  for wrong in '--seed x' '--unknown' '--limit 1 --unseen y'; do
    # shellcheck disable=SC2086 # words
    call 1 python3 tests/bench/bench_all.py $wrong "$work/none.jsonl"
    says "$err" 'bench_all.py: '
    [ "$(wc -l <"$err")" = 1 ]
    expect 'a usage error is not one line'
  done
  for wrong in '--vectors 4' '-k nonsense'; do
    # shellcheck disable=SC2086 # words
    call 1 python3 tests/bench/bench_all.py --program "$BUILD/spmv" --groups unseen --unseen 20 "$work/none.jsonl" -- -d cpu $wrong
    [ "$(grep -c '^spmv: ' "$err")" = 1 ] && ! grep -q 'given up' "$out"
    expect 'it does not end at the first usage error of spmv'
  done
}

# A program that times one matrix and then has Ctrl-C pressed.
check_interrupt() {
  # shellcheck disable=SC2016 # the variables are those of the script that is made
  sed 's/^  at=.*/&\n  [ $at -lt 2 ] || { kill -INT $PPID; exec sleep 30; }/' "$work/failing" >"$work/pressed" && chmod +x "$work/pressed"
  call 130 python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp("python3", sys.argv[1:])' \
    python3 tests/bench/bench_all.py --program "$work/pressed" --groups unseen --unseen 7 "$work/pressed.jsonl" -- -k cpu_csr
  says "$out" '1 of 7 matrices done; the same command goes on'
  call 0 python3 tests/bench/bench_all.py --program "$work/failing" --groups unseen --unseen 7 "$work/pressed.jsonl" -- -k cpu_csr
  says "$out" 'left: 0 of 7 matrices'
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
    echo "{\"matrices\":[{\"source\":\"$name\",\"precision\":$kind,\"status\":\"WR_OK\",\"runs\":[{\"label\":\"cpu_csr\",\"ran\":$ran,\"status\":\"$status\"}]}]}"
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
make_lines() { # file, and of each matrix: name, family, us of our best...
  python3 - "$lines" "$@" <<'END'
import json, sys
reports = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{") and line.endswith("}\n") and '"ran":true' in line]
one = next(r for r in reports if r["matrices"][0]["family"])
with open(sys.argv[2], "w") as out:
    for source, family, ours in zip(sys.argv[3::3], sys.argv[4::3], map(float, sys.argv[5::3])):
        report = json.loads(json.dumps(one))
        matrix = report["matrices"][0]
        matrix.update(source=source, family=family or None, precision="f64", has_values=True, csr_bytes=8000, nnz=500)
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
  says "$rows" '| good.mtx | real | 3 | 4 |' '](../all.md)' '](f64-values.csv)'
  grep -q '^| good.mtx .*| [*][*]\(cpu_csr\|reference\) [0-9.]*[*][*] |' "$rows"
  expect 'neither backend is the fastest'
  says "$page" '## Not timed' 'bad.mtx' 'Every backend of the CPU' '(all/f64-values.md) ([CSV](all/f64-values.csv))' \
    'cuSPARSE did not run here.' 'of every seed and of every folder' 'Wrong products: none.'
  for word in 'None\.' '| ratio' "cuSPARSE's" 'H200' 'nanosecond' '## Published'; do
    ! grep -q -- "$word" "$page" "$rows"
    expect "a page without cuSPARSE and without a card has '$word'"
  done
  command='all_tables.py'
  make_lines "$work/known.jsonl" gen:road road 4 gen:road:side=7,keep=0.5,seed=77 road 16 far/a.mtx '' 4
  call 0 python3 tests/bench/all_tables.py "$page" "$work/known.jsonl"
  # of 8000 bytes at 1 GB/s 8 us, of 450 sectors at 225 a nanosecond 2 ns
  says "$rows" '| road | seen |' '| 500 | 8.00 | **merbit 4.00** | csr_warp 20.0 | - | cusparse:alg=2 8.00 | 2.00 |' \
    '| 2.00 | 20.0% | 1.00 | 2.00 | 200% | 10.0 | 12.3 k |' \
    '| road:side=7,keep=0.5,seed=77 | unseen |' '| merbit 16.0 | csr_warp 20.0 | - | **cusparse:alg=2 8.00** | 0.50 |' '| a.mtx | real |'
  says "$page" '| f64, with values | seen | 1 | **2.000** | - | 2.000 | 2.000 | road | 0 |' \
    '| f64, with values | unseen | 1 | **0.500** | - | 0.500 | 0.500 | road:side=7,keep=0.5,seed=77 | 1 |' \
    '| road:side=7,keep=0.5,seed=77 | f64, with values | unseen | 500 | merbit | 16.0 | cusparse:alg=2 | 8.00 | 0.500 |' \
    '| merbit | 3 | 2.000 | 0.500 | 2.000 | 2.000 | 0.500 | 2 |' \
    'Wrong products: road in f64, with values: broken; ' \
    '| road f64 | merbit 4.00 | cusparse:alg=2 8.00 | 257 | 289 | 296 | 333 | 253 | 783 |'
  [ "$(grep -c '^gen:road,' "$work/all/f64-values.csv")" = 4 ] &&
    grep -q '^gen:road,seen,.*,8000,8,merbit,4,3.6,4.8,4000,10,12345$' "$work/all/f64-values.csv"
  expect 'the CSV has not every right product'
  cp "$page" "$work/one_seed.md"
  # The second within the interval of the first, to 4.8 us: both are bold. A matrix of another form than those drawn.
  sed 's/"median_s": \(2\|1.99\)[0-9.]*e-05/"median_s": 4.7e-06/g; s/gen:road:side=7,keep=0.5,seed=77/gen:road:side=7/g' "$work/known.jsonl" \
    >"$work/close.jsonl"
  call 0 python3 tests/bench/all_tables.py "$page" "$work/close.jsonl"
  says "$rows" '| **merbit 4.00** | **csr_warp 4.70** | - | cusparse:alg=2 8.00 |' '| **csr_warp 4.70** | **merbit 16.0** |' \
    '| road:side=7 | given |'
  says "$page" 'is of the fastest'
  sed 's/"place": "cuda"/"place": "host"/g; s/"streams": 200/"streams": 2e9/' "$work/known.jsonl" >"$work/host.jsonl"
  call 0 python3 tests/bench/all_tables.py "$page" "$work/host.jsonl" # sectors are of a GPU's L2
  says "$rows" '| 500 | 8.00 | **merbit 4.00** |'
  says "$page" 'Every backend of the CPU'
  "$BUILD/spmv" -q -d cpu --vectors 2 --jsonl "$work/two.jsonl" -k cpu_csr gen:road:side=8
  call 0 python3 tests/bench/all_tables.py "$page" "$work/known.jsonl" "$work/two.jsonl" # of another machine, too
  says "$err" 'left out: 2 lines whose times are of several vectors'
  says "$page" 'Left out: 2 lines whose times are of several vectors'
  ! grep -q 'side=8' "$page" "$rows"
  expect 'times of several vectors are on the page'
  sed 's/a card/another card/' "$work/known.jsonl" >"$work/other.jsonl"
  call 1 python3 tests/bench/all_tables.py "$page" "$work/known.jsonl" "$work/other.jsonl"
  says "$err" 'a table is of one machine, and these lines are of a card, another card'
  : >"$work/empty.jsonl"
  call 1 python3 tests/bench/all_tables.py "$page" "$work/empty.jsonl"
  says "$err" 'there is no timed matrix in'
}

# Of seed 1 the ratios are 2 and 8, of seed 2 0.5 and 0.5; merbit is the first of four in one order and the third in the other.
check_seeds() {
  command='all_tables.py'
  sed -n 1,2p "$work/one_drawn" >"$work/first" && sed -n 1,2p "$work/two_drawn" >"$work/second"
  # shellcheck disable=SC2046 # names have no blanks
  make_lines "$work/seeds.jsonl" $(sed -n '1s/$/ road 4/p; 2s/$/ road 1/p' "$work/first") $(sed 's/$/ road 16/' "$work/second")
  call 0 python3 tests/bench/all_tables.py "$page" "$work/seeds.jsonl"
  says "$page" '| f64, with values | unseen 1 | 2 | **4.000** | 2.77 | 5.000 | 2.000 |' \
    '| f64, with values | unseen 2 | 2 | **0.500** | 0.00 | 0.500 | 0.500 |' \
    '| f64, with values | unseen 1 and 2 | +3.500 | 2.773 | 0.400 |' 'No files were timed'
  ! grep -q 'No files were timed' "$work/one_seed.md"
  expect 'a page with a file says that there is none'
  ! grep -q 'Matrices of another seed' "$work/one_seed.md"
  expect 'a page of one seed compares seeds'
}

# What is kept compressed is read as what is not; the text of remarks.md is shown; the kept lines make the kept pages.
check_kept() {
  python3 - "$work/seeds.jsonl" <<'END'
import gzip, lzma, sys
for ending, packed in ((".xz", lzma), (".gz", gzip)):
    with open(sys.argv[1], "rb") as file, packed.open(sys.argv[1] + ending, "wb") as out:
        out.write(file.read())
END
  cp "$page" "$work/plain.md"
  for ending in xz gz; do
    call 0 python3 tests/bench/all_tables.py "$page" "$work/seeds.jsonl.$ending"
    same "the page of lines and of lines in .$ending" "$work/plain.md" "$page"
    python3 tools/plot.py profile --csv "$work/seeds.jsonl" >"$work/plain.csv" 2>"$err" &&
      python3 tools/plot.py profile --csv "$work/seeds.jsonl.$ending" >"$work/packed.csv" 2>"$err"
    same "the profile of lines and of lines in .$ending" "$work/plain.csv" "$work/packed.csv"
    echo damaged >"$work/damaged.$ending"
    call 1 python3 tools/plot.py profile --csv "$work/damaged.$ending"
    says "$err" "damaged.$ending cannot be read: "
    call 1 python3 tests/bench/bench_all.py "$work/seeds.jsonl.$ending"
    says "$err" 'to no compressed file'
  done
  echo 'What a person has to say.' >"$work/all/remarks.md"
  call 0 python3 tests/bench/all_tables.py "$page" "$work/seeds.jsonl"
  says "$page" 'What a person has to say.'
  mkdir "$work/kept" && cp -r docs/benchmarks/all "$work/kept" && rm "$work"/kept/all/*.csv "$work"/kept/all/f??-*.md
  call 0 python3 tests/bench/all_tables.py "$work/kept/all.md" docs/benchmarks/*/all_*.jsonl.xz
  is_empty "$err" # no file of more than 1 MB
  diff -r docs/benchmarks/all "$work/kept/all" >"$out" 2>&1 && cmp docs/benchmarks/all.md "$work/kept/all.md" >>"$out" 2>&1
  expect 'docs/benchmarks/all.md or all/ is not what its lines make: sh tests/bench/all_page.sh'
}

check_drawing
check_resuming
check_what_is_done
check_broken_files
check_usage
check_given_up
check_interrupt
check_page
check_seeds
check_kept
report
