#!/bin/sh
# --report: pages of runs of all kinds, compared with the JSON of the same run (tests/tools/check_page.py), names that look like
# markup, failures, sizes, and the pages in a browser.
. tests/cli/lib.sh

pages=$work/pages
mkdir "$pages"
python=$(command -v python3)

page() { # exit code, name, program, arguments...
  wanted=$1 name=$2 program=$3
  shift 3
  run "$wanted" "$program" "$@" --report "$pages/$name.html" --json "$pages/$name.json"
  [ -s "$pages/$name.html" ]
  expect "there is no page"
  [ "$(wc -c <"$pages/$name.html")" -lt 300000 ]
  expect "the page is larger than 300 kB"
}

matrix one.mtx 'coordinate real general' '1 1 1' '1 1 2'
matrix empty.mtx 'coordinate real general' '3 3 0'
matrix wild.mtx 'coordinate real general' '2 2 2' '1 1 1e200' '2 2 1e-200'
matrix singular.mtx 'coordinate real general' '2 2 2' '1 1 1' '2 1 1'
matrix rows.mtx 'coordinate real general' '3 3 7' '1 1 4' '1 2 1' '2 1 1e-5' '2 2 4e-5' '2 3 1e-5' '3 2 1e-10' '3 3 4e-10'
printf '1\n2\n' >"$work/two.txt"

# History in JSON belongs to --history.
page 0 solve bicgstab --history "$work/h.csv" gen:stencil:n=12
page 0 warm bicgstab --repeat 2 --precond jacobi --history "$work/h.csv" gen:stencil:n=8
page 0 unverified bicgstab --verify off --history "$work/h.csv" gen:fem:n=5
page 0 backward bicgstab --stop backward --history "$work/h.csv" gen:fem:n=5
page 2 failed bicgstab -n 30 --history "$work/h.csv" gen:convect:n=40
page 0 backends bicgstab -k cpu_csr,cpu_bsr,reference,merbit --history "$work/h.csv" gen:fem:n=6
page 0 rank pagerank -o "$pages/rank.tsv" --history "$work/h.csv" gen:web:n=20000
page 0 changed pagerank --stop change --top 300 --history "$work/h.csv" gen:rmat:scale=10
page 0 ranks pagerank -k cpu_csr,reference --history "$work/h.csv" gen:web:n=2000
page 0 one bicgstab --history "$work/h.csv" "$work/one.mtx"
page 0 one_rank pagerank --history "$work/h.csv" "$work/one.mtx"
page 5 wild bicgstab --scale none --method bicgstab -b "$work/two.txt" --history "$work/h.csv" "$work/wild.mtx"
page 5 singular bicgstab -b "$work/two.txt" --history "$work/h.csv" "$work/singular.mtx"
page 0 doubtful bicgstab -t 1e-3 --scale none --precond none --history "$work/h.csv" "$work/rows.mtx"
grep -q 'Converged, but x may be useless' "$pages/doubtful.html"
expect 'the page does not say that x may be useless'
page 0 empty_rank pagerank --history "$work/h.csv" "$work/empty.mtx"
page 2 long pagerank --method power --damping 0.99999 -t 1e-15 -n 10000 --history "$work/h.csv" gen:road:side=16
page 0 spmv spmv -k cpu_csr,cpu_bsr,reference,merbit --seconds 0.01 --batches 7 gen:fem:n=6
page 0 several spmv -k cpu_csr,reference -p f64 --values --pattern --seconds 0.01 --batches 7 gen:web:n=3000 gen:band:n=300
page 3 missing spmv -k cpu_csr -p f64 --seconds 0.01 --batches 7 "$work/no such file.mtx" gen:band:n=30
page 0 empty spmv -k cpu_csr -p f64 --seconds 0.01 --batches 7 "$work/empty.mtx"

# Pictures of known entries: one element a cell, and a row of many among lone entries on 96 x 96 cells.
matrix pages/small.mtx 'coordinate pattern general' '3 4 4' '1 2' '1 4' '2 1' '3 3'
awk 'BEGIN {
  print "%%MatrixMarket matrix coordinate pattern general\n500 300 701"
  for (j = 1; j <= 300; j++) print 11, j
  for (i = 100; i <= 500; i++) print i, 1 + (7 * i) % 300 }' >"$pages/large.mtx"
page 0 small spmv -k cpu_csr -p f64 --seconds 0.01 --batches 7 "$pages/small.mtx"
page 0 large spmv -k cpu_csr -p f64 --seconds 0.01 --batches 7 "$pages/large.mtx"

# Names from outside.
hostile="$work/<script>alert(1)<!--&amp;\"'$(printf '\033[31m\377\302\205\342\200\256')x.mtx"
cp "$work/one.mtx" "$hostile"
page 0 hostile bicgstab --history "$work/h.csv" "$hostile"
printf '%s\t%s\n' '<script>' '&"' '&"' "it's" "it's" '<script>' '<b>' '<script>' '<script>' "$(printf '\342\200\256]]>')" >"$work/names.tsv"
page 0 names pagerank --history "$work/h.csv" "$work/names.tsv"
grep -q '<td class="node">&lt;script&gt;</td>' "$pages/names.html" && grep -q '<td class="node">&#xFFFD;\]\]&gt;</td>' "$pages/names.html"
expect 'the names of nodes are not in the page'
run 0 pagerank --format csv --top 2 --report "$work/csv.html" "$work/names.tsv"
[ "$(wc -l <"$out")" = 3 ] && grep -q '<table class="nodes">' "$work/csv.html"
expect 'the best nodes are not both in CSV and in the page'
page 0 hostile_spmv spmv -k cpu_csr -p f64 --seconds 0.01 --batches 7 "$hostile"

# A failure once the matrix was read: the page says what failed, without runs. Nothing to compare it with.
printf '1\n2\n' >"$work/short.txt"
call 3 "$BUILD/bicgstab" -d cpu -b "$work/short.txt" --report "$pages/broken.html" gen:stencil:n=3
grep -q 'Failed' "$pages/broken.html" && grep -q 'short.txt' "$pages/broken.html" && grep -q 'class="spy"' "$pages/broken.html"
expect 'the page does not show what failed, and the matrix'
matrix wide.mtx 'coordinate real general' '2 3 1' '1 1 1'
call 3 "$BUILD/bicgstab" -d cpu --report "$pages/wide.html" "$work/wide.mtx"
grep -q 'square' "$pages/wide.html"
expect 'the page does not say that the matrix has to be square'
call 3 "$BUILD/bicgstab" -d cpu --report "$pages/none.html" "$work/no such file.mtx"
[ ! -e "$pages/none.html" ]
expect 'there is a page of a matrix that was not read'

# Exit codes stay, and paths are checked before the solve.
call 8 "$BUILD/bicgstab" -d cpu --report "$work/no such folder/r.html" gen:stencil:n=3
call 8 "$BUILD/spmv" -d cpu --report "$work/no such folder/r.html" gen:stencil:n=3
cp "$work/one.mtx" "$work/kept.mtx"
call 1 "$BUILD/bicgstab" -d cpu --report "$work/kept.mtx" "$work/kept.mtx"
same 'an input that is named as a page' "$work/one.mtx" "$work/kept.mtx"
call 1 "$BUILD/bicgstab" -d cpu --report "$work/same" --json "$work/same" gen:stencil:n=3
echo gen:stencil:n=3 >"$work/list"
call 1 "$BUILD/bicgstab" -d cpu --report "$work/r.html" "@$work/list"
run 0 bicgstab --report - gen:stencil:n=3
head -n 1 "$out" | grep -q '^<!DOCTYPE html>$' && grep -q 'converged in' "$err"
expect 'standard output is not the page, with the report on standard error'

# The line in the terminal: blocks on a terminal with UTF-8 alone.
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
  for locale in C C.UTF-8 de_AT.utf8@euro; do
    LC_ALL=$locale call 0 script -qec "$BUILD/bicgstab -d cpu gen:stencil:n=3" /dev/null
    case $locale in
      C) grep -q '^  residual  [-.:=+*#@]\{1,40\}  from [0-9.e-]* to' "$out" ;;
      *) grep -q "^  residual  $(printf '\342\226')[^ ]*  from [0-9.e-]* to" "$out" ;;
    esac
    expect "the line of the convergence is another one with LC_ALL=$locale"
  done
else
  skip 6 'script is missing, which runs a command on a terminal of its own'
fi
LC_ALL=C.UTF-8 run 0 bicgstab gen:stencil:n=3
grep -q '^  residual  [-.:=+*#@]\{1,40\}  from [0-9.e-]* to' "$out"
expect 'the line of the convergence is not ASCII in a file'
run 0 bicgstab -n 1000000 gen:stencil:n=3
! grep -q '^  residual' "$out"
expect 'a history was kept that may be long'

# The same page for any number of threads, but for times.
for threads in 1 2; do
  OMP_NUM_THREADS=$threads call 0 "$BUILD/bicgstab" -d cpu -q --threads "$threads" --report "$work/t$threads.html" gen:fem:n=6
  sed -n '/class="spy"/,/<\/figure>/p; /class="lengths"/,/<\/table>/p' "$work/t$threads.html" >"$work/t$threads.part"
done
same 'pictures of the matrix by one and by two threads' "$work/t1.part" "$work/t2.part"

if [ -z "$python" ]; then
  skip 1 'python3 is missing, which compares pages with JSON'
else
  PYTHONDONTWRITEBYTECODE=1 $python tests/tools/check_page.py "$pages" >"$work/summary" 2>"$work/failures" || cat "$work/failures" >&2
  grep '^\[page\] skipped' "$work/failures" >&2
  # shellcheck disable=SC2046
  set -- $(sed -n 's/^check_page: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped/\1 \2 \3/p' "$work/summary")
  passed=$((passed + ${1:-0}))
  failed=$((failed + ${2:-1}))
  skipped=$((skipped + ${3:-0}))
fi
report
