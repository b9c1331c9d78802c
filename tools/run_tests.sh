#!/bin/sh
# Runs test programs and scripts, JOBS at a time, each for at most TEST_TIMEOUT seconds, from the repository root with
# BUILD in the environment. PROGRAM:ARGUMENT is a program with an argument. Those below simt/ run kernels on the CPU: for
# them there is a device, they leave the host's backends to the others, take the shorter way (WR_SHORT), and have four
# times as long. A test's last line on stdout is "NAME: N passed, N failed, N skipped"; one that ends otherwise, or with
# another exit status than its line deserves, counts as failed. The last line here sums up.
set -u
BUILD=${BUILD:-build} JOBS=${JOBS:-2} TEST_TIMEOUT=${TEST_TIMEOUT:-900}
OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} # threads that spin take the cores from the test beside them
export BUILD JOBS TEST_TIMEOUT OMP_WAIT_POLICY
results=$BUILD/results
counts='s/^[^:]*: \([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed, \([0-9][0-9]*\) skipped$/\1 \2 \3/p'

name_of() { basename "$1" .sh | tr : .; }

run() { # test
  patience=$TEST_TIMEOUT
  case $1 in */simt/*) patience=$((4 * TEST_TIMEOUT)) ;; esac
  case $1 in
    *.sh) if [ -x "$1" ]; then set -- "$1"; else set -- sh "$1"; fi ;;
    *:*) set -- "${1%%:*}" "${1#*:}" ;;
  esac
  case $1 in
    */simt/*) set -- env WR_NEED_GPU=1 WR_PLACE=cuda WR_SHORT=1 "$@" ;;
  esac
  timeout -k 10 "$patience" "$@"
}

# Sets verdict: what is wrong, or nothing. Sets passed, failed, skipped.
judge() { # exit status, file with stdout
  # shellcheck disable=SC2046
  set -- "$1" $(tail -n 1 "$2" | sed -n "$counts")
  passed=${2:-0} failed=${3:-1} skipped=${4:-0} verdict=
  if [ "$1" = 124 ] || [ "$1" = 137 ]; then
    verdict="stopped after $took s"
  elif [ "$1" -gt 128 ]; then
    verdict="killed by signal $(($1 - 128))"
  elif [ -z "${2:-}" ]; then
    verdict="exit status $1, and no line with its counts"
  elif [ "$failed" -gt 0 ]; then
    verdict="$failed failed"
  elif [ "$1" != 0 ]; then
    verdict="exit status $1"
  elif [ $((passed + skipped)) = 0 ]; then
    verdict='checked nothing'
  fi
  if [ -n "$verdict" ] && [ "$failed" = 0 ]; then failed=1; fi
}

# One reason a line, with how often it was given.
skip_reasons() { # file with stderr
  sed -n 's/^\[[^]]*\] skipped: //p' "$1" | sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/        skipped (\1): \2/'
}

# The text of a test is put together first and shown at once, so that tests side by side do not mix.
run_one() { # test
  name=$(name_of "$1")
  base=$results/$name
  began=$(date +%s)
  run "$1" >"$base.out" 2>"$base.err" </dev/null
  code=$?
  took=$(($(date +%s) - began))
  judge $code "$base.out"
  state=ok
  [ -z "$verdict" ] || state=FAIL
  {
    printf '  %-4s  %-42s %6d passed, %d failed, %d skipped  (%d s)\n' $state "$name" "$passed" "$failed" "$skipped" $took
    [ "$skipped" = 0 ] || grep -q '^\[[^]]*\] skipped: ' "$base.err" || echo '        skipped: no reason was given'
    skip_reasons "$base.err"
    if [ -n "$verdict" ]; then
      echo "        $verdict; its output ($base.err, $base.out):"
      cat "$base.err" "$base.out" | tail -n 200 | sed 's/^/        | /'
    fi
  } >"$base.text"
  cat "$base.text"
  echo "$passed $failed $skipped" >"$base.count"
}

if [ "${1:-}" = --one ]; then
  run_one "$2"
  exit 0
fi

rm -rf "$results"
mkdir -p "$results"
XDG_CACHE_HOME=$(cd "$results" && pwd)/cache # there is nothing in it that the user has measured on this machine
export XDG_CACHE_HOME
if [ $# = 0 ]; then
  echo 'no such test' >&2
  exit 1
fi
printf '%s\n' "$@" | xargs -P "$JOBS" -n 1 sh "$0" --one
for test in "$@"; do # one that left no counts was lost on the way
  count=$results/$(name_of "$test").count
  [ -e "$count" ] || echo '0 1 0' >"$count"
done
cat "$results"/*.count | awk '{ p += $1; f += $2; s += $3 }
  END { printf "%d passed, %d failed, %d skipped\n", p, f, s }' | tee "$results/summary"
grep -q ' 0 failed,' "$results/summary"
