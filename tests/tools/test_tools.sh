#!/bin/sh
# The tools that check the tree: lint and check_deps must find each planted fault and nothing in clean files; the runner must
# report tests that crash, hang, print wrong counts or none; `make check TESTS=...` builds what these tests need.
# Needs: nothing
set -u
root=$(pwd)
tree=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
trap 'rm -rf "$tree" "$tree".*' EXIT
export GIT_DIR=/nonexistent # the planted tree is listed by find
passed=0 failed=0 skipped=0 planted=0

expect() { # what is wrong if the last command failed, or that with this code
  if [ "${2:-$?}" = 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "test_tools: $1" >&2
    tail -n 30 "$tree.output" | cut -c 1-200 | sed 's/^/  | /' >&2
  fi
}

# Writes a file into the tree; @ in its path becomes a number, so that names differ.
file() { # path, text
  planted=$((planted + 1))
  path=$(echo "$1" | sed "s/@/$planted/")
  mkdir -p "$tree/$(dirname "$path")"
  printf '%b\n' "$2" >"$tree/$path"
}

# A file, and what a finding in it begins with; @@ there stands for the path.
plant() { # path, text, finding
  file "$1" "$2"
  echo "$3" | sed "s|@@|$path|" >>"$tree.expected"
}

clear_tree() {
  rm -rf "$tree"
  mkdir "$tree"
  cp .clang-format "$tree"
  : >"$tree.expected"
}

run_tool() { (cd "$tree" && sh "$root/tools/$1.sh") >"$tree.output" 2>&1; }

# Every planted fault is found.
finds_all() { # tool
  ! run_tool "$1"
  expect "$1 succeeds in spite of planted faults"
  while IFS= read -r finding; do
    grep -qF -- "$1: $finding" "$tree.output"
    expect "$1 does not say '$finding'"
  done <"$tree.expected"
}

finds_nothing() { # tool
  run_tool "$1"
  expect "$1 finds fault with clean files"
}

memory='memory is had from wr_alloc'
test_lint_faults() {
  clear_tree
  plant io/f@.c 'void f(void) { void *p = malloc(3); }' "$memory: @@:1: void f(void) { void *p = malloc(3); }"
  plant spmv/f@.c 'int x(void);\nvoid f(void *p) { free (p); }' "$memory: @@:2:"
  plant spmv/f@.c '/* a\n "b */ void f(char *p) { free(p); } /* c */' "$memory: @@:2:"
  plant solvers/f@.c 'void f(void) { cudaFree(p); }' 'device memory is had in spmv/device: @@:1:'
  plant data/f@.c 'void f(void) { exit(1); }' 'errors are returned; main files alone exit: @@:1:'
  plant solvers/f@.c 'double f(void) { return strtod(s, 0); }' 'text becomes a number in io and option.c: @@:1:'
  plant spmv/f@.c 'void f(void) { printf("a"); }' 'main files and reports alone print: @@:1:'
  plant spmv/f@.c 'void f(void) { fputs("a", stderr); }' 'main files and reports alone print: @@:1:'
  plant tests/spmv/f@.c 'void f(void) { sprintf(s, "a"); }' 'calls that cannot be bounded: @@:1:'
  plant io/f@.c 'void f(void) { setlocale(LC_ALL, ""); }' 'numbers do not depend on the locale: @@:1:'
  plant data/f@.c 'int f(void) { return rand(); }' 'chance comes from our own generator: @@:1:'
  plant spmv/x/f@.cu 'void f(void) { k<<<1, 2>>>(); }' 'launches go through launch.cuh: @@:1:'
  plant spmv/x/f@.cu '__shared__ int a;' 'shared arrays are made by launch.cuh: @@:1:'
  plant spmv/x/f@.cu 'void f(void) { asm("nop;"); }' 'assembly stays in spmv/kernel: @@:1:'
  plant spmv/x/f@.cu 'int f(void) { return __activemask(); }' 'no queries of active lanes, no grid-wide groups: @@:1:'
  plant spmv/x/f@.cu '#include <cooperative_groups.h>' 'no queries of active lanes, no grid-wide groups: @@:1:'
  plant spmv/x/f@.cu 'using namespace nvcuda;' 'tensor-core calls stay in spmv/kernel: @@:1:'
  plant io/f@.c 'static int count = 0;' 'no global state: @@:1:'
  plant io/f@.c 'int64_t table[3];' 'no global state: @@:1:'
  plant docs/f@.md 'TO''DO: later' 'work left over: @@:1:'
  plant docs/f@.md 'this is not implement''ed' 'work left over: @@:1:'
  plant io/f@.c 'int f(void); ' 'blanks at the end of a line: @@:1:'
  plant io/f@.c '\tint f(void);' 'tabs: @@:1:'
  plant io/f@.c "int f(void); /* $(printf '%0120d' 0) */" 'long lines: @@:1: 139 columns'
  plant io/f@.c "int f_$(printf '%0120d' 0)(void);" 'long lines: @@:1: code beyond column 120'
  plant io/same.c 'int f(void);' 'file names are unique: spmv/same.c: the name of io/same.c'
  file spmv/same.c 'int f(void);'
  plant spmv/f@.h 'typedef enum wr_kind { A } wr_kind;' 'type names are unique: @@:1: wr_kind is the name of a type of io/'
  file io/f@.h 'typedef struct wr_kind {\n  int a;\n} wr_kind;'
  plant io/f@.c 'int f(void) {\n  PASS(g());\n  TRY(h());\ndone:\n  return 0;\n}' 'one exit where something is freed: @@:2:'
  plant io/f@.md 'one line' 'last line: @@: no newline'
  printf 'no newline' >"$tree/$path"
  plant io/f@.c '/* The thread wh''o waits. */' 'plain words: @@:1:'
  plant config/f@.h '/* Wh''oever writes it clears it. */' 'plain words: @@:1:'
  plant data/f@.c '/* rows\n * to wh''om columns belong */' 'plain words: @@:2:'
  plant io/f@.c 'const char *const s = "no''body reads it";' 'plain words: @@:1:'
  plant tests/cli/f@.sh '# Somebo''dy else has it.' 'plain words: @@:1:'
  plant tests/bench/f@.py '# the copy on it''s way' 'plain words: @@:1:'
  plant tests/simt/f@.md 'a row that is not th''ere yet' 'plain words: @@:1:'
  plant tools/f@.awk "# what a kernel wi""shes" 'plain words: @@:1:'
  finds_all lint
}

test_lint_clean() {
  clear_tree
  file config/memory.c 'void wr_free(void *block) { free(block); }'
  file io/f@.c '/* malloc(1) and free(2) */\nconst char *const s = "free(\\"x)"; /* abort(\n exit( */'
  file io/f@.c 'void f(void) { wr_free(p); }'
  file io/f@.c 'double f(void) { return strtod(s, 0); }'
  file solvers/a_main.c 'int main(void) { exit(1); }'
  file spmv/f@.c 'void f(FILE *out) { fprintf(out, "printf(stderr"); }'
  file spmv/kernel/launch.cuh '#define LAUNCH() k<<<1, 2>>>()'
  file io/f@.c 'static const int table[3] = {1, 2, 3};'
  file io/f@.c 'typedef struct t {\n  int a;       /* far */\n  double long_name; /* away */\n} t;'
  file io/f@.c "static int f(void); /* $(printf '%095d' 0) */"
  file io/f@.h 'struct wr_loop;\ntypedef struct wr_kind {\n  struct wr_loop *loop;\n} wr_kind;'
  file spmv/f@.h 'struct wr_kind;\nvoid f(const struct wr_kind *kind); /* struct wr_kind { */'
  file io/f@.c 'static const pair pairs[] = {\n   {.first = 1,\n     .second = 2}, {3, 4}};'
  file io/f@.c '/* what is whole, and is not there */\nint f(need *n) { return n->who''se && (*n).who''se; }'
  file io/f@.c 'static int f(void) {\n  PASS(g());\n  return 0;\n}\n\nint h(void) {\n  TRY(f());\ndone:\n  return 0;\n}'
  file io/f@.h '#define SUM(a, b)   \\\\\n     ((a)+\\\\\n  (b))'
  finds_nothing lint
}

test_layout() {
  if ! sh tools/format.sh able >"$tree.output"; then
    skipped=1
    echo "[layout] skipped: $(cat "$tree.output")" >&2
    return
  fi
  clear_tree
  plant io/f@.c 'int f( void );' 'layout (make format): @@:1:'
  finds_all lint
  file io/g.c 'int g( int a );   /* as far\n                     as this */\nint   h; /* 1 */'
  (cd "$tree" && sh "$root/tools/format.sh" fix) >"$tree.output" 2>&1
  [ "$(cat "$tree/io/g.c")" = "$(printf 'int g(int a); /* as far\n                     as this */\nint h;        /* 1 */')" ]
  expect 'format lays io/g.c out otherwise'
  finds_nothing lint
}

test_deps() {
  clear_tree
  for path in solvers/b.h spmv/backends/merbit/m.h spmv/backends/bsr/b2.h io/i.h data/d.h config/c.h spmv/s.h spmv/device/v.h; do
    file $path 'int f(void);'
  done
  cp -R "$tree" "$tree.clean"
  plant io/f@.c '#include "solvers/absent.h"' '@@:1: "solvers/absent.h" is not a file'
  plant io/f@.c '#include "i.h"' '@@:1: "i.h" is not a file'
  plant io/f@.c '#include "solvers/b.h"' '@@:1: io may not include'
  plant io/f@.c '#include "data/d.h"' '@@:1: io may not include'
  plant spmv/f@.c '#include "io/i.h"' '@@:1: spmv may not include'
  plant config/f@.c '#include "spmv/s.h"' '@@:1: config may not include'
  plant spmv/f@.c '\n  #  include "spmv/backends/bsr/b2.h"' '@@:2: spmv may not include'
  plant spmv/backends/bsr/f@.cu '#include "spmv/backends/merbit/m.h"' '@@:1: spmv/backends/bsr may not include'
  plant solvers/f@.c '#include "spmv/backends/merbit/m.h"' '@@:1: solvers may not include'
  plant solvers/f@.c '#include <cuda_runtime.h>' '@@:1: may not include <cuda_runtime.h>'
  plant spmv/backends/bsr/f@.cu '#include <cub/cub.cuh>' '@@:1: may not include <cub/cub.cuh>'
  finds_all check_deps
  rm -rf "$tree"
  mv "$tree.clean" "$tree"
  file solvers/program/f@.c '#include <stdio.h>\n#include "io/i.h"\n#include "data/d.h"\n#include "spmv/device/v.h"'
  file spmv/backends/bsr/f@.cu '#include <cuda_runtime.h>\n#include "spmv/backends/bsr/b2.h"\n#include "spmv/s.h"\n#include "config/c.h"'
  file tests/spmv/f@.c '#include "spmv/backends/bsr/b2.h"'
  finds_nothing check_deps
}

# A script of this text must be judged so by the runner, which gives it so many seconds.
patience=60
judged() { # text, line that the runner shows, sum
  file trial.sh "$1"
  BUILD=$tree/run JOBS=1 TEST_TIMEOUT=$patience sh tools/run_tests.sh "$tree/trial.sh" >"$tree.output" 2>&1
  status=$?
  case $3 in *' 0 failed'*) want=0 ;; *) want=1 ;; esac
  [ $status = $want ] && grep -qF -- "$2" "$tree.output" && [ "$(tail -n 1 "$tree.output")" = "$3" ]
  expect "the runner misjudges: $1"
}

test_runner() {
  judged 'echo "t: 3 passed, 0 failed, 0 skipped"' '  ok    trial ' '3 passed, 0 failed, 0 skipped'
  judged 'echo "[a] skipped: why" >&2; echo "t: 1 passed, 0 failed, 1 skipped"' 'skipped (1): why' \
    '1 passed, 0 failed, 1 skipped'
  judged 'echo "t: 1 passed, 0 failed, 1 skipped"' 'no reason was given' '1 passed, 0 failed, 1 skipped'
  judged 'echo sorry; echo "t: 1 passed, 2 failed, 0 skipped"; exit 1' '| sorry' '1 passed, 2 failed, 0 skipped'
  judged 'echo "t: 1 passed, 2 failed, 0 skipped"' '2 failed' '1 passed, 2 failed, 0 skipped'
  judged 'echo "t: 1 passed, 0 failed, 0 skipped"; exit 3' 'exit status 3' '1 passed, 1 failed, 0 skipped'
  judged 'echo "t: 1 passed, 0 failed, 0 skipped"; kill -SEGV $$' 'killed by signal 11' '1 passed, 1 failed, 0 skipped'
  judged 'echo "t: 0 passed, 0 failed, 0 skipped"' 'checked nothing' '0 passed, 1 failed, 0 skipped'
  judged 'true' 'no line with its counts' '0 passed, 1 failed, 0 skipped'
  judged 'echo "t: 1 passed, 0 failed, 0 skipped"; echo more' 'no line with its counts' '0 passed, 1 failed, 0 skipped'
  patience=1
  judged 'sleep 20; echo "t: 1 passed, 0 failed, 0 skipped"' 'stopped after ' '0 passed, 1 failed, 0 skipped'
}

# make in a folder of its own, without the settings of the make that runs this test.
make_apart() { # arguments...
  env -u MAKEFLAGS -u MFLAGS -u SHIM -u SANITIZE -u WERROR -u TESTS -u WR_NEED_GPU MAKELEVEL=1 \
    make --no-print-directory BUILD="$tree/build" CUDA=0 "$@" >"$tree.output" 2>&1
}

# What `make check TESTS=...` would link, and what it would run.
needs() { # TESTS, programs, what runs: a pattern
  make_apart -n V=1 check TESTS="$1"
  tail -n 1 "$tree.output" >"$tree.last"
  sed -n "s|.* -o $tree/build/\([^ ]*\).*|\1|p" "$tree.output" | grep -v '[.]o$' | sort | paste -sd ' ' - >"$tree.expected"
  mv "$tree.last" "$tree.output"
  [ "$(cat "$tree.expected")" = "$2" ]
  held=$?; expect "TESTS='$1' builds '$(cat "$tree.expected")', not '$2'" "$held"
  grep -qE "run_tests.sh +$3 *\$" "$tree.output"
  expect "TESTS='$1' does not run $3"
}

refuses_tests() { # TESTS, what it says
  ! make_apart check TESTS="$1"
  expect "TESTS='$1' is not refused"
  grep -qxF "$2" "$tree.output"
  expect "TESTS='$1' is refused, but not with '$2'"
  [ ! -d "$tree/build/obj" ]
  expect "TESTS='$1' is refused after something was built"
}

test_chosen_tests() {
  clear_tree
  refuses_tests 'lint test_optoin' 'no such test: test_optoin (the closest name is test_option)'
  refuses_tests 'nothing_like_it_%' 'no such test: nothing_like_it_%'
  make_apart check TESTS=check_deps
  [ ! -d "$tree/build/obj" ]
  expect 'TESTS=check_deps builds something'
  [ "$(tail -n 1 "$tree.output")" = "$(sh tools/check_deps.sh | sed -n 's/^check_deps: //p')" ]
  expect 'TESTS=check_deps does not end with the counts of check_deps'
  programs='bicgstab pagerank spmv'
  needs 'lint check_deps' '' 'tools/lint.sh tools/check_deps.sh'
  needs test_option tests/test_option "$tree/build/tests/test_option"
  needs fuzz_replay tests/fuzz_replay "$tree/build/tests/fuzz_replay"
  needs 'test_option_%' 'tests/test_option_file tests/test_option_text' '[^ ]*/test_option_[^ ]* [^ ]*/test_option_[^ ]*'
  needs options "$programs" tests/cli/options.sh
  needs examples "bicgstab $(basename -s .c examples/*.c | sed 's|^|examples/|' | paste -sd ' ' -) pagerank spmv" \
    tests/cli/examples.sh
  needs simt_csr_rows simt/tests/simt_csr_rows "$tree/build/simt/tests/simt_csr_rows"
  needs simt_conformance_small:merbit simt/tests/simt_conformance_small \
    "$tree/build/simt/tests/simt_conformance_small:merbit"
  needs simt_conformance_small simt/tests/simt_conformance_small \
    "($tree/build/simt/tests/simt_conformance_small:[a-z_0-9]+ *){$(grep -c '^WR_BACKEND(.*, CUDA,' spmv/backends.def)}"
  needs simt_solves "bicgstab pagerank simt/bicgstab simt/pagerank simt/spmv spmv" tests/cli/simt_solves.sh
  make_apart list-tests
  grep -qx lint "$tree.output" && grep -qx test_option "$tree.output" && grep -qx simt_conformance_small "$tree.output"
  expect 'list-tests lacks names'
}

test_warnings() {
  clear_tree
  make_apart -n V=1 programs simt
  grep -e -Wall "$tree.output" >"$tree.expected"
  [ -s "$tree.expected" ] && ! grep -q -e -Werror "$tree.expected"
  expect 'warnings stop the build of a user'
  make_apart -n V=1 programs simt WERROR=-Werror
  grep -e -Wall "$tree.output" | grep -v -e -Werror >"$tree.expected"
  [ ! -s "$tree.expected" ]
  expect 'WERROR=-Werror leaves a command out'
  grep -q 'make check WERROR=-Werror' .ci/run
  expect 'continuous integration lets warnings pass'
}

# A compiler that finds no zlib: a package that refuses .gz files is made on demand alone.
test_package_needs_zlib() {
  clear_tree
  file no_zlib 'case " $* " in *" -lz "*) exit 1 ;; esac\nexec gcc "$@"'
  ! make_apart package CC="sh $tree/no_zlib"
  expect 'a package is made without zlib'
  grep -q 'make deb ZLIB=0 for a package without it' "$tree.output"
  expect 'the refusal does not say how to make one nevertheless'
  [ ! -d "$tree/build/obj" ]
  expect 'the package is refused after something was built'
  make_apart -n package ZLIB=0 KLU=0 && grep -q tools/make_deb.sh "$tree.output"
  expect 'ZLIB=0 makes no package'
  make_apart -n V=1 programs ZLIB=0 && ! grep -q -e '-lz ' -e WR_HAVE_ZLIB "$tree.output"
  expect 'ZLIB=0 builds with zlib'
}

# The same for KLU. What needs no zlib is asked for without it, so that KLU alone decides.
test_package_needs_klu() {
  clear_tree
  file no_klu 'case " $* " in *" -lklu "*) exit 1 ;; esac\nexec gcc "$@"'
  ! make_apart package CC="sh $tree/no_klu" ZLIB=0
  expect 'a package is made without KLU'
  grep -q 'make deb KLU=0 for a package without it' "$tree.output"
  expect 'the refusal does not say how to make one nevertheless'
  [ ! -d "$tree/build/obj" ]
  expect 'the package is refused after something was built'
  make_apart -n package ZLIB=0 KLU=0 && grep -q tools/make_deb.sh "$tree.output"
  expect 'KLU=0 makes no package'
  make_apart -n V=1 programs KLU=0 && ! grep -q -e -lklu -e WR_HAVE_KLU "$tree.output"
  expect 'KLU=0 builds with KLU'
}

test_api_page() {
  clear_tree
  for path in docs/api.md solvers/api/windrow.h config/errors.h solvers/outcome.h config/version.h; do
    file $path ''
    cp $path "$tree/$path"
  done
  (cd "$tree" && sh "$root/tools/api_page.sh" check) >"$tree.output" 2>&1
  expect 'docs/api.md is not what the headers say'
  sed -i 's/^wr_status wr_solve(/wr_status wr_resolve(/' "$tree/solvers/api/windrow.h"
  (cd "$tree" && ! sh "$root/tools/lint.sh") >"$tree.output" 2>&1 &&
    grep -q 'made of the headers: docs/api.md: not what the headers say; sh tools/api_page.sh fix' "$tree.output"
  expect 'lint does not find that docs/api.md is not what the headers say'
  (cd "$tree" && sh "$root/tools/api_page.sh" fix && sh "$root/tools/api_page.sh" check) >"$tree.output" 2>&1 &&
    grep -q '^wr_status wr_resolve(' "$tree/docs/api.md" && grep -q '^## What stays as it is' "$tree/docs/api.md"
  expect 'fix does not write docs/api.md'
}

test_debian() {
  sh tools/check_debian.sh >"$tree.output" 2>&1
  [ $? = 1 ] && grep -q 'no release is named' "$tree.output"
  expect 'check_debian.sh without a release does not ask for one'
}

test_lint_faults
test_lint_clean
test_layout
test_deps
test_runner
test_chosen_tests
test_warnings
test_package_needs_zlib
test_package_needs_klu
test_api_page
test_debian
echo "test_tools: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
