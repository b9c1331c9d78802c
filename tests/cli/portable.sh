#!/bin/sh
# A portable build chooses wider instructions when it runs (config/wide.h). The sources with hot loops are compiled for any
# processor of this kind and take the place of those of the build at hand; spmv then checks every product.
# Needs: programs libraries
. tests/cli/lib.sh

CC=${CC:-gcc}
found() { sed -n "s/^FOUND_$1 := //p" "$BUILD/found.mk"; }
hot='spmv/backends/cpu_csr/cpu_csr.c spmv/backends/cpu_bsr/cpu_bsr_kernel.c spmv/device/vec_host.c spmv/device/epilogue_host.c'

# Those that use the macro, so that a further one is not forgotten here.
command='sources with WR_WIDE'
{ printf '%s\n' $hot | sed 's|/[^/]*$||' && echo config; } | sort -u >"$work/known"
grep -rl 'WR_WIDE' config spmv io solvers data --include='*.[ch]' | sed 's|/[^/]*$||' | sort -u >"$out"
same 'rooms of sources with WR_WIDE, and of those compiled here' "$work/known" "$out"

if [ -n "${SANITIZE:-}" ] || [ -n "$(found CUDA)" ]; then
  skip 10 'a sanitizer, or a build with CUDA, which is linked otherwise'
  report
  exit
fi
case $(uname -m) in x86_64) march=-march=x86-64 ;; *) march= ;; esac
for source in $hot; do
  # shellcheck disable=SC2086
  call 0 $CC -std=c11 -O2 $march -fno-math-errno -ffp-contract=off -fopenmp -I. -c "$source" -o "$work/$(basename "$source" .c).o"
done
# shellcheck disable=SC2046
call 0 $CC -fopenmp -o "$work/spmv" "$work"/*.o "$BUILD/obj/solvers/program/spmv_main.c.o" \
  "$BUILD/obj/solvers/program/comm_launch.c.o" "$BUILD/libwindrow.a" \
  $([ -z "$(found ZLIB)" ] || echo -lz) $([ -z "$(found ZSTD)" ] || echo -lzstd) $([ -z "$(found XZ)" ] || echo -llzma) \
  $(found KLU) -lpthread -lm
for columns in 1 3; do
  call 0 "$work/spmv" -k cpu_csr,cpu_bsr -p both --vectors $columns --batches 1 --seconds 0 gen:fem:n=3 gen:stencil:n=8 gen:road:side=40 \
    gen:web:n=2000 gen:hubs:n=70000,hubs=3 gen:density:n=40,block=8,density=0.5
  says "$out" 'every product right'
done
if [ -z "$march" ] || $CC --version | grep -q clang || ! ldd --version 2>/dev/null | grep -qi 'glibc\|gnu libc'; then
  skip 1 'only gcc on x86-64 with glibc makes something to choose'
else
  command='nm spmv'
  nm "$work/spmv" >"$out"
  grep -q '[.]avx2' "$out" && grep -q ' i ' "$out"
  expect 'there is no code for AVX2, or no choice'
fi
report
