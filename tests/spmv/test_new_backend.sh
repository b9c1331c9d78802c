#!/bin/sh
# make new-backend: a copy of csr_warp, made in a copy of the tree, builds, is listed and passes conformance unchanged. A family
# that cannot be copied or a name that cannot be used is refused, and the tree stays as it was. And the snippets of
# docs/adding-a-backend.md are lines of the sources.
# Needs: simt-programs
set -u
BUILD=${BUILD:-build}
case $BUILD in
  /*) built=$BUILD ;;
  *) built=$PWD/$BUILD ;;
esac
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
tree=$work/tree out=$work/out
passed=0 failed=0 skipped=0

expect() { # what is wrong if the last command failed
  if [ $? = 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "test_new_backend: $1" >&2
    tail -n 30 "$out" | cut -c 1-200 | sed 's/^/  | /' >&2
  fi
}

# Its files with the times they have, so that objects made from them stay good.
copy_tree() {
  mkdir "$tree"
  sh tools/sources.sh | tar -cf - -T - | tar -xf - -C "$tree"
  expect 'the tree cannot be copied'
}

new_backend() { # FROM, NAME
  (cd "$tree" && GIT_DIR=/nonexistent sh tools/new_backend.sh "$@") >"$out" 2>&1
}

# The make that runs this test hands its settings on in the environment; its jobs are its own.
make_in_tree() { # targets
  (cd "$tree" && unset MAKEFLAGS MFLAGS && MAKELEVEL=1 GIT_DIR=/nonexistent make -j2 BUILD=b "$@") >"$out" 2>&1
}

# All that is in the tree: names, and what is in spmv/backends.def.
state() { (cd "$tree" && find . ! -path './b/*' | sort && cksum spmv/backends.def); }

refuses() { # what it says, FROM, NAME
  says=$1
  shift
  state >"$work/before"
  new_backend "$@"
  [ $? = 1 ] && grep -q '^new-backend: ' "$out" && grep -qF -- "$says" "$out" && [ "$(wc -l <"$out")" = 1 ]
  expect "new_backend.sh $* does not refuse with a line that says '$says'"
  state | cmp -s - "$work/before"
  expect "new_backend.sh $*, refused, has changed the tree"
}

test_refusals() {
  refuses 'FROM=csr_warp NAME=mine'
  refuses 'FROM=csr_warp NAME=mine' csr_warp
  refuses 'FROM=csr_warp NAME=mine' '' mine
  refuses "no backend 'csr_wrap'; what can be copied: reference, cpu_csr, " csr_wrap mine
  refuses 'kernels of a library; what can be copied' cusparse mine
  refuses 'bsr_team shares its file with other backends; what can be copied: reference, cpu_csr, ' bsr_team mine
  refuses "has a backend 'csr_warp' already" csr_warp csr_warp
  refuses "has a backend 'cusparse' already" csr_warp cusparse
  refuses 'spmv/backends/csr_rows exists already' csr_warp csr_rows
  refuses 'a file csr.c, and there is spmv/matrix/csr.c' csr_warp csr
  for name in Mine 9mine _mine mi-ne mi.ne 'mi ne' ../mine 'mine;' mïne; do
    refuses 'small letters, digits and _' csr_warp "$name"
  done
  refuses 'at most 24' csr_warp a234567890123456789012345
  refuses 'choose another' csr_warp csr_warp_kernel
  refuses "'while' a second meaning" csr_warp while       # the kernel's name
  refuses "'lane' a second meaning" csr_warp lane         # a variable of the kernel
  refuses "'launch' a second meaning" csr_warp launch     # a function beside it
  refuses "'workspace' a second meaning" csr_warp workspace
  refuses "'wr_backend_find' a second meaning" csr_warp find
  rm -f "$work/where.def"
  (cd "$tree/spmv" && sh ../tools/new_backend.sh csr_warp mine) >"$out" 2>&1
  [ $? = 1 ] && grep -q 'run it from the repository root' "$out"
  expect 'new_backend.sh runs elsewhere than in the root'
}

# Nothing of the copy is named after the original, but where it says what it was; other names stay.
renamed() { # FROM, NAME, a pattern of what may stay
  grep -rniw "[a-z_]*$1[a-z0-9_]*" "$tree/spmv/backends/$2" | grep -v 'begun as a copy of' | grep -v "${3:-^\$}" >"$out"
  [ ! -s "$out" ]
  expect "$2 speaks of $1"
  grep -qF ".name = \"$2\"," "$tree/spmv/backends/$2/$2.c" && grep -q "^const wr_backend wr_backend_$2 = " "$tree/spmv/backends/$2/$2.c"
  expect "$2.c does not end in the table of $2"
  grep -A 1 "^WR_BACKEND($1," "$tree/spmv/backends.def" >"$out"
  grep -qx "WR_BACKEND($2, $(sed -n '1s/[^,]*, \([A-Z]*, WR_[A-Z]*\),.*/\1/p' "$out"), \"begun as a copy of $1\")" "$out"
  expect "the row of $2 does not follow that of $1"
}

files() { # NAME, its files
  (cd "$tree/spmv/backends/$1" && echo *) >"$out"
  [ "$(cat "$out")" = "$2" ]
  expect "spmv/backends/$1 does not hold $2"
}

test_copies() {
  make_in_tree new-backend FROM=csr_warp NAME=mine
  expect 'csr_warp cannot be copied'
  grep -qF "simt_conformance_small:mine" "$out" && grep -qF spmv/backends/mine/mine_kernel.cu "$out"
  expect 'it does not say what was made, and what comes next'
  files mine 'mine.c mine_kernel.cu mine_kernel.h mine_many_kernel.cu'
  renamed csr_warp mine
  new_backend cpu_csr on_host
  expect 'cpu_csr cannot be copied'
  files on_host 'on_host.c on_host_format.h on_host_kernel.h'
  renamed cpu_csr on_host
  new_backend reference plain
  expect 'reference cannot be copied'
  files plain plain.c
  renamed reference plain
  new_backend mine mine_too
  expect 'a copy cannot be copied'
  files mine_too 'mine_too.c mine_too_kernel.cu mine_too_kernel.h mine_too_many_kernel.cu'
  refuses "has a backend 'mine' already" csr_warp mine
  (cd "$tree" && GIT_DIR=/nonexistent sh tools/check_deps.sh) >"$out" 2>&1
  expect 'a copy includes what it may not'
  rm -r "$tree/spmv/backends/plain" "$tree/spmv/backends/mine_too" # one for each place is enough to build
  grep -v '^WR_BACKEND(\(plain\|mine_too\),' "$tree/spmv/backends.def" >"$out" && cat "$out" >"$tree/spmv/backends.def"
}

# What make needs to build only what is new: the objects there are, known under this tree's name for its build.
take_objects() {
  mkdir -p "$tree/b/simt"
  for name in found.mk flags obj simt/flags simt/obj; do
    [ ! -e "$built/$name" ] || cp -a "$built/$name" "$tree/b/$(dirname "$name")"
  done
  find "$tree/b" -name '*.d' -exec sed -i "s|^$BUILD/|b/|" {} +
}

# The kernels run once each (replay=off): they are those of csr_warp, whose own test runs them twice.
test_build() {
  take_objects
  make_in_tree b/simt/pagerank b/simt/tests/simt_conformance_small
  expect 'the copy does not build'
  "$tree/b/simt/pagerank" --list-backends >"$out" 2>&1
  grep -qx 'mine  *GPU  *begun as a copy of csr_warp' "$out" && grep -qx 'on_host  *CPU  *begun as a copy of cpu_csr' "$out"
  expect '--list-backends does not show the copies'
  (cd "$tree" && OMP_NUM_THREADS=2 WR_SIMT=replay=off WR_NEED_GPU=1 WR_PLACE=cuda WR_SHORT=1 \
    b/simt/tests/simt_conformance_small mine on_host) >"$out" 2>&1
  expect 'the copies do not pass conformance'
  for name in mine on_host; do
    sed -n "s/^$name  *\([0-9]*\) passed, 0 failed\$/\1/p" "$out" | awk '{ many = $1 > 10000 } END { exit !many }'
    expect "conformance of $name says little"
  done
}

# Every line of a fenced block of C or CUDA in the guide stands in csr_warp or in the table, blanks aside.
test_snippets() {
  cat spmv/backends/csr_rows/csr_warp* spmv/backends.def | tr -d ' ' | sort -u >"$work/lines"
  awk '/^ *```/ { inside = !inside && /```(c|cuda)$/; next } inside' docs/adding-a-backend.md | tr -d ' ' | grep . >"$work/shown"
  [ "$(wc -l <"$work/shown")" -ge 20 ]
  expect 'docs/adding-a-backend.md shows hardly any code'
  sort -u "$work/shown" | comm -23 - "$work/lines" >"$out"
  [ ! -s "$out" ]
  expect 'docs/adding-a-backend.md shows lines that are not in csr_warp'
}

copy_tree
test_refusals
if [ -z "${SANITIZE:-}" ]; then
  test_copies
  test_snippets
  if [ "${SHIM:-}" = 0 ]; then
    skipped=$((skipped + 1))
    echo '[the copy] skipped: it is built and run with kernels on the CPU, which SHIM=0 leaves out' >&2
  else
    test_build
  fi
fi
echo "test_new_backend: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
