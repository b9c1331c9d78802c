#!/bin/sh
# Everything that only a machine with a card can show, in one go: build, tests, checks by compute-sanitizer, and the times
# of the vector operations and of cuSPARSE. Results go to the folder OUT (default: build/gpu); a step that fails does not stop
# the next. Exit status: 0 if all steps passed.
#   CUDA_ARCH=sm_90 JOBS=16 OUT=DIR sh tests/bench/gpu_session.sh [build|check|sanitize|bench ...]     default: all
set -u
out=${OUT:-build/gpu}
arch=${CUDA_ARCH:-sm_90}
jobs=${JOBS:-16}
failed=0
mkdir -p "$out"

step() { # name, limit in seconds, command
  name=$1 limit=$2
  shift 2
  echo "== $name"
  start=$(date +%s)
  timeout "$limit" "$@" >"$out/$name.log" 2>&1
  code=$?
  echo "   exit $code after $(($(date +%s) - start)) s; last lines of $name.log:"
  tail -n 6 "$out/$name.log" | sed 's/^/   /'
  [ $code -eq 0 ] || failed=1
}

wants() { case " $steps " in *" $1 "*) true ;; *) false ;; esac }

steps=${*:-build check sanitize bench}
nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem --format=csv >"$out/card.csv" 2>&1
if wants build; then
  step build 300 make -j"$jobs" CUDA_ARCH="$arch" programs tests build/bench/vec_bench
fi
if wants check; then
  step check-gpu 400 make CUDA_ARCH="$arch" JOBS="$jobs" check-gpu
fi
if wants sanitize && command -v compute-sanitizer >/dev/null 2>&1; then
  step memcheck 120 compute-sanitizer --tool memcheck --leak-check full --error-exitcode 9 build/tests/test_vec
  step initcheck 120 compute-sanitizer --tool initcheck --error-exitcode 9 build/tests/test_vec
  step racecheck 120 compute-sanitizer --tool racecheck --error-exitcode 9 build/tests/test_vec
fi
if wants bench; then
  step vec_bench 200 build/bench/vec_bench cuda "$out/vec_bench.json"
  cat "$out/vec_bench.log"
fi
exit $failed
