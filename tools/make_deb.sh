#!/bin/sh
# Makes Debian packages of what was built, with dpkg-deb alone: windrow (the programs), libwindrowABI (the shared library),
# libwindrow-dev and, where python3 is found, python3-windrow. `make deb` sets what it needs, the same as for install_files.sh.
#   tools/make_deb.sh able   succeeds when packages can be made here; else says why not
#   tools/make_deb.sh        makes $BUILD/NAME_VERSION_ARCHITECTURE.deb of each and prints these names; COMPRESSION: options for
#                            dpkg-deb (-Zgzip -z1)
set -eu
here=$(dirname "$0")
if ! command -v dpkg-deb >/dev/null || ! command -v dpkg >/dev/null; then
  echo 'deb: no dpkg-deb here; Debian packages are made on Debian and its like' >&2
  exit 1
elif ! command -v dpkg-shlibdeps >/dev/null; then
  echo "deb: no dpkg-shlibdeps here, which finds the packages that a program needs: $(sh "$here/deps.sh" --hint dpkg-dev)" >&2
  exit 1
fi
[ "${1:-}" != able ] || exit 0

architecture=$(dpkg --print-architecture)
triplet=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
library=libwindrow$ABI
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX")
trap 'rm -rf "$work"' EXIT
trees=$BUILD/deb # a folder for each package
all=$trees/all   # what is installed, until it is in the packages

# ---- the packages of other libraries that a package needs ----

# The package that a library of this machine belongs to.
package_of() { # library's path
  for path in "$1" "/usr$1" "${1#/usr}"; do
    if owner=$(dpkg-query -S "$path" 2>/dev/null); then
      echo "${owner%%:*}"
      return
    fi
  done
  return 1
}

libraries() { # files; prints the paths of the libraries that they name
  for file in "$@"; do
    objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }' | while read -r name; do
      ldd "$file" | awk -v name="$name" '$1 == name && $3 ~ /^\// { print $3 }'
    done
  done | sort -u
}

# Of a package that does not say which of its versions has which symbols, the installed version or a newer one is asked for. A
# library of no package is noted in homeless.
undescribed() { # files
  libraries "$@" | while read -r path; do
    if ! owner=$(package_of "$path"); then
      basename "$path" >>"$work/homeless"
    elif [ -z "$(dpkg-query --control-path "$owner" shlibs)$(dpkg-query --control-path "$owner" symbols)" ]; then
      dpkg-query -W -f "$owner (>= \${Version})\n" "$owner"
    fi
  done | sort -u
}

# dpkg-shlibdeps must run in a folder with a debian/control.
described() { # files with full paths
  mkdir -p "$work/debian"
  printf 'Source: windrow\n\nPackage: windrow\nArchitecture: any\n' >"$work/debian/control"
  if ! (cd "$work" && dpkg-shlibdeps --ignore-missing-info -O "$@") >"$work/depends" 2>"$work/said"; then
    cat "$work/said" >&2
    return 1
  fi
  sed -n 's/^shlibs:Depends=//p' "$work/depends" | sed 's/, /\n/g'
}

needs_of() { # files; prints a list for Depends
  described "$@" >"$work/packages"
  undescribed "$@" >>"$work/packages"
  paste -sd, "$work/packages" | sed 's/,/, /g'
}

# ---- the parts ----

take() { # package, paths below /usr, which leave $all
  into=$trees/$1/usr
  shift
  for path in "$@"; do
    mkdir -p "$into/$(dirname "$path")"
    mv "$all/usr/$path" "$into/$path"
  done
}

# Makes a package of its folder. The rest of its control file, behind what all have, is standard input.
pack() { # package, architecture
  tree=$trees/$1 doc=$trees/$1/usr/share/doc/$1
  mkdir -p "$doc" "$tree/DEBIAN"
  cp "$here/../LICENSE" "$doc/copyright"
  chmod -R u=rwX,go=rX "$tree"
  {
    printf 'Package: %s\nSource: windrow\nVersion: %s\nArchitecture: %s\n' "$1" "$VERSION" "$2"
    printf 'Maintainer: %s <%s>\n' "${DEBFULLNAME:-Windrow}" "${DEBEMAIL:-windrow@localhost}"
    printf 'Installed-Size: %s\nPriority: optional\n' "$(du -sk "$tree/usr" | cut -f 1)"
    cat
    [ ! -s "$work/homeless" ] ||
      echo " Also needed, and in no package of the machine where this one was made: $(sort -u "$work/homeless" | paste -sd ' ' -)"
  } >"$tree/DEBIAN/control"
  : >"$work/homeless"
  (cd "$tree" && find usr -type f | sort | xargs md5sum) >"$tree/DEBIAN/md5sums"
  # shellcheck disable=SC2086
  dpkg-deb --root-owner-group ${COMPRESSION:-} --build "$tree" "$BUILD/$1_${VERSION}_$2.deb" >/dev/null
  echo "$BUILD/$1_${VERSION}_$2.deb"
}

make_programs() {
  take windrow bin share/man share/bash-completion share/zsh
  strip "$trees/windrow/usr/bin/"*
  gzip -9n "$trees"/windrow/usr/share/man/man1/*.1
  depends=$(needs_of "$trees/windrow/usr/bin/"*)
  pack windrow "$architecture" <<TXT
Depends: $depends
Section: math
Description: iterative solvers for sparse systems and graphs
 pagerank ranks the nodes of a graph, bicgstab solves a nonsymmetric linear
 system; both check their answer independently. spmv times multiplies. With
 manual pages and completion for bash and zsh.
TXT
}

make_library() {
  for name in "$VERSION" "$ABI"; do
    [ ! -L "$all/usr/lib/$triplet/libwindrow.so.$name" ] && [ ! -e "$all/usr/lib/$triplet/libwindrow.so.$name" ] || take "$library" "lib/$triplet/libwindrow.so.$name"
  done
  strip --strip-unneeded "$trees/$library/usr/lib/$triplet/libwindrow.so.$VERSION"
  depends=$(needs_of "$trees/$library/usr/lib/$triplet/libwindrow.so.$VERSION")
  mkdir "$trees/$library/DEBIAN"
  echo 'activate-noawait ldconfig' >"$trees/$library/DEBIAN/triggers"
  echo "libwindrow $ABI $library (>= $VERSION)" >"$trees/$library/DEBIAN/shlibs"
  pack "$library" "$architecture" <<TXT
Depends: $depends
Multi-Arch: same
Section: libs
Description: iterative solvers for sparse systems and graphs: shared library
 Linear systems with one or many right-hand sides, PageRank, and multiplies by
 sparse matrices, on the CPU or a GPU.
TXT
}

make_headers() {
  take libwindrow-dev include "lib/$triplet"
  mkdir -p "$trees/libwindrow-dev/usr/share/doc/libwindrow-dev"
  mv "$all/usr/share/doc/windrow/examples" "$trees/libwindrow-dev/usr/share/doc/libwindrow-dev"
  strip -g "$trees/libwindrow-dev/usr/lib/$triplet/libwindrow.a"
  pack libwindrow-dev "$architecture" <<TXT
Depends: $library (= $VERSION)
Multi-Arch: same
Section: libdevel
Description: iterative solvers for sparse systems and graphs: headers
 For programs in C, C++ and Fortran that use libwindrow: its headers, the
 static library, files for CMake and pkg-config, and examples.
TXT
}

# The package finds the shared library by its name.
make_python() {
  if ! command -v python3 >/dev/null; then
    echo 'deb: no python3 here, so there is no python3-windrow among the packages' >&2
    return
  fi
  python3 "$here/../python/make_wheel.py" --without-library "$trees/python3-windrow/usr/lib/python3/dist-packages"
  pack python3-windrow all <<TXT
Depends: python3 (>= 3.8), python3-numpy, $library (= $VERSION)
Recommends: python3-scipy
Suggests: python3-matplotlib
Section: python
Description: iterative solvers for sparse systems and graphs: Python 3
 PageRank, linear systems with the calling convention of SciPy, multiplies by
 sparse matrices, for arrays of NumPy and matrices of SciPy.
TXT
}

rm -rf "$trees"
: >"$work/homeless"
mkdir -p "$trees"
trees=$(cd "$trees" && pwd) # dpkg-shlibdeps is called from another folder
all=$trees/all
DESTDIR=$all PREFIX=/usr LIBDIR=lib/$triplet sh "$here/install_files.sh" install >/dev/null
make_programs
make_library
make_headers
make_python
