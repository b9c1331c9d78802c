#!/bin/sh
# Whole solves whose kernels run on the CPU: both programs of $BUILD/simt with backends of both places, in both precisions.
# The programs verify their answers themselves, and compare them with each other.
. tests/cli/lib.sh
backends=csr_thread,csr_warp,merbit,cpu_csr
export WR_SIMT=replay=off # conformance runs everything twice

if [ ! -x "$BUILD/simt/pagerank" ]; then
  skip 1 'this build has no programs whose kernels run on the CPU'
  report
fi

# All four are in the table, verified; none had to be refused or failed.
verified() { # program, arguments...
  program=$1
  shift
  call 0 "$BUILD/simt/$program" -k "$backends" --json "$work/report.json" "$@"
  for name in csr_thread csr_warp merbit cpu_csr; do
    grep -q "^$name " "$out"
    expect "no row of $name"
  done
  [ "$(grep -c '"met_tolerance": true' "$work/report.json")" = 4 ]
  expect 'not all four are verified'
}

for precision in f64 f32; do
  verified pagerank -p $precision gen:web:n=400
  verified bicgstab -p $precision gen:stencil:n=6,convection=0.4
done
verified bicgstab --precond jacobi tests/data/real/jpwh_991.mtx.gz

# What a device that is none says of itself, and what it cannot have.
call 0 "$BUILD/simt/bicgstab" -d cuda gen:stencil:n=4
says "$out" 'merbit on no card: the CPU in its place, epilogue fused'
call 4 "$BUILD/simt/pagerank" -k cusparse gen:chain:scale=3
says "$err" "the vendor's kernels need a card"
call 0 "$BUILD/simt/pagerank" --list-backends
says "$out" "the vendor's kernels need a card"
report
