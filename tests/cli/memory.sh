#!/bin/sh
# Headers, names and compressed files that ask for more memory than there is: refused with exit 6 and a sentence that says how
# much is needed and how much is available, before memory of that size is touched.
. tests/cli/lib.sh

if ! sh -c "ulimit -v 200000 && '$BUILD/pagerank' --version" >"$out" 2>&1; then
  skip 1 'this build does not run in 200 MB of address space'
  report
fi

matrix empty.mtx 'coordinate pattern general' '2147483647 2147483647 1' '5 6'
matrix wide.mtx 'coordinate real general' '1 2147483647 1' '1 6 2.5'
matrix tall.mtx 'coordinate real general' '2147483647 1 1' '6 1 2.5'
# Row pointers of 80 MB would fit; a graph's vectors of 560 MB do not.
matrix large.mtx 'coordinate pattern symmetric' '10000000 10000000 1' '6 5'
matrix small.mtx 'coordinate real symmetric' '300000 300000 1' '6 5 2.5'
matrix A.mtx 'coordinate real general' '2 2 3' '1 1 2' '1 2 1' '2 2 4'
matrix long.mtx 'coordinate real general' '1000000000000 1 1' '1 1 2.5'
matrix longest.mtx 'coordinate real general' '2147483647 1 1' '1 1 2.5'
matrix missing.mtx 'array real general' '2147483647 1' 2.5
matrix truncated.mtx 'coordinate real general' '2147483647 2147483647 99999999999' '1 1 2.5'
answer=$work/answer.mtx

# In 200 MB of address space.
limited() { # exit code, program, arguments...
  wanted=$1 program=$2
  shift 2
  rm -f "$answer"
  call "$wanted" sh -c 'ulimit -v 200000; exec "$@"' sh "$BUILD/$program" -d cpu "$@"
}

does_not_fit() { # what is asked for, program, arguments...
  asked=$1
  shift
  limited 6 "$@"
  says "$err" "$1: " 'out of memory: ' "$asked" 'MB are available (ulimit)'
  [ ! -e "$answer" ]
  expect 'an answer that does not exist was written'
}

check_headers() {
  hint='most rows or columns are empty: leave them out'
  for program in pagerank bicgstab; do
    does_not_fit "$work/empty.mtx: out of memory: " $program -o "$answer" "$work/empty.mtx"
    says "$err" 'a matrix of 2147483647 x 2147483647 (stored entries: 1)' "$hint"
    does_not_fit "$work/large.mtx: out of memory: " $program "$work/large.mtx"
    says "$err" "$hint"
    in=$work/empty.mtx
    does_not_fit 'standard input: out of memory: ' $program -
    in=/dev/null
  done
  for shape in empty wide tall; do
    does_not_fit "$work/$shape.mtx: out of memory: " spmv -k cpu_csr "$work/$shape.mtx"
    says "$err" "$hint"
  done
  limited 3 pagerank "$work/wide.mtx" # a defect that more memory would not cure
  limited 3 bicgstab "$work/truncated.mtx"
  says "$err" 'truncated.mtx:4: the file ends after 1 of 99999999999 entries'
}

# What fits is solved, however few of its rows are used.
check_that_fits() {
  limited 0 pagerank --top 0 -o "$answer" "$work/small.mtx"
  [ "$(values "$answer" | wc -l)" = 300000 ]
  expect 'there are not 300000 scores'
  limited 0 bicgstab -o "$answer" "$work/small.mtx"
  element "$answer" 5 1 1e-8
  element "$answer" 7 0 0
}

check_entries() {
  { echo '%%MatrixMarket matrix coordinate real general' && echo '1 1 14000000' && yes '1 1 1' | head -n 14000000; } \
    >"$work/many.mtx"
  does_not_fit "$work/many.mtx: out of memory: 235.2 MB asked for its entries" pagerank "$work/many.mtx"
  limited 3 pagerank "$work/truncated.mtx" # a number of entries that the file has no room for
}

check_other_inputs() {
  limited 3 bicgstab -b "$work/long.mtx" "$work/A.mtx"
  says "$err" 'long.mtx:2: more rows than the 2147483647 that a 32-bit index reaches'
  limited 3 bicgstab -b "$work/longest.mtx" "$work/A.mtx"
  says "$err" 'longest.mtx: a vector of 2147483647 values, where 2 are needed'
  limited 3 bicgstab -x "$work/missing.mtx" "$work/A.mtx"
  says "$err" 'missing.mtx:4: the file ends after 1 of 2147483647 entries'
  printf '1\t9223372036854775807\n5\t1\n' >"$work/far.tsv"
  limited 0 pagerank "$work/far.tsv"
  says "$out" '3 x 3'
  for name in uniform:n=2147483647,degree=1 chain:scale=30 road:side=46340; do
    does_not_fit 'asked for the entries of gen:' pagerank "gen:$name"
  done
  does_not_fit 'asked for the entries of gen:stencil' bicgstab gen:stencil:n=1200
  does_not_fit 'asked for the entries of gen:chain' pagerank gen:chain:scale=22 # its vectors
}

# 300 MB of blank lines behind the banner, in less than 2 MB.
check_unfolded() {
  if ! has_zlib; then
    skip 4 'this build has no zlib'
    return
  fi
  { echo '%%MatrixMarket matrix coordinate pattern general' && head -c 300000000 /dev/zero | tr '\0' '\n'; } | gzip -1 \
    >"$work/bomb.mtx.gz"
  does_not_fit 'asked for more of its text' pagerank "$work/bomb.mtx.gz"
  says "$err" "$work/bomb.mtx.gz: out of memory" 'MB of it are held; unpack it to a file, which is read piece by piece'
  held=$(sed -n 's/.*; \([0-9]*\)[.][0-9] MB of it are held.*/\1/p' "$err")
  [ "${held:-0}" -ge 120 ]
  expect "only ${held:-0} MB of 300 were made use of"
  command='gunzip | pagerank -'
  gzip -dc "$work/bomb.mtx.gz" 2>"$work/gunzip" | sh -c 'ulimit -v 200000; exec "$@"' sh "$BUILD/pagerank" -d cpu - \
    >"$out" 2>"$err"
  [ $? = 6 ]
  expect 'exit code is not 6'
  says "$err" 'standard input: out of memory' 'MB of it are held; write it to a file, which is read piece by piece'
}

check_headers
check_that_fits
check_entries
check_other_inputs
check_unfolded
report
