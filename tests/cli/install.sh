#!/bin/sh
# What `make install` puts somewhere is enough to compile, link and run; `make uninstall` leaves nothing; the package holds the
# same. With the settings of the build at hand, so that nothing is made anew.
# Needs: programs libraries manuals
build=${BUILD:-build} # spelt as for make, which knows its objects by that name
. tests/cli/lib.sh
MAKEFLAGS=$(echo " ${MAKEFLAGS:-}" | sed 's/ -j[0-9]*//g; s/ --jobserver-[a-z]*=[^ ]*//g') # without the job server of the make that runs this
export MAKEFLAGS
unset PREFIX DESTDIR
asked=$(sed -n 's/^ASKED := //p' "$BUILD/found.mk")
ours() { echo "$asked" | cut -d '|' -f "$1"; }
ours_found() { sed -n "s/^FOUND_$1 := //p" "$BUILD/found.mk"; }
CC=$(ours 1)
instrument=${SANITIZE:+-fsanitize=$SANITIZE}

build_to() { # arguments...
  ${MAKE:-make} -s BUILD="$build" CC="$CC" MARCH="$(ours 2)" CUDA="$(ours 3)" CUDA_ARCH="$(ours 4)" \
    CUDA_HOME="$(ours 5)" ZLIB="$(ours 6)" KLU="$(ours 7)" ZSTD="$(ours 8)" XZ="$(ours 9)" XXHASH="$(ours 10)" \
    METIS="$(ours 11)" MPI="$(ours 12)" "$@"
}

files_in() { (cd "$1" && find . ! -type d | sort); }

# Staged below DESTDIR, away again, and a folder that was there stays.
test_staged() {
  stage=$work/stage
  mkdir -p "$stage/opt/w/lib"
  call 0 build_to install DESTDIR="$stage" PREFIX=/opt/w
  for place in bin/pagerank bin/bicgstab lib/libwindrow.a lib/libwindrow.so lib/pkgconfig/windrow.pc \
    include/windrow/windrow.h include/windrow/deep.h lib/cmake/windrow/windrowConfig.cmake share/man/man1/pagerank.1 share/bash-completion/completions/bicgstab \
    share/zsh/site-functions/_pagerank share/doc/windrow/examples/own_backend.c; do
    [ -s "$stage/opt/w/$place" ]
    expect "$place is missing"
  done
  ! grep -rlF "$stage" "$stage" >"$out"
  expect 'what is installed names the stage'
  files_in "$stage" >"$work/first"
  call 0 build_to install DESTDIR="$stage" PREFIX=/opt/w
  files_in "$stage" >"$work/second"
  same 'installing twice' "$work/first" "$work/second"
  call 0 build_to uninstall DESTDIR="$stage" PREFIX=/opt/w
  find "$stage" | sort >"$out"
  printf '%s\n' "$stage" "$stage/opt" "$stage/opt/w" "$stage/opt/w/lib" >"$work/before"
  same 'what uninstall leaves' "$work/before" "$out"
  call 2 build_to install DESTDIR="$stage" PREFIX=opt
  says "$err" "does not begin with /"
  call 2 build_to install DESTDIR="$stage" PREFIX=/opt/w LIBDIR=/lib
  says "$err" "is no folder below PREFIX"
}

flags() { PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config "$@" windrow; }

compile() { # to, flags for the link...; then the examples are run
  folder=$work/$1
  shift
  mkdir "$folder"
  for source in "$prefix"/share/doc/windrow/examples/*.c; do
    # shellcheck disable=SC2046,SC2086
    call 0 $CC -std=c11 -Wall -Wextra -Wpedantic -Werror $instrument $(flags --cflags) "$source" \
      -o "$folder/$(basename "$source" .c)" "$@"
  done
  call 0 env EXAMPLES="$folder" LD_LIBRARY_PATH="$prefix/lib" BUILD="$BUILD" sh tests/cli/examples.sh
}

test_links() {
  if ! command -v pkg-config >/dev/null; then
    skip 53 'no pkg-config here'
    return
  fi
  # shellcheck disable=SC2046
  compile shared $(flags --libs)
  objdump -p "$folder/rank_graph" | grep -q "NEEDED *libwindrow[.]so[.][0-9]"
  expect 'rank_graph does not ask for the shared library'
  # shellcheck disable=SC2046
  compile static $(flags --libs --static | sed 's/-lwindrow/-l:libwindrow.a/')
  ! objdump -p "$folder/rank_graph" | grep -q libwindrow
  expect 'rank_graph asks for the shared library'
  if [ -n "$instrument" ] || ! echo 'int main(void) { return 0; }' |
    $CC -x c - -static -fopenmp $(has_zlib && echo -lz) ${zstd:+-lzstd} ${xz:+-llzma} $(ours_found KLU) -lm -o "$work/try" 2>/dev/null || [ -n "$(ours_found CUDA)" ]; then
    skip 1 'no static program can be linked here: a library has no static form, or is a sanitizer'
  else
    # shellcheck disable=SC2046
    compile whole -static $(flags --libs --static)
    ! objdump -p "$folder/rank_graph" | grep -q NEEDED
    expect 'rank_graph, linked with -static, asks for a shared library'
  fi
  call 0 flags --modversion
  call 0 "$prefix/bin/pagerank" --version
  [ "$(cat "$out")" = "pagerank (windrow) $(flags --modversion)" ]
  expect 'pkg-config tells another version'
}

# Every standard of C since C99, the flat interface alone.
test_c() {
  cat >"$work/try_flat.c" <<'TXT'
#include <windrow/windrow.h>
int main(void) {
  const int32_t row_ptr[] = {0, 1, 2}, col[] = {0, 1};
  const double val[] = {2, 4}, b[] = {2, 8};
  double x[2] = {0, 0};
  wr_solve_options options;
  wr_solve_result result;
  WR_INIT(options);
  WR_INIT(result);
  options.tolerance = 1e-12;
  if (wr_solve_csr(2, row_ptr, col, val, b, x, &options, &result) != WR_OK) return 1;
  return result.outcome != WR_CONVERGED || x[0] < 0.999 || x[0] > 1.001 || x[1] < 1.999 || x[1] > 2.001;
}
TXT
  for standard in 99 11 17; do
    # shellcheck disable=SC2086
    call 0 $CC -std=c$standard -Wall -Wextra -Wpedantic -Werror $instrument -I"$prefix/include" "$work/try_flat.c" \
      -o "$work/try" -L"$prefix/lib" -lwindrow
    call 0 env LD_LIBRARY_PATH="$prefix/lib" "$work/try"
  done
}

# Every standard since C++11: the flat interface, and the functions that are defined in the deeper headers.
test_cpp() {
  cat >"$work/try_deep.cpp" <<'TXT'
#include <windrow/windrow.h>
#include <windrow/deep.h>
int main() {
  bool units = wr_type_unit(WR_F32) == 1.0 / (1 << 24) && wr_type_unit(WR_F64) == 1.0 / (1LL << 53);
  return !units || wr_version()[0] == 0 || wr_outcome_title(WR_CONVERGED)[0] == 0;
}
TXT
  for standard in 11 14 17 20; do
    # shellcheck disable=SC2086
    for source in try_flat.c try_deep.cpp; do
      # shellcheck disable=SC2086
      call 0 $CC -x c++ -std=c++$standard -Wall -Wextra -Wpedantic -Werror $instrument -I"$prefix/include" "$work/$source" \
        -o "$work/try" -L"$prefix/lib" -lwindrow
      call 0 env LD_LIBRARY_PATH="$prefix/lib" "$work/try"
    done
  done
}

# The rows are dominated by their diagonal by 1/2 at least, so the error is at most 2 ||b - A x||; ||b|| is 9204.
test_fortran() {
  if ! command -v gfortran >/dev/null || [ -n "$instrument" ]; then
    skip 3 'no gfortran here, or a sanitizer, which needs its C compiler'
    return
  fi
  call 0 gfortran -std=f2008 -Wall -Wextra -Wpedantic -Werror -J "$work" "$prefix/share/doc/windrow/examples/windrow.f90" \
    "$prefix/share/doc/windrow/examples/solve_fortran.f90" -o "$work/solve_fortran" -L"$prefix/lib" -lwindrow
  call 0 env LD_LIBRARY_PATH="$prefix/lib" "$work/solve_fortran"
  awk '{ found = $1 == "converged" && $3 > 0 && $7 + 0 <= 2e-8 && $9 + 0 <= 1e-12 && $9 > 0 } END { exit NR != 1 || !found }' "$out"
  expect 'the answer is wrong'
}

# Pages whose blocks compile and run programs.
test_page() { # page, commands that it needs besides
  page=$1
  shift
  for needed in pkg-config cmake "$@"; do
    if ! command -v "$needed" >/dev/null || [ -n "$instrument" ]; then
      skip 1 "$page needs $* pkg-config, cmake and no sanitizer"
      return
    fi
  done
  (
    export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" CMAKE_PREFIX_PATH="$prefix" LD_LIBRARY_PATH="$prefix/lib" PREFIX="$prefix" CC="$CC" \
      CUDA_VISIBLE_DEVICES='' WINDROW="$PWD" PATH="$work/bin:$prefix/bin:$PATH" PYTHONPATH="$PWD/python" OMP_NUM_THREADS=2 \
      WINDROW_LIBRARY="$prefix/lib/libwindrow.so"
    page "$page"
    echo "$passed $failed $skipped" >"$work/counts"
  )
  read -r passed failed skipped <"$work/counts"
}

# Its python3 is one with numpy.
test_jobs() {
  python=$(command -v "$(python_with numpy)")
  if ! "$python" -c 'import numpy' 2>/dev/null; then
    skip 1 'docs/three_jobs.md needs numpy'
    return
  fi
  mkdir "$work/bin"
  ln -s "$python" "$work/bin/python3"
  test_page docs/three_jobs.md gfortran
}

# In a copy of what is installed, since the tree may be moved.
test_cmake() {
  if ! command -v cmake >/dev/null; then
    skip 7 'no cmake here'
    return
  fi
  mkdir "$work/project"
  cp -R "$prefix" "$work/moved"
  cp "$work/try_flat.c" "$work/project"
  cat >"$work/project/CMakeLists.txt" <<'TXT'
cmake_minimum_required(VERSION 3.13)
project(try C)
find_package(windrow ${RELEASE} REQUIRED)
add_executable(try_flat try_flat.c)
target_link_libraries(try_flat windrow::windrow)
TXT
  version=$(sed -n 's/^.define WR_VERSION "\(.*\)"/\1/p' config/version.h)
  for release in '' "$version"; do
    call 0 cmake -S "$work/project" -B "$work/made$release" -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="$instrument" \
      -DCMAKE_PREFIX_PATH="$work/moved" -DRELEASE="$release"
    call 0 cmake --build "$work/made$release"
    call 0 "$work/made$release/try_flat"
  done
  call 1 cmake -S "$work/project" -B "$work/other" -DCMAKE_C_COMPILER="$CC" -DCMAKE_PREFIX_PATH="$work/moved" -DRELEASE=99.1
  rm -r "$work/moved"
}

# Each header stands alone, and the library exports what they declare: here by their text, not by the compiler.
test_surface() {
  for header in "$prefix"/include/windrow/*.h; do
    echo "#include <windrow/$(basename "$header")>" >"$work/try.c"
    # shellcheck disable=SC2086
    call 0 $CC -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -fsyntax-only "$work/try.c"
  done
  command='exported symbols'
  awk -f tools/code_only.awk "$prefix"/include/windrow/*.h | cut -f 3 | grep -vE '^ |^#|^static|^typedef|^}' >"$work/code"
  { grep -oE 'wr_[a-z_0-9]+ *[(]' "$work/code" && sed -n 's/^extern const.* \(wr_[a-z_0-9]*\);.*/\1/p' "$work/code"; } |
    tr -d ' (' | sort >"$work/declared"
  nm -D --defined-only "$prefix/lib/libwindrow.so" | awk '$2 != "A" { print $3 }' | sort >"$work/exported"
  sed 's/@@WINDROW_[0-9.]*$//' "$work/exported" | sort >"$out"
  [ -s "$out" ] && ! grep -vq '@@WINDROW_[0-9]' "$work/exported"
  expect 'symbols without a version'
  [ -n "$instrument" ] || same 'exported and declared' "$work/declared" "$out"
}

option_names() { "$prefix/bin/$1" --help | grep -oE '^ +(-[a-z], )?--[a-z-]+' | grep -oE '[-]-[a-z-]+' | sort -u; }

# Those that the manual calls not available are not completed.
available_names() { # program
  sed 's/\\-/-/g' "$prefix/share/man/man1/$1.1" | awk '
    /^[.]B/ { if (match($0, /--[a-z-]+/)) name = substr($0, RSTART, RLENGTH) }
    /^Not available/ { print name }' >"$work/missing"
  option_names "$1" | grep -vxFf "$work/missing"
}

# Lines of a page as plain text.
unescaped() { sed 's/\\-/-/g; s/\\(dq/"/g; s/\\&//g; s/\\f[BIR]//g'; }

# A section of the page, without its heading.
section() { # title
  sed -n "/^[.]SH $1\$/,/^[.]SH/p" "$page" | grep -v '^[.]SH'
}

# What --help says above the options, without its first line: description, examples, exit codes.
says_of_itself() { "$prefix/bin/$1" --help | sed -n '2,/^$/p'; }

test_manual() { # program
  page=$prefix/share/man/man1/$1.1 command="$1.1"
  option_names "$1" >"$work/options"
  section OPTIONS | grep '^[.]B' | unescaped | grep -oE '[-]-[a-z-]+' | sort -u >"$out"
  [ -s "$out" ]
  expect 'no options'
  same 'options in --help and in the manual' "$work/options" "$out"
  section SYNOPSIS | tr '\n' ' ' | sed 's/^[.]B /usage: /; s/ $//' | unescaped >"$out"
  [ "$(cat "$out")" = "$("$prefix/bin/$1" --help | head -n 1)" ]
  expect 'another synopsis than in --help'
  says_of_itself "$1" | sed "/^  $1 /,\$d" | tr -d : | tr -s ' \n' '\n' >"$work/description"
  section DESCRIPTION | sed 's/^[.]B //; /^[.]/d' | unescaped | tr -d : | tr -s ' \n' '\n' >"$out"
  [ "$(wc -l <"$out")" -ge 10 ]
  expect 'hardly a description'
  same 'description in --help and in the manual' "$work/description" "$out"
  says_of_itself "$1" | sed -n "s/^  \($1 .*[^ ]\)  .*/\1/p" >"$work/examples"
  section EXAMPLES | sed -n 's/^[.]B //p' | unescaped >"$out"
  [ -s "$out" ]
  expect 'no examples'
  same 'examples in --help and in the manual' "$work/examples" "$out"
  says_of_itself "$1" | sed -n '/^Exit:/,$p' | grep -oE '[0-9]+ [a-z]' | cut -d ' ' -f 1 >"$work/codes"
  section 'EXIT STATUS' | sed -n 's/^[.]B //p' >"$out"
  same 'exit codes in --help and in the manual' "$work/codes" "$out"
  if command -v mandoc >/dev/null; then
    call 0 mandoc -Tlint "$page"
  fi
  if ! command -v groff >/dev/null || ! groff -man -Tascii -z "$page" 2>/dev/null; then
    skip 1 'no groff here that knows man'
    return
  fi
  call 0 groff -man -Tascii -ww -z "$page"
  is_empty "$err"
}

# What bash offers for the last of the words, as bash cuts them.
offers() { # texts joined by blanks, words...
  offered=$1
  shift
  # shellcheck disable=SC2016
  call 0 bash -c '. "$1" && shift && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); "_windrow_$1"; echo "${COMPREPLY[*]}"' \
    bash "$prefix/share/bash-completion/completions/$1" "$@"
  [ "$(cat "$out")" = "$offered" ]
  expect "bash does not offer '$offered' for '$*'"
  is_empty "$err"
}

test_bash() {
  if ! command -v bash >/dev/null; then
    skip 27 'no bash here'
    return
  fi
  offers --precision pagerank --prec
  offers 'f32 f64' bicgstab -p ''
  offers in pagerank --edges = i
  offers cpu_csr,reference pagerank -k cpu_csr,ref
  offers 'sample:' pagerank --verify s
  offers web pagerank gen : we
  offers tests/cli/install.sh bicgstab -o tests/cli/inst
  offers tests/cli/install.sh bicgstab tests/cli/inst
  offers '' bicgstab --threads ''
}

# zsh's own functions need a terminal, so only their arguments are checked.
test_zsh() {
  if ! command -v zsh >/dev/null; then
    skip 9 'no zsh here'
    return
  fi
  for program in pagerank bicgstab spmv; do
    # shellcheck disable=SC2016
    call 0 zsh -f -c '_arguments() { print -rl -- "$@"; }; . $1' zsh "$prefix/share/zsh/site-functions/_$program"
    is_empty "$err"
    grep -oE '^([(][^)]*[)])?--[a-z-]+' "$out" | sed 's/.*--/--/' | sort -u >"$work/told"
    available_names $program >"$work/options"
    same 'options in --help and for zsh' "$work/options" "$work/told"
  done
}

# What a package asks for, a line each, and what it holds, without its folders.
depends_of() { dpkg-deb -f "$1" Depends | sed 's/, /\n/g'; }
held_by() { dpkg-deb --fsys-tarfile "$1" | tar -t | grep -v '/$' | sed 's|^[.]/||' | sort; }

holds() { # package's file, places...
  command="dpkg-deb -c $1"
  held_by "$1" >"$out"
  shift
  for place in "$@"; do
    grep -qx "$place" "$out"
    expect "$place is missing"
  done
}

# The files that all packages but Python's hold are what `make install` puts below a prefix, each in one of them.
test_package_contents() {
  triplet=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
  holds "$programs" usr/bin/pagerank usr/bin/bicgstab usr/bin/spmv usr/share/man/man1/pagerank.1.gz \
    usr/share/bash-completion/completions/bicgstab usr/share/zsh/site-functions/_spmv usr/share/doc/windrow/copyright
  holds "$shared" "usr/lib/$triplet/libwindrow.so.$abi" "usr/lib/$triplet/libwindrow.so.$version" "usr/share/doc/libwindrow$abi/copyright"
  [ "$(wc -l <"$out")" = 3 ]
  expect 'the library has other files in its package'
  holds "$headers" usr/include/windrow/windrow.h usr/include/windrow/deep.h "usr/lib/$triplet/libwindrow.so" \
    "usr/lib/$triplet/libwindrow.a" "usr/lib/$triplet/pkgconfig/windrow.pc" "usr/lib/$triplet/cmake/windrow/windrowConfig.cmake" \
    usr/share/doc/libwindrow-dev/examples/rank_graph.c
  for deb in "$programs" "$shared" "$headers"; do held_by "$deb"; done | grep -v /copyright | sed 's|.*/||; s/[.]gz$//' | sort >"$work/packed"
  call 0 build_to install DESTDIR="$work/as_installed" PREFIX=/usr LIBDIR="lib/$triplet"
  files_in "$work/as_installed" | sed 's|.*/||' | grep -vx 'LICENSE\|folders' | sort >"$out"
  same 'files that are installed and packed' "$out" "$work/packed"
  for deb in "$programs" "$shared"; do
    command="what $deb asks for"
    depends_of "$deb" >"$work/depends"
    grep -q '^libc6 ' "$work/depends" && grep -q '^lib[gi]*omp[0-9]' "$work/depends" && ! grep -qv ' (>= [0-9]' "$work/depends"
    expect 'the package does not ask for its libraries, each with a version'
    ! has_zlib || grep -q '^zlib1g ' "$work/depends"
    expect 'the package does not ask for zlib'
    ! has_klu || grep -q '^libklu[0-9]* ' "$work/depends"
    expect 'the package does not ask for KLU'
  done
  [ "$(depends_of "$headers")" = "libwindrow$abi (= $version)" ]
  expect 'libwindrow-dev does not ask for its library alone'
  call 0 dpkg-deb -I "$shared" shlibs
  [ "$(cat "$out")" = "libwindrow $abi libwindrow$abi (>= $version)" ]
  expect 'packages of programs that are linked to the library would not ask for it'
}

# Unpacked into one folder: programs run, a program is compiled and run.
test_package_works() {
  for deb in "$programs" "$shared" "$headers"; do
    call 0 dpkg-deb -x "$deb" "$work/unpacked"
    (cd "$work/unpacked" && dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./md5sums | md5sum -c --quiet) >"$out" 2>&1
    expect 'sums are wrong'
  done
  call 0 "$work/unpacked/usr/bin/bicgstab" -q -d cpu gen:stencil:n=8
  ! find "$work/unpacked" -perm /022 ! -type l | grep -q .
  expect 'others may write to what the package holds'
  folder=$work/unpacked/usr/lib/$triplet
  call 0 "$CC" -std=c11 -I"$work/unpacked/usr/include" "$work/try_flat.c" -o "$work/try" -L"$folder" -lwindrow
  call 0 env LD_LIBRARY_PATH="$folder" "$work/try"
  grep -q "^libdir=.*/lib/$triplet$" "$folder/pkgconfig/windrow.pc"
  expect 'pkg-config is told another folder'
  if ! command -v cmake >/dev/null; then
    skip 3 'no cmake here'
    return
  fi
  call 0 cmake -S "$work/project" -B "$work/of_package" -DCMAKE_C_COMPILER="$CC" -DCMAKE_PREFIX_PATH="$work/unpacked/usr" -DRELEASE=
  call 0 cmake --build "$work/of_package"
  call 0 "$work/of_package/try_flat"
}

test_package_python() {
  if [ -z "$python" ]; then
    grep -q 'no python3 here' "$work/said"
    expect 'that there is no package for Python is not said'
    skip 5 'no python3 here'
    return
  fi
  holds "$python" usr/lib/python3/dist-packages/windrow/__init__.py "usr/lib/python3/dist-packages/windrow-$version.dist-info/METADATA"
  ! grep -q '[.]so\|[.]pyc' "$out"
  expect 'it holds a library, or what Python has compiled'
  depends_of "$python" | sort >"$out"
  printf '%s\n' "libwindrow$abi (= $version)" 'python3 (>= 3.8)' python3-numpy >"$work/depends"
  same 'what python3-windrow asks for' "$work/depends" "$out"
  call 0 dpkg-deb -x "$python" "$work/unpacked"
  interpreter=$(python_with numpy)
  if ! $interpreter -c 'import numpy' 2>/dev/null; then
    skip 2 "numpy is missing: $(sh tools/deps.sh --hint numpy)"
    return
  fi
  (
    unset WINDROW_LIBRARY
    export LD_LIBRARY_PATH="$folder" PYTHONPATH="$work/unpacked/usr/lib/python3/dist-packages" PYTHONDONTWRITEBYTECODE=1
    cd "$work" && $interpreter -c 'import windrow; print(windrow.__file__, windrow.__version__, len(windrow.pagerank(windrow.read("gen:web:n=100")).scores))'
  ) >"$out" 2>"$err"
  command='python3-windrow'
  says "$out" "$work/unpacked" " $version 100"
}

test_package() {
  if [ -n "$instrument" ] || ! sh tools/make_deb.sh able 2>"$err"; then
    skip 48 "packages are made of what no sanitizer is in; $(cat "$err")"
    return
  fi
  if ! has_zlib && [ "$(ours 6)" != 0 ]; then
    call 2 build_to package
    says "$err" 'make deb ZLIB=0 for a package without it'
    skip 46 'without zlib no package is made'
    return
  fi
  if ! has_klu && [ "$(ours 7)" != 0 ]; then
    call 2 build_to package
    says "$err" 'make deb KLU=0 for a package without it'
    skip 46 'without KLU no package is made'
    return
  fi
  export COMPRESSION='-Zgzip -z1' # the quickest
  call 0 build_to package
  cp "$err" "$work/said"
  python= version=$(sed -n 's/^.define WR_VERSION "\(.*\)"/\1/p' config/version.h)
  while read -r deb; do
    case $deb in /*) ;; *) deb=$PWD/$deb ;; esac # it is read from other folders
    case $deb in
      */libwindrow-dev_*) headers=$deb ;;
      */libwindrow*) shared=$deb ;;
      */python3-windrow_*) python=$deb ;;
      */windrow_*) programs=$deb ;;
    esac
  done <"$out"
  abi=$(basename "$shared" | sed 's/libwindrow//; s/_.*//')
  test_package_contents
  test_package_works
  test_package_python
}

# Into a root of its own that has the packages of this machine, so that what they ask for must be there.
test_package_installs() {
  if [ -z "${programs:-}" ] || [ "$(id -u)" != 0 ] || [ ! -s /var/lib/dpkg/status ]; then
    skip 7 'dpkg needs root to install a package'
    return
  fi
  root=$work/root
  mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/triggers" "$root/var/log"
  cp /var/lib/dpkg/status "$root/var/lib/dpkg"
  files_in "$root" | grep -v '/dpkg' >"$work/before"
  names="windrow libwindrow$abi libwindrow-dev"
  call 1 dpkg --root="$root" --no-triggers --log=/dev/null -i "$headers" # its library is missing
  says "$err" "libwindrow$abi"
  call 0 dpkg --root="$root" --no-triggers --log=/dev/null -i "$programs" "$shared" "$headers"
  [ -x "$root/usr/bin/pagerank" ]
  expect 'pagerank is missing'
  if [ -n "$python" ] && dpkg-query -W python3-numpy >/dev/null 2>&1; then
    call 0 dpkg --root="$root" --no-triggers --log=/dev/null -i "$python"
    names="$names python3-windrow"
  else
    skip 1 'python3-numpy is not among the packages of this machine'
  fi
  # shellcheck disable=SC2086
  call 0 dpkg --root="$root" --no-triggers --log=/dev/null -P $names
  files_in "$root" | grep -v '/dpkg' >"$out"
  same 'what removing leaves' "$work/before" "$out"
}

prefix=$work/prefix
test_staged
call 0 build_to install PREFIX="$prefix"
test_links
test_c
test_cpp
test_fortran
test_page docs/tutorial_c.md
test_jobs
test_cmake
test_surface
for program in pagerank bicgstab spmv; do test_manual $program; done
test_bash
test_zsh
call 0 build_to uninstall PREFIX="$prefix"
[ ! -e "$prefix" ]
expect "uninstall leaves something in $prefix"
test_package
test_package_installs
report
