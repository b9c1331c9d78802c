#!/bin/sh
# Finds the compiler, OpenMP, zlib, libzstd, liblzma, xxhash.h, KLU, METIS, MPI and CUDA and writes what it found as make variables into the file $1,
# which is left alone when nothing changed. The report is printed when something did. In the environment: CC, MARCH, CUDA, ZLIB,
# ZSTD, XZ, XXHASH, KLU, METIS and MPI (0: do not look), CUDA_ARCH, CUDA_HOME.
set -u
out=$1
here=$(dirname "$0")
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

hint() { sh "$here/deps.sh" --hint "$1"; }
set_var() { printf '%s := %s\n' "$1" "$2" >>"$work/vars"; }
say() { printf '  %-9s %s\n' "$1" "$2" >>"$work/report"; }
# CC may be two words ("ccache gcc"), so it stays without quotes.
links() { $CC "$work/try.c" -o "$work/try" "$@" 2>"$work/errors"; }
compiler_line() { $CC --version | head -n 1; }

find_compiler() {
  echo 'int main(void) { return 0; }' >"$work/try.c"
  if ! links; then
    echo "windrow: no working C compiler '$CC': $(hint gcc), or set CC" >&2
    exit 1
  fi
  set_var FOUND_COMPILER "$(compiler_line)"
  march=${MARCH:+-march=$MARCH}
  if [ -n "$march" ] && ! links "$march"; then
    march=
    say march "$CC knows no -march=$MARCH: code for the compiler's default processor"
  fi
  set_var MARCH_FLAG "$march"
}

find_openmp() {
  echo '#include <omp.h>
int main(void) { return omp_get_max_threads() < 1; }' >"$work/try.c"
  if ! links -fopenmp; then
    case $(compiler_line) in *clang*) item=openmp ;; *) item=gcc ;; esac
    echo "windrow: '$CC' has no OpenMP, which is needed: $(hint $item), or make deps" >&2
    exit 1
  fi
  say compiler "$(compiler_line), with OpenMP"
}

find_zlib() {
  if [ "${ZLIB:-}" = 0 ]; then
    set_var FOUND_ZLIB ''
    say zlib 'off (ZLIB=0): gzip files will be refused'
    return
  fi
  printf '#include <zlib.h>\nint main(void) { return zlibVersion() == 0; }\n' >"$work/try.c"
  if links -lz; then
    set_var FOUND_ZLIB 1
    say zlib 'found: gzip files are read'
  else
    set_var FOUND_ZLIB ''
    set_var LOOK_AGAIN 1
    say zlib "not found, gzip files will be refused: $(hint zlib), or make deps"
  fi
}

find_unpacker() { # variable, name, asked, flag, header, a call, files
  if [ "$3" = 0 ]; then
    set_var "FOUND_$1" ''
    say "$2" "off ($1=0): $7 files will be refused"
    return
  fi
  printf '#include <%s>\nint main(void) { return %s == 0; }\n' "$5" "$6" >"$work/try.c"
  if links "$4"; then
    set_var "FOUND_$1" 1
    say "$2" "found: $7 files are read"
  else
    set_var "FOUND_$1" ''
    set_var LOOK_AGAIN 1
    say "$2" "not found, $7 files will be refused: $(hint "$2"), or make deps"
  fi
}

# The header alone: its functions become part of the library.
find_xxhash() {
  set_var FOUND_XXHASH ''
  if [ "${XXHASH:-}" = 0 ]; then
    say xxhash "off (XXHASH=0): windrow's own XXH3 checks saved matrices"
    return
  fi
  printf '#define XXH_INLINE_ALL\n#include <xxhash.h>\nint main(void) { return XXH3_64bits("", 0) == 0; }\n' >"$work/try.c"
  if links; then
    set_var FOUND_XXHASH 1
    say xxhash 'found: checks saved matrices'
  else
    set_var LOOK_AGAIN 1
    say xxhash "not found, windrow's own XXH3 checks saved matrices: $(hint xxhash), or make deps"
  fi
}

# FOUND_KLU has the flags for the linker. Programs that do not use KLU do not name its libraries.
find_klu() {
  if [ "${KLU:-}" = 0 ]; then
    set_var FOUND_KLU ''
    say KLU 'off (KLU=0): --fallback direct will be refused'
    return
  fi
  cat >"$work/try.c" <<'CODE'
#if __has_include(<suitesparse/klu.h>)
#include <suitesparse/klu.h>
#else
#include <klu.h>
#endif
int main(void) { klu_l_common common; return klu_l_defaults(&common) == 0; }
CODE
  klu='-Wl,--push-state,--as-needed -lklu -lbtf -lamd -lcolamd -lsuitesparseconfig -Wl,--pop-state'
  # shellcheck disable=SC2086
  if links $klu -lm; then
    set_var FOUND_KLU "$klu"
    say KLU 'found: --fallback direct factorises'
  else
    set_var FOUND_KLU ''
    set_var LOOK_AGAIN 1
    say KLU "not found, --fallback direct will be refused: $(hint klu), or make deps"
  fi
}

# FOUND_METIS has the flags for the linker.
find_metis() {
  set_var FOUND_METIS ''
  if [ "${METIS:-}" = 0 ]; then
    say METIS 'off (METIS=0): --partition metis will be refused'
    return
  fi
  printf '#include <metis.h>\nint main(void) { return METIS_Free(0) != METIS_OK; }\n' >"$work/try.c"
  metis='-Wl,--push-state,--as-needed -lmetis -Wl,--pop-state'
  # shellcheck disable=SC2086
  if links $metis -lm; then
    set_var FOUND_METIS "$metis"
    say METIS 'found: --partition metis'
  else
    set_var LOOK_AGAIN 1
    say METIS "not found, --partition metis will be refused: $(hint metis), or make deps"
  fi
}

# FOUND_MPI has the flags for the compiler, and FOUND_MPI_LIBRARIES those for the linker, by mpicc: Open MPI's or MPICH's.
find_mpi() {
  set_var FOUND_MPI ''
  if [ "${MPI:-}" = 0 ]; then
    say MPI 'off (MPI=0): programs run in one process'
    return
  fi
  flags=$(mpicc -showme:compile 2>/dev/null) && libraries=$(mpicc -showme:link 2>/dev/null) || {
    flags=$(mpicc -compile_info 2>/dev/null | sed 's/^[^ ]* //') libraries=$(mpicc -link_info 2>/dev/null | sed 's/^[^ ]* //')
  }
  flags=$(echo " $flags" | sed 's/ -I/ -isystem /g')
  printf '#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n' >"$work/try.c"
  # shellcheck disable=SC2086
  if [ -n "$libraries" ] && links $flags $libraries; then
    sed -i '/^FOUND_MPI := $/d' "$work/vars"
    set_var FOUND_MPI "$flags"
    set_var FOUND_MPI_LIBRARIES "$libraries"
    say MPI 'found: mpirun starts processes that share a system'
  else
    set_var LOOK_AGAIN 1
    say MPI "not found, programs run in one process: $(hint mpi), or make deps"
  fi
}

no_cuda() { # reason, look again?
  set_var FOUND_CUDA ''
  set_var WHY_NO_CUDA "$1"
  [ -z "${2:-}" ] || set_var LOOK_AGAIN 1
  say CUDA "$1"
}

find_nvcc() {
  for nvcc in "$(command -v nvcc 2>/dev/null)" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" /usr/local/cuda/bin/nvcc; do
    if [ -n "$nvcc" ] && [ -x "$nvcc" ]; then
      readlink -f "$nvcc"
      return
    fi
  done
}

# The folder with the toolkit's libraries, or nothing.
find_cuda_libraries() { # root
  for folder in "$1/lib64" "$1/lib" "$1"/targets/*/lib /usr/lib/*-linux-gnu; do
    if [ -e "$folder/libcudart_static.a" ] && [ -e "$folder/libcusparse.so" ]; then
      echo "$folder"
      return
    fi
  done
}

# Sets arch and why: CUDA_ARCH, else that of the first card, else sm_90 with PTX, which newer cards translate.
choose_arch() {
  card=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d ' .')
  case $card in *[!0-9]*) card= ;; esac
  if [ -n "${CUDA_ARCH:-}" ]; then
    arch=$CUDA_ARCH why='as CUDA_ARCH says'
  elif [ -n "$card" ]; then
    arch=sm_$card why="this machine's card"
  else
    arch=sm_90 why='no card seen: sm_90 with PTX, CUDA_ARCH chooses another'
  fi
  number=${arch#sm_}
  gencode="arch=compute_$number,code=[sm_$number,compute_$number]"
}

find_cuda() {
  install='install the CUDA toolkit 12.4 or newer and have its nvcc in PATH or CUDA_HOME'
  [ "${CUDA:-}" != 0 ] || { no_cuda 'off (CUDA=0): CPU build'; return; }
  nvcc=$(find_nvcc)
  [ -n "$nvcc" ] || { no_cuda "nvcc not found, CPU build: $install" again; return; }
  version=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p')
  echo "${version:-0.0}" | awk -F. '{ exit !($1 > 12 || ($1 == 12 && $2 >= 4)) }' ||
    { no_cuda "$nvcc is ${version:-of unknown version}, 12.4 or newer is needed, CPU build: $install" again; return; }
  libraries=$(find_cuda_libraries "$(dirname "$(dirname "$nvcc")")")
  [ -n "$libraries" ] || { no_cuda "no libcusparse and libcudart_static beside $nvcc, CPU build: $install" again; return; }
  choose_arch
  echo '__global__ void nothing() {}' >"$work/try.cu"
  "$nvcc" -gencode "$gencode" -c "$work/try.cu" -o "$work/try.o" >"$work/errors" 2>&1 ||
    { no_cuda "$nvcc fails, CPU build: $(head -n 1 "$work/errors" | cut -c 1-200 | tr -d '#$')" again; return; }
  set_var FOUND_CUDA "$version"
  set_var NVCC "$nvcc"
  set_var CUDA_LIBRARIES "$libraries"
  set_var CUDA_HEADERS "$(dirname "$(dirname "$nvcc")")/include"
  set_var GENCODE "-gencode $gencode"
  set_var FOUND_CUBLAS "$([ ! -e "$libraries/libcublas.so" ] || echo 1)" # for a measurement alone
  say CUDA "$version ($nvcc) for $arch ($why)"
}

: >"$work/vars"
: >"$work/report"
find_compiler
find_openmp
find_zlib
find_unpacker ZSTD zstd "${ZSTD:-}" -lzstd zstd.h 'ZSTD_versionNumber()' .zst
find_unpacker XZ xz "${XZ:-}" -llzma lzma.h 'lzma_version_number()' .xz
find_xxhash
find_klu
find_metis
find_mpi
find_cuda
set_var ASKED "$CC|${MARCH:-}|${CUDA:-}|${CUDA_ARCH:-}|${CUDA_HOME:-}|${ZLIB:-}|${KLU:-}|${ZSTD:-}|${XZ:-}|${XXHASH:-}|${METIS:-}|${MPI:-}"
if ! cmp -s "$work/vars" "$out"; then
  mkdir -p "$(dirname "$out")"
  echo "windrow builds into $(dirname "$out") with"
  cat "$work/report"
  cp "$work/vars" "$out"
fi
