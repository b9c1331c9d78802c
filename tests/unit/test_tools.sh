#!/bin/sh
# The tools that judge everybody else: each rule of lint and check_deps must find its planted fault and nothing in clean
# files; the test runner must see through tests that crash, hang, lie or say nothing.
set -u
root=$(pwd)
tree=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
trap 'rm -rf "$tree"' EXIT
export GIT_DIR=/nonexistent # the planted tree is listed by find
passed=0 failed=0

expect() { # what, status of the check
  if [ "$2" = 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "test_tools: $1" >&2
    sed 's/^/  | /' "$tree.output" >&2
  fi
}

shows() { grep -qF -- "$1" "$tree.output"; }

# A file with one line must be found by the tool under that rule.
plant() { # tool, path, line, what the finding begins with
  mkdir -p "$tree/$(dirname "$2")"
  printf '%b\n' "$3" >"$tree/$2"
  (cd "$tree" && sh "$root/tools/$1.sh") >"$tree.output" 2>&1
  status=$?
  [ $status != 0 ] && shows "$1: $4"
  expect "$1 does not find '$3' in $2" $?
  rm "$tree/$2"
}

# And must pass where it is allowed.
allow() { # tool, path, line
  mkdir -p "$tree/$(dirname "$2")"
  printf '%b\n' "$3" >"$tree/$2"
  (cd "$tree" && sh "$root/tools/$1.sh") >"$tree.output" 2>&1
  expect "$1 refuses '$3' in $2" $?
  rm "$tree/$2"
}

test_lint() {
  plant lint io/a.c 'void f(void) { void *p = malloc(3); }' 'memory is had from wr_alloc: io/a.c:1:'
  plant lint spmv/b.c 'int x;\nvoid f(void *p) { free (p); }' 'memory is had from wr_alloc: spmv/b.c:2:'
  allow lint config/memory.c 'void wr_free(void *block) { free(block); }'
  allow lint io/a.c '/* malloc(1) and free(2) */\nconst char *const s = "free(\\"x)"; /* abort(\n exit( */'
  allow lint io/a.c 'void f(void) { wr_free(p); }'
  plant lint solvers/a.c 'void f(void) { cudaFree(p); }' 'device memory'
  plant lint data/a.c 'void f(void) { exit(1); }' 'errors are returned'
  allow lint solvers/a_main.c 'int main(void) { exit(1); }'
  plant lint solvers/a.c 'double f(void) { return strtod(s, 0); }' 'text becomes a number'
  allow lint io/a.c 'double f(void) { return strtod(s, 0); }'
  plant lint spmv/a.c 'void f(void) { printf("a"); }' 'main files and reports'
  plant lint spmv/a.c 'void f(void) { fputs("a", stderr); }' 'main files and reports'
  allow lint spmv/a.c 'void f(FILE *out) { fprintf(out, "printf(stderr"); }'
  plant lint tests/unit/a.c 'void f(void) { sprintf(s, "a"); }' 'calls that cannot be bounded'
  plant lint io/a.c 'void f(void) { setlocale(LC_ALL, ""); }' 'numbers do not depend'
  plant lint data/a.c 'int f(void) { return rand(); }' 'chance comes from'
  plant lint spmv/x/k.cu 'void f(void) { k<<<1, 2>>>(); }' 'launches go through'
  allow lint spmv/kernel/launch.cuh 'void f() { k<<<1, 2>>>(); }'
  plant lint spmv/x/k.cu '__shared__ int a;' 'shared arrays'
  plant lint spmv/x/k.cu 'void f(void) { asm("nop;"); }' 'assembly stays'
  plant lint spmv/x/k.cu 'int f(void) { return __activemask(); }' 'no lane asks'
  plant lint spmv/x/k.cu '#include <cooperative_groups.h>' 'no lane asks'
  plant lint spmv/x/k.cu 'using namespace nvcuda;' 'tensor-core'
  plant lint io/a.c 'static int count = 0;' 'no global state'
  plant lint io/a.c 'int64_t table[3];' 'no global state'
  allow lint io/a.c 'static const int table[3] = {1, 2, 3};'
  plant lint docs/a.md 'TO''DO: later' 'work left over'
  plant lint docs/a.md 'this is not implement''ed' 'work left over'
  plant lint io/a.c 'int f(void); ' 'blanks at the end'
  plant lint io/a.c '\tint f(void);' 'tabs'
  plant lint io/a.c "int f(void); /* $(printf '%0120d' 0) */" 'long lines'
  plant lint io/a.c "int f_$(printf '%0120d' 0)(void);" 'long lines: io/a.c:1: code beyond'
  plant lint io/same.c 'int f(void);' 'file names are unique'
  printf 'no newline' >"$tree/spmv/b.md"
  plant lint io/a.c 'int f(void);' 'last line: spmv/b.md'
  rm "$tree/spmv/b.md"
  allow lint io/a.c 'int f(void);'
}

test_layout() {
  if sh tools/format.sh able >/dev/null; then
    plant lint io/a.c 'int f( void );' 'layout'
    allow lint io/a.c 'typedef struct t {\n  int a;       /* far */\n  double long_name; /* away */\n} t;'
    printf 'int f( void );\n' >"$tree/io/a.c"
    (cd "$tree" && sh "$root/tools/format.sh" fix) >"$tree.output" 2>&1
    [ "$(cat "$tree/io/a.c")" = 'int f(void);' ]
    expect 'format does not format' $?
    rm "$tree/io/a.c"
  else
    skipped=1
    echo "[layout] skipped: $(sh tools/format.sh able)" >&2
  fi
}

test_deps() {
  plant check_deps io/a.c '#include "solvers/b.h"' 'io/a.c:1: "solvers/b.h" is not a file'
  plant check_deps io/a.c '#include "inner.h"' 'io/a.c:1: "inner.h" is not a file'
  for path in solvers/b.h spmv/merbit/m.h spmv/bsr/b2.h io/i.h data/d.h config/c.h spmv/s.h spmv/device/v.h; do
    mkdir -p "$tree/$(dirname "$path")"
    echo 'int f(void);' >"$tree/$path"
  done
  plant check_deps io/a.c '#include "solvers/b.h"' 'io/a.c:1: io may not include'
  plant check_deps io/a.c '#include "data/d.h"' 'io/a.c:1: io may not include'
  plant check_deps spmv/a.c '#include "io/i.h"' 'spmv/a.c:1: spmv may not include'
  plant check_deps config/a.c '#include "spmv/s.h"' 'config/a.c:1: config may not include'
  plant check_deps spmv/a.c '  #  include "spmv/bsr/b2.h"' 'spmv/a.c:1: spmv may not include'
  plant check_deps spmv/bsr/a.cu '#include "spmv/merbit/m.h"' 'spmv/bsr/a.cu:1: spmv/bsr may not include'
  plant check_deps solvers/a.c '#include "spmv/merbit/m.h"' 'solvers/a.c:1: solvers may not include'
  plant check_deps solvers/a.c '#include <cuda_runtime.h>' 'solvers/a.c:1: has no business with <cuda_runtime.h>'
  plant check_deps spmv/bsr/a.cu '#include <cub/cub.cuh>' 'spmv/bsr/a.cu:1: has no business'
  allow check_deps solvers/a.c '#include <zstd.h>\n#include "io/i.h"\n#include "data/d.h"\n#include "spmv/device/v.h"'
  allow check_deps spmv/bsr/a.cu '#include "spmv/bsr/b2.h"\n#include "spmv/s.h"\n#include "config/c.h"'
  allow check_deps tests/unit/a.c '#include "spmv/bsr/b2.h"'
}

# A script of this text must be judged so by the runner.
judged() { # text, line that the runner shows, sum
  printf '%b\n' "$1" >"$tree/trial.sh"
  BUILD=$tree/run JOBS=1 TEST_TIMEOUT=1 sh tools/run_tests.sh "$tree/trial.sh" >"$tree.output" 2>&1
  status=$?
  case $3 in *' 0 failed'*) want=0 ;; *) want=1 ;; esac
  [ $status = $want ] && shows "$2" && [ "$(tail -n 1 "$tree.output")" = "$3" ]
  expect "the runner misjudges: $1" $?
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
  judged 'sleep 20; echo "t: 1 passed, 0 failed, 0 skipped"' 'stopped after 1 s' '0 passed, 1 failed, 0 skipped'
}

skipped=0
cp .clang-format "$tree/"
mkdir -p "$tree/spmv" "$tree/io"
echo 'int same(void);' >"$tree/spmv/same.c"
test_lint
test_layout
test_deps
test_runner
rm -f "$tree.output"
echo "test_tools: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
