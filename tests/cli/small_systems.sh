#!/bin/sh
# Small systems, many of them singular, judged by exact rational arithmetic: tests/solvers/small_systems.py. SYSTEMS=20000 for
# a longer run (2000).
. tests/cli/lib.sh

campaign() { # program, how many systems, backends, most iterations
  python3 tests/solvers/small_systems.py --program "$1" --systems "$2" --backends "$3" --iterations "$4" --work "$work" \
    >"$out" || cat "$out" >&2
  # shellcheck disable=SC2046
  set -- $(sed -n 's/^small_systems: \([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' "$out")
  passed=$((passed + ${1:-0}))
  failed=$((failed + ${2:-1}))
}

if ! command -v python3 >/dev/null; then
  skip 1 'python3 is missing, which computes exact residuals'
else
  campaign "$BUILD/bicgstab" "${SYSTEMS:-2000}" reference,cpu_csr,cpu_bsr 0
  if [ -x "$BUILD/simt/bicgstab" ]; then # kernels on the CPU: loops that a device repeats by itself
    campaign "$BUILD/simt/bicgstab" $((${SYSTEMS:-2000} / 20)) merbit,csr_thread,csr_warp,cb_spmv,bsr_unrolled 100
  fi
fi
report
