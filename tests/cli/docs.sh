#!/bin/sh
# The pages for users do what they say: docs/tutorial.md and docs/when_it_fails.md, on the CPU. docs/tutorial_c.md needs what
# `make install` writes, so install.sh runs it.
. tests/cli/lib.sh

if ! has_zlib || ! command -v python3 >/dev/null; then
  skip 2 'the pages need zlib and python3'
  report
fi
export PATH="$BUILD:$PATH" WINDROW="$PWD" CUDA_VISIBLE_DEVICES='' OMP_NUM_THREADS=2
page docs/tutorial.md
page docs/when_it_fails.md

# The second page has every outcome and every exit code.
command='docs/when_it_fails.md'
for code in $(sed -n 's/^  X([A-Z_]*, \([0-9]*\), .*/\1/p' config/errors.h) $(sed -n 's/^  X([A-Z_]*, "[a-z-]*", \([0-9]*\)).*/\1/p' solvers/outcome.h); do
  grep -q "^| $code |" docs/when_it_fails.md
  expect "exit code $code is missing"
done
# shellcheck disable=SC2013
for title in $(sed -n 's/^  X([A-Z_]*, "\([a-z-]*\)", .*/\1/p' solvers/outcome.h); do
  grep -q "^| .$title. |" docs/when_it_fails.md
  expect "outcome $title is missing"
done
report
