#!/bin/sh
# Two processes of bicgstab, two and three of pagerank over MPI, each with a card of its own, which is the CPU: backends of a
# GPU in parts. The answers are checked by one process.
# Needs: programs simt-mpi
. tests/cli/lib.sh

launcher=$(command -v mpirun)
if [ -z "$launcher" ] || [ ! -x "$BUILD/simt/bicgstab-mpi" ]; then
  skip 1 'no mpirun here, or a build without MPI or without kernels on the CPU'
  report
fi
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # as in parts.sh
export WR_SIMT=replay=off,devices=2

together() { # exit code, arguments of bicgstab...
  wanted=$1
  shift
  call "$wanted" timeout 120 "$launcher" --allow-run-as-root --oversubscribe -n 2 "$BUILD/simt/bicgstab" -d cuda "$@"
}

solves() { # options..., matrix
  rm -f "$work/x.mtx"
  together 0 -q -o "$work/x.mtx" "$@"
  says_nothing bicgstab
}

for backend in csr_thread csr_warp merbit sell_coded; do
  for precision in f64 f32; do
    solves -k $backend -p $precision gen:stencil:n=8
    run 0 bicgstab -q -p $precision --check "$work/x.mtx" gen:stencil:n=8
  done
done
solves --precond ilu0 gen:stencil:n=8,convection=0
run 0 bicgstab -q --check "$work/x.mtx" gen:stencil:n=8,convection=0
solves -k merbit --method idr gen:saddle:n=6
run 0 bicgstab -q --check "$work/x.mtx" gen:saddle:n=6

ranks() { # processes, options of both..., matrix
  processes=$1
  shift
  rm -f "$work/x.mtx"
  call 0 env WR_SIMT="replay=off,devices=$processes" timeout 120 "$launcher" --allow-run-as-root --oversubscribe \
    -n "$processes" "$BUILD/simt/pagerank" -d cuda -q -k $backend -o "$work/x.mtx" "$@"
  says_nothing pagerank
  run 0 pagerank -q --check "$work/x.mtx" "$@"
}
for backend in csr_thread merbit; do ranks 2 gen:web:n=500; done
backend=lane_csr
ranks 3 gen:rmat:scale=7,degree=6 -p f32
ranks 2 gen:road:side=20

# Fewer cards than processes.
export WR_SIMT=replay=off
for backend in '' '-k csr_warp'; do
  # shellcheck disable=SC2086
  together 4 $backend gen:stencil:n=8
  says "$err" 'there is no CUDA device 1: this machine has 1'
  [ "$(grep -c '^bicgstab: ' "$err")" = 1 ]
  expect 'not exactly one process says why'
done

report
