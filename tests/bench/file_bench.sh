#!/bin/sh
# From a file to a verified answer, as whole processes: the design's road and web graphs as Matrix Market text and as saved
# binary, every process timed from its start to the first line of its report, which comes with the verdict, and to its end. A
# line a run goes to $OUT/file.jsonl (OUT: build/gpu by default): both times, what was asked, and the program's own report;
# file_tables.py makes a table of them. Needs 4 GB under WORK.
#   make programs build/bench/io_bench && OUT=DIR sh tests/bench/file_bench.sh build [gen:NAME...]
#   RUNS=3  runs of each      BACKEND=merbit      OPTIONS='-d cuda'  further options      WORK=DIR  for the files (/tmp)
#   COLD=1  also with the page cache emptied before each run (root alone can)
# Exit status: 0 if every answer was verified.
set -u
build=$1
shift
names=${*:-gen:road gen:web}
out=${OUT:-build/gpu}
runs=${RUNS:-3}
backend=${BACKEND:-merbit}
work=$(mktemp -d "${WORK:-/tmp}/windrow.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
lines=$out/file.jsonl
: >"$lines"

once() { # cold or warm, precision, level of verification, file
  [ "$1" = warm ] || { sync && echo 3 >/proc/sys/vm/drop_caches; } || return
  rm -f "$work/report.json"
  begin=$(date +%s%N)
  # shellcheck disable=SC2086
  answer=$({
    "$build/pagerank" ${OPTIONS:-} -k "$backend" -p "$2" --verify "$3" --json "$work/report.json" "$4" || : >"$work/bad"
  } | {
    IFS= read -r _ && date +%s%N
    cat >/dev/null
  })
  end=$(date +%s%N)
  [ -f "$work/report.json" ] && [ "$answer" ] || return
  answer=$(((answer - begin) / 1000)) wall=$(((end - begin) / 1000))
  printf '{"answer_us": %d, "wall_us": %d, "run": %d, "cache": "%s", "precision": "%s", "verify": "%s", "file": "%s", "bytes": %d, "report": %s}\n' \
    "$answer" "$wall" "$run" "$1" "$2" "$3" "${4##*/}" "$(wc -c <"$4")" "$(tr -d '\n' <"$work/report.json")" >>"$lines"
  printf '%-28s %s %s verify %-6s %4d ms to the answer, %4d to the end\n' "${4##*/}" "$1" "$2" "$3" $((answer / 1000)) \
    $((wall / 1000))
}

for name in $names; do
  text=$("$build/bench/io_bench" --write "$work" "$name" | cut -d' ' -f1)
  binary=${text%.mtx}.wrm
  "$build/pagerank" -q -d cpu --max-iterations 1 --verify off --save-binary "$binary" "$text"
  for file in "$text" "$binary"; do
    cat "$file" >/dev/null
    for caches in warm ${COLD:+cold}; do
      for run in $(seq "$runs"); do
        for precision in f64 f32; do
          once "$caches" "$precision" auto "$file"
        done
        once "$caches" f64 off "$file"
        once "$caches" f64 full "$file"
      done
    done
  done
  rm -f "$text" "$binary"
done
[ ! -e "$work/bad" ]
