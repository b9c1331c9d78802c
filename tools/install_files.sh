#!/bin/sh
# Puts windrow below $DESTDIR$PREFIX, or takes it away again. `make install` and `make uninstall` set what it needs: BUILD
# (what was made), PREFIX, LIBDIR (below PREFIX), DESTDIR, VERSION, ABI, PROGRAMS, MPI_PROGRAMS (their forms for mpirun), HEADERS
# (names), PRIVATE_LIBS (what libwindrow.a needs besides).
#   tools/install_files.sh install | uninstall
set -eu
here=$(dirname "$0")
case $PREFIX in
  /*) ;;
  *) echo "install: PREFIX='$PREFIX' does not begin with /" >&2 && exit 1 ;;
esac
case $LIBDIR in
  '' | /* | */ | *//*) echo "install: LIBDIR='$LIBDIR' is no folder below PREFIX, such as lib" >&2 && exit 1 ;;
esac
base=${DESTDIR:-}$PREFIX
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX")
trap 'rm -rf "$work"' EXIT
made=share/doc/windrow/folders # those that installing has made, so that they can be removed

# What is installed: mode, source, place below PREFIX. A source of -> is a link to the last word.
contents() {
  for name in $PROGRAMS; do
    echo "755 $BUILD/$name bin/$name"
    echo "644 $BUILD/manual/$name.man share/man/man1/$name.1"
    echo "644 $BUILD/manual/$name.bash share/bash-completion/completions/$name"
    echo "644 $BUILD/manual/$name.zsh share/zsh/site-functions/_$name"
  done
  for name in ${MPI_PROGRAMS:-}; do echo "755 $BUILD/$name bin/$name"; done
  for name in $HEADERS; do echo "644 $BUILD/include/windrow/$name include/windrow/$name"; done
  echo "644 $BUILD/libwindrow.a $LIBDIR/libwindrow.a"
  echo "755 $BUILD/libwindrow.so $LIBDIR/libwindrow.so.$VERSION"
  [ "$ABI" = "$VERSION" ] || echo "-> libwindrow.so.$VERSION $LIBDIR/libwindrow.so.$ABI"
  echo "-> libwindrow.so.$ABI $LIBDIR/libwindrow.so"
  echo "644 $work/windrow.pc $LIBDIR/pkgconfig/windrow.pc"
  echo "644 $work/windrowConfig.cmake $LIBDIR/cmake/windrow/windrowConfig.cmake"
  echo "644 $work/windrowConfigVersion.cmake $LIBDIR/cmake/windrow/windrowConfigVersion.cmake"
  echo "644 $here/../LICENSE share/doc/windrow/LICENSE"
  for path in "$here"/../examples/*.c "$here"/../examples/*.f90; do echo "644 $path share/doc/windrow/examples/$(basename "$path")"; done
}

# The shared library names the libraries that it needs; -lm is for the arithmetic of the program itself. With the static library
# a program needs the others too.
pkg_config() {
  cat <<TXT
prefix=$PREFIX
libdir=\${prefix}/$LIBDIR
includedir=\${prefix}/include

Name: windrow
Description: iterative solvers for sparse systems and graphs, over interchangeable matrix-vector products
Version: $VERSION
Cflags: -I\${includedir}
Libs: -L\${libdir} -lwindrow -lm
Libs.private: $PRIVATE_LIBS
TXT
}

# For find_package(windrow): the target windrow::windrow. The folder that holds the library is found from where this file lies,
# so the tree may be moved.
cmake_config() {
  cat <<TXT
get_filename_component(windrow_prefix "\${CMAKE_CURRENT_LIST_DIR}/../../$(echo "$LIBDIR" | sed 's|[^/][^/]*|..|g')" ABSOLUTE)
if(NOT TARGET windrow::windrow)
  add_library(windrow::windrow SHARED IMPORTED)
  set_target_properties(windrow::windrow PROPERTIES
    IMPORTED_LOCATION "\${windrow_prefix}/$LIBDIR/libwindrow.so.$VERSION"
    IMPORTED_SONAME "libwindrow.so.$ABI"
    INTERFACE_INCLUDE_DIRECTORIES "\${windrow_prefix}/include")
endif()
unset(windrow_prefix)
TXT
}

# Before 1.0 a program needs the minor version that it was written for, as the name of the library says; after that any version
# of the same major one that is not older.
cmake_version() {
  cat <<TXT
set(PACKAGE_VERSION "$VERSION")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR NOT "\${PACKAGE_FIND_VERSION}." MATCHES "^$(echo "$ABI" | sed 's/[.]/[.]/g')[.]")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
TXT
}

# Makes a folder and those above it that are missing, and notes them, the deepest last.
make_folder() { # path
  [ ! -d "$1" ] || return 0
  make_folder "$(dirname "$1")"
  mkdir "$1"
  case $1 in
    "$base"/*) echo "${1#"$base"/}" >>"$notes" ;;
    *) echo "/${1#"${DESTDIR:-}"/}" >>"$notes" ;;
  esac
}

put() { # mode, source, place
  make_folder "$(dirname "$base/$3")"
  if [ "$1" = '->' ]; then
    ln -sf "$2" "$base/$3"
  else
    install -m "$1" "$2" "$base/$3"
  fi
}

install_all() {
  notes=$work/folders
  if [ -f "$base/$made" ]; then cp "$base/$made" "$notes"; else : >"$notes"; fi
  pkg_config >"$work/windrow.pc"
  cmake_config >"$work/windrowConfig.cmake"
  cmake_version >"$work/windrowConfigVersion.cmake"
  contents >"$work/contents"
  while read -r mode source place; do put "$mode" "$source" "$place"; done <"$work/contents"
  install -m 644 "$notes" "$base/$made"
  echo "windrow $VERSION is installed in $base"
  [ -n "${DESTDIR:-}" ] || echo "programs linked with -lwindrow find it after ldconfig, or with LD_LIBRARY_PATH=$base/$LIBDIR"
}

# Folders go from the deepest up, and only empty ones that installing had made.
uninstall_all() {
  folders=
  [ ! -f "$base/$made" ] || folders=$(sort -r "$base/$made")
  contents | while read -r mode source place; do rm -f "$base/$place"; done
  for name in $PROGRAMS; do rm -f "$base/bin/$name-mpi"; done # whether MPI was found then is not known
  rm -f "$base/$made"
  printf '%s\n' "$folders" | while IFS= read -r folder; do
    case $folder in
      '') ;;
      /*) rmdir "${DESTDIR:-}$folder" 2>/dev/null || : ;;
      *) rmdir "$base/$folder" 2>/dev/null || : ;;
    esac
  done
}

case ${1:-} in
  install) install_all ;;
  uninstall) uninstall_all ;;
  *) echo 'usage: install_files.sh install|uninstall' >&2 && exit 1 ;;
esac
