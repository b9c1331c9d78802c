#!/bin/sh
# Everything that only a machine with a card can show, in one go: build, tests, checks by compute-sanitizer, and the times
# of the vector operations and of one multiply by every backend. Results go to the folder OUT (default: build/gpu); a step
# that fails does not stop the next. Exit status: 0 if all steps passed.
#   CUDA_ARCH=sm_90 JOBS=16 OUT=DIR sh tests/bench/gpu_session.sh [build|check|sanitize|bench ...]     default: all
#   OWN='csr_warp csr_thread'   backends that conformance tests under the sanitizer (all on the card but NVIDIA's)
#   ALSO='vec sort'  other tests that are sanitized     FEW=9  of how many cases racecheck takes one
#   TOOLS='memcheck racecheck'  compute-sanitizer's tools (all four)     LIMIT=240  seconds for each of its runs
#   BENCH='-d cuda -p f64 gen:web'  what spmv is given (-d cuda --cold --standard: the standard matrices)
set -u
out=${OUT:-build/gpu}
arch=${CUDA_ARCH:-sm_90}
jobs=${JOBS:-16}
limit=${LIMIT:-240}
tools=${TOOLS:-memcheck initcheck racecheck synccheck}
failed=0
mkdir -p "$out"

step() { # name, limit in seconds, command
  name=$1 seconds=$2
  shift 2
  echo "== $name"
  start=$(date +%s)
  timeout -k 20 "$seconds" "$@" >"$out/$name.log" 2>&1
  code=$?
  echo "   exit $code after $(($(date +%s) - start)) s; last lines of $name.log:"
  tail -n 6 "$out/$name.log" | sed 's/^/   /'
  [ $code -eq 0 ] || failed=1
}

has_step() { case " $steps " in *" $1 "*) true ;; *) false ;; esac }

# The backends that run on the card here: names in the first section of --list-backends, without those that call NVIDIA's
# libraries.
own_backends() {
  build/pagerank --list-backends | awk '
    /^[A-Z]/ { available = /^Available/ }
    /^[a-z]/ && available && $2 == "GPU" && $1 !~ /^cusparse/ { print $1 }'
}

# racecheck follows every access to shared memory and takes a hundred times as long as the others: a few cases have to do.
few_for() { # tool
  case $1 in racecheck) echo "WR_EVERY=${FEW:-9}" ;; *) echo 'WR_EVERY=1' ;; esac
}

# A test program under one tool; a test that finds no device fails.
sanitize() { # tool, name of the step, program and arguments
  tool=$1 what=$2
  shift 2
  leaks=
  # Tests ask for more memory than there is; the code checks every call by itself.
  [ "$tool" = memcheck ] && leaks='--leak-check full --report-api-errors no'
  # shellcheck disable=SC2086
  step "$tool-$what" "$limit" env WR_NEED_GPU=1 WR_SHORT=1 "$(few_for "$tool")" compute-sanitizer --tool "$tool" $leaks --error-exitcode 9 "$@"
}

sanitize_all() {
  own=${OWN:-$(own_backends)}
  [ -n "$own" ] || echo "== sanitize: no backend of our own runs on a card here"
  for tool in $tools; do
    for test in ${ALSO:-vec vec_fused sort async_copy compact device_memory bsr_build transpose_device scale_device resident resident_joined programs}; do sanitize "$tool" $test build/tests/test_$test; done
    # shellcheck disable=SC2086
    [ -z "$own" ] || sanitize "$tool" conformance build/tests/test_conformance_small $own
  done
}

# Tests of many processes at once wait for each other fifteen times as long without CUDA's multi-process service.
share_card() {
  CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d) CUDA_MPS_LOG_DIRECTORY=$(mktemp -d)
  export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  nvidia-cuda-mps-control -d >/dev/null 2>&1 && return
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

unshare_card() {
  [ -n "${CUDA_MPS_PIPE_DIRECTORY:-}" ] || return
  echo quit | nvidia-cuda-mps-control >/dev/null 2>&1
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

steps=${*:-build check sanitize bench}
nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem --format=csv >"$out/card.csv" 2>&1
if has_step build; then
  step build 400 make -j"$jobs" CUDA_ARCH="$arch" programs tests build/bench/vec_bench
fi
if has_step check; then
  share_card
  step check-gpu 500 make CUDA_ARCH="$arch" JOBS="$jobs" check-gpu
  unshare_card
fi
if has_step sanitize; then
  if command -v compute-sanitizer >/dev/null 2>&1; then
    sanitize_all
  else
    echo "== sanitize: there is no compute-sanitizer in PATH; it comes with the CUDA toolkit"
    failed=1
  fi
fi
if has_step bench; then
  step vec_bench 200 build/bench/vec_bench cuda "$out/vec_bench.json"
  cat "$out/vec_bench.log"
  # shellcheck disable=SC2086
  step spmv 400 build/spmv --json "$out/spmv.json" ${BENCH:--d cuda --cold --standard}
  cat "$out/spmv.log"
fi
exit $failed
