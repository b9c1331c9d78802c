#!/bin/sh
# Runs the fuzz targets one after the other, each for FUZZ_SECONDS, from the repository root with BUILD in the environment:
# $BUILD/fuzz_NAME, with $BUILD/corpus/NAME (kept from run to run), tests/data and tests/data/fuzz/NAME.tar.gz to begin with.
# What crashes, hangs or takes too much memory is kept in $BUILD/crashes. Exit status 1 if there was any.
#   tests/fuzz/run_fuzz.sh able      succeeds when CLANG has libFuzzer; else says what to install
#   tests/fuzz/run_fuzz.sh NAME...   these targets; none: all
set -u
CLANG=${CLANG:-clang}

if [ "${1:-}" = able ]; then
  work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
  trap 'rm -rf "$work"' EXIT
  echo 'int LLVMFuzzerTestOneInput(const unsigned char *b, unsigned long n) { return n == 99 && b[0] == 99; }' >"$work/try.c"
  $CLANG -fsanitize=fuzzer,address,undefined -fopenmp "$work/try.c" -o "$work/try" 2>"$work/errors" && exit 0
  echo "fuzz: '$CLANG' cannot build with -fsanitize=fuzzer,address,undefined -fopenmp: $(head -n 1 "$work/errors" | cut -c 1-200)" >&2
  for item in clang sanitizers openmp; do sh tools/deps.sh --hint $item; done | sort -u | sed 's/^/fuzz: needed: /' >&2
  exit 1
fi

BUILD=${BUILD:-build/fuzz} FUZZ_SECONDS=${FUZZ_SECONDS:-60}
crashes=$BUILD/crashes
rm -rf "$BUILD/scratch"
mkdir -p "$crashes" "$BUILD/scratch"
export TMPDIR="$BUILD/scratch" OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:quarantine_size_mb=16

stat() { sed -n "s/^stat::$1: *//p" "$log" | tail -n 1; }

# An input is at most 32 KiB, which may inflate to a few megabytes; a parser that asks for a fifth of a gigabyte has believed a
# hostile size.
fuzz() { # target
  name=$1 corpus=$BUILD/corpus/$1 log=$BUILD/$1.log
  seeds=$BUILD/scratch/$1
  mkdir -p "$corpus" "$seeds"
  [ ! -e "tests/data/fuzz/$1.tar.gz" ] || tar xzf "tests/data/fuzz/$1.tar.gz" -C "$seeds"
  "$BUILD/fuzz_$name" -max_total_time="$FUZZ_SECONDS" -max_len=32768 -timeout=20 -rss_limit_mb=1024 -malloc_limit_mb=200 \
    -dict=tests/fuzz/words.dict -print_final_stats=1 -artifact_prefix="$crashes/$name-" \
    "$corpus" "$seeds" tests/data/fuzz tests/data/bad tests/data/edges tests/data/sets tests/data/real >"$log" 2>&1 </dev/null
  code=$?
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
  printf '  %-8s %10s executions, %5s edges, %5s new units%s\n' "$name" "$(stat number_of_executed_units)" "$edges" \
    "$(stat new_units_added)" "$([ $code = 0 ] || echo ", FAILED ($code)")"
  [ $code = 0 ] && return
  failed=1
  grep -nE 'does not hold|ERROR: |runtime error|SUMMARY|Test unit written' "$log" | head -n 8 | sed 's/^/           | /'
}

failed=0
[ $# != 0 ] || set -- mtx edges vector binary options knobs tuned sets
echo "fuzz: $FUZZ_SECONDS s each; logs in $BUILD, crashes in $crashes"
for target in "$@"; do fuzz "$target"; done
exit $failed
