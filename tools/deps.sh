#!/bin/sh
# Installs what windrow needs, from the system's own packages.
#   tools/deps.sh              installs what is missing; fails only if something required stays missing
#   tools/deps.sh --list       says what is there and what is not, installs nothing
#   tools/deps.sh --hint ITEM  prints the command that installs ITEM (the build's messages use it)
set -u

required='gcc g++ make git'
optional='zlib zstd xz xxhash klu metis mpi clang sanitizers openmp clang-format pkg-config groff zsh matplotlib numpy scipy'

manager() {
  for tool in apt-get dnf pacman brew; do
    if command -v $tool >/dev/null 2>&1; then
      echo $tool
      return
    fi
  done
}

# item:apt-get:dnf:pacman:brew
packages() {
  cat <<'TABLE'
gcc:gcc libc6-dev:gcc:gcc:gcc
g++:g++:gcc-c++:gcc:gcc
make:make:make:make:make
git:git:git:git:git
zlib:zlib1g-dev:zlib-devel:zlib:zlib
zstd:libzstd-dev:libzstd-devel:zstd:zstd
xz:liblzma-dev:xz-devel:xz:xz
xxhash:libxxhash-dev:xxhash-devel:xxhash:xxhash
klu:libsuitesparse-dev:suitesparse-devel:suitesparse:suite-sparse
metis:libmetis-dev:metis-devel:metis:metis
mpi:libopenmpi-dev openmpi-bin:openmpi-devel:openmpi:open-mpi
clang:clang:clang:clang:llvm
sanitizers:libclang-rt-dev:compiler-rt:compiler-rt:llvm
openmp:libomp-dev:libomp-devel:openmp:libomp
clang-format:clang-format:clang-tools-extra:clang:clang-format
pkg-config:pkg-config:pkgconf-pkg-config:pkgconf:pkgconf
groff:groff-base:groff-base:groff:groff
zsh:zsh:zsh:zsh:zsh
matplotlib:python3-matplotlib:python3-matplotlib:python-matplotlib:python-matplotlib
numpy:python3-numpy:python3-numpy:python-numpy:numpy
scipy:python3-scipy:python3-scipy:python-scipy:scipy
dpkg-dev:dpkg-dev:::
TABLE
}

package_of() { # item
  case $manager in apt-get) field=2 ;; dnf) field=3 ;; pacman) field=4 ;; *) field=5 ;; esac
  packages | awk -F: -v item="$1" -v field=$field '$1 == item { print $field }'
}

install_command() { # packages...
  case $manager in
    apt-get) echo "apt-get install -y --no-install-recommends $*" ;;
    dnf) echo "dnf install -y $*" ;;
    pacman) echo "pacman -S --needed --noconfirm $*" ;;
    brew) echo "brew install $*" ;;
  esac
}

# Does clang compile and link this? Each flag needs a package of its own.
clang_links() { echo 'int main(void) { return 0; }' | clang "$@" -x c - -o /dev/null 2>/dev/null; }

present() { # item
  case $1 in
    gcc) echo '#include <stdio.h>' | ${CC:-gcc} -E - >/dev/null 2>&1 ;;
    zlib) printf '#include <zlib.h>\nint main(void) { return zlibVersion() == 0; }\n' |
      ${CC:-gcc} -x c - -lz -o /dev/null 2>/dev/null ;;
    zstd) printf '#include <zstd.h>\nint main(void) { return ZSTD_versionNumber() == 0; }\n' |
      ${CC:-gcc} -x c - -lzstd -o /dev/null 2>/dev/null ;;
    xz) printf '#include <lzma.h>\nint main(void) { return lzma_version_number() == 0; }\n' |
      ${CC:-gcc} -x c - -llzma -o /dev/null 2>/dev/null ;;
    xxhash) printf '#define XXH_INLINE_ALL\n#include <xxhash.h>\nint main(void) { return XXH3_64bits("", 0) == 0; }\n' |
      ${CC:-gcc} -x c - -o /dev/null 2>/dev/null ;;
    klu) printf '#if __has_include(<suitesparse/klu.h>)\n#include <suitesparse/klu.h>\n#else\n#include <klu.h>\n#endif\n%s\n' \
      'int main(void) { klu_l_common common; return klu_l_defaults(&common) == 0; }' |
      ${CC:-gcc} -x c - -lklu -o /dev/null 2>/dev/null ;;
    metis) printf '#include <metis.h>\nint main(void) { return METIS_Free(0) != METIS_OK; }\n' |
      ${CC:-gcc} -x c - -lmetis -o /dev/null 2>/dev/null ;;
    mpi) command -v mpicc >/dev/null 2>&1 && command -v mpirun >/dev/null 2>&1 ;;
    matplotlib | numpy | scipy) python3 -c "import $1" 2>/dev/null || /usr/bin/python3 -c "import $1" 2>/dev/null ;;
    dpkg-dev) command -v dpkg-shlibdeps >/dev/null 2>&1 ;;
    sanitizers) clang_links -fsanitize=thread ;;
    openmp) clang_links -fopenmp ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

purpose() { # item
  case $1 in
    zlib) echo 'reads gzip files' ;;
    zstd) echo 'reads zstd files' ;;
    xz) echo 'reads xz files' ;;
    klu) echo 'solves directly with --fallback direct' ;;
    metis) echo 'parts with few entries between them (--partition metis)' ;;
    mpi) echo 'several processes share a system (mpirun)' ;;
    clang) echo 'second compiler, thread sanitizer' ;;
    sanitizers) echo "clang's sanitizers (make check-tsan)" ;;
    openmp) echo 'OpenMP for clang (make check-tsan)' ;;
    clang-format) echo 'make format, and the layout check of make lint' ;;
    pkg-config) echo 'finds an installed windrow; its checks' ;;
    groff) echo 'checks of the man pages' ;;
    zsh) echo 'checks of the completion for zsh' ;;
    matplotlib) echo 'pictures of reports (tools/plot.py)' ;;
    numpy) echo 'windrow for Python' ;;
    scipy) echo 'its checks with matrices of SciPy' ;;
    dpkg-dev) echo 'makes the Debian package (make deb)' ;;
    *) echo 'required' ;;
  esac
}

missing() { # items...
  for item in "$@"; do present "$item" || echo "$item"; done
}

list() {
  for item in $required $optional; do
    if present "$item"; then state=found; else state=missing; fi
    printf '  %-13s %-8s %s\n' "$item" $state "$(purpose "$item")"
  done
  echo "  CUDA          is not a system package: install the CUDA toolkit 12.4 or newer, then PATH or CUDA_HOME shows it"
}

may_install() { [ "$(id -u)" = 0 ] || [ "$manager" = brew ] || command -v sudo >/dev/null 2>&1; }

run_as_root() {
  if [ "$(id -u)" = 0 ] || [ "$manager" = brew ]; then "$@"; else sudo "$@"; fi
}

# The index of packages, once. Without a network this fails soon, and what is cached may still be installed.
online=
refresh() {
  [ -z "$online" ] || return 0
  online=yes
  [ "$manager" = apt-get ] || return 0
  run_as_root apt-get -q -o Acquire::Retries=0 -o Acquire::http::Timeout=20 -o APT::Update::Error-Mode=any update \
    >"$log" 2>&1 || online=no
}

install_items() { # items...
  names=$(for item in "$@"; do package_of "$item"; done)
  if ! may_install; then
    # shellcheck disable=SC2086
    echo "deps: not root, and there is no sudo. As root:" $(install_command $names)
    return 1
  fi
  refresh
  # Word splitting is meant: a command line and a list of packages.
  # shellcheck disable=SC2046,SC2086
  set -- $(install_command $names)
  echo "deps: $*"
  DEBIAN_FRONTEND=noninteractive run_as_root "$@" >"$log" 2>&1 && return
  tail -n 2 "$log" | cut -c 1-200 | sed 's/^/  /'
  return 1
}

# All at once; if that fails one by one, so that some may succeed, unless the network fails.
install_all() { # items...
  [ $# != 0 ] || return 0
  install_items "$@" && return
  if [ -z "$online" ]; then
    return 1
  elif [ "$online" = no ]; then
    echo 'deps: the package index could not be read: is there a network?'
  elif [ $# -gt 1 ]; then
    for item in "$@"; do install_items "$item"; done
  fi
}

manager=$(manager)
[ "$manager" != apt-get ] || optional="$optional dpkg-dev"
case ${1:-} in
  --list) list; exit 0 ;;
  --hint)
    if [ -n "$manager" ]; then
      install_command "$(package_of "$2")" | sed 's/ -y --no-install-recommends//; s/ -y//; s/ --noconfirm//'
    else
      echo "install $2"
    fi
    exit 0 ;;
esac

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
needed=$(missing $required) wanted=$(missing $optional)
if [ -z "$needed$wanted" ]; then
  echo 'deps: everything is installed'
elif [ -z "$manager" ]; then
  echo "deps: no apt-get, dnf, pacman or brew here; please install:" $needed $wanted
else
  # shellcheck disable=SC2086
  install_all $needed
  # shellcheck disable=SC2086
  install_all $wanted
fi
list
# shellcheck disable=SC2086
needed=$(missing $required)
if [ -n "$needed" ]; then
  echo "deps: still missing, and needed:" $needed
  exit 1
fi
