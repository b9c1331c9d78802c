#!/bin/sh
# The advice in reports to take a backend that suits the matrix better: given without an option, in text and JSON, and not
# where the better one is in the same table.
# Needs: programs simt-programs
. tests/cli/lib.sh
json=$work/report.json

advised() { # better backend or "", text, program, arguments...
  better=$1 sentence=$2
  shift 2
  call 0 "$@" --json "$json"
  grep -q "\"better\": \"$better\"" "$json"
  expect "$*: '$better' is not what the JSON names"
  if [ -n "$better" ]; then
    says "$out" "$sentence"
  else
    ! grep -qE '^  advice|^instead of' "$out"
    expect "$*: advice for nothing"
  fi
}

bicgstab="$BUILD/bicgstab -d cpu"
advised cpu_bsr 'advice cpu_bsr reads less: blocks of 3 x 3: fill 1.0' $bicgstab -k cpu_csr gen:fem:n=6
advised cpu_csr 'advice cpu_csr reads less: blocks of 4 x 4: fill ' $bicgstab -k cpu_bsr:r=4:c=4 gen:stencil:n=6
advised '' '' $bicgstab -k cpu_bsr gen:fem:n=6
advised '' '' $bicgstab -k cpu_csr gen:stencil:n=6
advised '' '' $bicgstab -k cpu_csr gen:fem:n=3
advised cpu_bsr 'instead of cpu_csr: cpu_bsr reads less: blocks of 3 x 3' "$BUILD/spmv" -k cpu_csr --batches 1 --seconds 0 \
  -p f64 gen:fem:n=6
call 0 $bicgstab -k cpu_csr,cpu_bsr gen:fem:n=6
! grep -q 'instead of' "$out"
expect 'advice to take what is in the table'
call 0 $bicgstab -q -k cpu_csr gen:fem:n=6
is_empty "$out"

if [ -x "$BUILD/simt/bicgstab" ]; then
  export WR_SIMT=replay=off
  simt="$BUILD/simt/bicgstab -d cuda"
  advised bsr_unrolled 'advice bsr_unrolled reads less: blocks of 3 x 3' $simt -k merbit gen:fem:n=5
  advised merbit 'advice merbit reads less: blocks of 4 x 4: fill ' $simt -k bsr_unrolled:r=4:c=4 gen:stencil:n=6
  advised merbit 'advice merbit reads less: these blocks take ' "$BUILD/simt/pagerank" -d cuda -k cb_spmv gen:web:n=200
  advised '' '' "$BUILD/simt/pagerank" -d cuda -k merbit gen:web:n=200
else
  skip 1 'this build has no programs with kernels that run on the CPU'
fi
report
