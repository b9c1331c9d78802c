#!/bin/sh
# Several processes of pagerank over MPI: their scores by the check of one process, the same bits from run to run, what they
# refuse, and that the failure of one ends all with one sentence.
# Needs: programs mpi-programs
. tests/cli/lib.sh

launcher=$(command -v mpirun)
if [ -z "$launcher" ] || [ ! -x "$BUILD/pagerank-mpi" ]; then
  skip 1 'no mpirun here, or a build without MPI'
  report
fi
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # as in parts.sh
together() { # exit code, processes, arguments of pagerank...
  wanted=$1 processes=$2
  shift 2
  call "$wanted" timeout 120 "$launcher" --allow-run-as-root --oversubscribe -n "$processes" "$BUILD/pagerank" "$@"
}

one_sentence() { # text
  says "$err" "$1"
  [ "$(grep -c '^pagerank: ' "$err")" = 1 ]
  expect 'not exactly one process says why'
}

ranks() { # processes, options of both..., matrix
  processes=$1
  shift
  rm -f "$work/x.mtx"
  # shellcheck disable=SC2086
  together 0 "$processes" -q $alone -o "$work/x.mtx" "$@"
  says_nothing pagerank
  run 0 pagerank -q --check "$work/x.mtx" "$@"
}

# A graph with weights, nodes without links out of them and nodes without links to them.
awk 'BEGIN {
  print "%%MatrixMarket matrix coordinate real general"
  for (i = 1; i <= 300; i++) if (i % 7) for (k = 1; k <= i % 9 + 1; k++) if (!seen[i, j = (i * i * k + k) % 250 + 1]++)
    lines[++count] = i " " j " " (i * k) % 13 + 0.5
  print 300, 300, count
  for (k = 1; k <= count; k++) print lines[k] }' >"$work/weights.mtx"
run 0 pagerank -q --save-binary "$work/weights.wrm" "$work/weights.mtx"
awk 'BEGIN { for (i = 1; i <= 300; i++) print i % 3 }' >"$work/numbers.txt"

alone=
ranks 2 gen:web:n=2000
ranks 3 gen:rmat:scale=9,degree=8
ranks 4 gen:road:side=40
ranks 3 gen:web:n=2000 -p f32
ranks 3 gen:web:n=2000 --stop change
ranks 4 gen:web:n=2000 --edges in
ranks 2 "$work/weights.wrm"
ranks 3 "$work/weights.wrm" --edges in
ranks 3 "$work/weights.wrm" --personalize "$work/numbers.txt"
alone="-x $work/numbers.txt"
ranks 3 "$work/weights.wrm"
ranks 3 gen:hubs:n=300,hubs=1 --damping 0.5 # most parts have links to few nodes
alone='-p mixed'
ranks 3 gen:web:n=2000
alone='--method idr'
ranks 3 gen:web:n=2000 --damping 0.97
ranks 2 "$work/weights.wrm" --damping 0.97 -p f32
alone='--verify sample:30 --method power'
ranks 3 gen:road:side=40
alone='--method power -x'" $work/numbers.txt"
together 3 2 $alone gen:web:n=2000
one_sentence 'numbers.txt'

# Lists of edges, some repeated, with ids from 0 to 10^12; and a text gives the bits of the saved matrix.
awk 'BEGIN { for (k = 1; k <= 900; k++) { source = (k * k * 7919) % 211 "4739336492"; target = k * k * k % 199 "4739336492"
  print source, target; if (k % 9 == 0) print "# a comment\n" source "\t" target } }' >"$work/ids.tsv"
alone=
for n in 2 4; do ranks $n "$work/ids.tsv"; done
ranks 3 "$work/ids.tsv" --edges in --duplicates sum
run 0 pagerank "$work/ids.tsv"
sed -n '/problem/,/dangling/p; /rank  /,/order/p' "$out" >"$work/alone"
together 0 3 "$work/ids.tsv"
sed -n '/problem/,/dangling/p; /rank  /,/order/p' "$out" >"$work/together"
same 'what is said of ids and repeats' "$work/together" "$work/alone"
# The ids of a saved list; names, which are numbered as one process numbers them, and come back with the scores.
run 0 pagerank -q --save-binary "$work/ids.wrm" "$work/ids.tsv"
ranks 3 "$work/ids.wrm"
together 0 2 -q --deterministic -o "$work/text.tsv" "$work/ids.tsv"
together 0 2 -q --deterministic -o "$work/saved.tsv" "$work/ids.wrm"
same 'scores of a list and of the saved list' "$work/saved.tsv" "$work/text.tsv"
awk 'BEGIN { for (k = 1; k <= 900; k++) { source = k * k * 7919 % 211; target = k * k * k % 199
  print "\"w, " source "\";\"http://" (target % 7 ? target : "") "/" target * target "\""
  if (target % 9 == 0) print "http://" target "/" target * target ";w, " source } }' >"$work/names.csv"
printf 'http:///0\t1\nhttp://1/1\t2\n' >"$work/home.txt"
for n in 2 4; do ranks $n --separator semicolon --header no "$work/names.csv"; done
ranks 3 --separator semicolon --header no --personalize "$work/home.txt" "$work/names.csv"
run 0 pagerank --separator semicolon --header no "$work/names.csv"
sed -n '/problem/,/dangling/p; /rank  /,/order/p' "$out" | grep -v order >"$work/alone"
together 0 3 --separator semicolon --header no "$work/names.csv"
sed -n '/problem/,/dangling/p; /rank  /,/order/p' "$out" | grep -v order >"$work/together"
same 'what is said of names' "$work/together" "$work/alone"
printf 'a b\nb a\n' >"$work/few.tsv" # the third process has no edge
together 1 3 "$work/few.tsv"
one_sentence '2 rows for 3 processes'
printf 'a b c d e f g h i j k l m n o p\n' | tr ' ' '\n' | awk '{ print "all", $1 }' >"$work/star.tsv"
ranks 4 --header no "$work/star.tsv"
printf '%080d b\nc d\ne f\n' 1 >"$work/wide.tsv" # shares of bytes: one line is longer than two of three
ranks 3 --ids names "$work/wide.tsv"

together 0 3 -q --deterministic -o "$work/text.npy" "$work/weights.mtx"
together 0 3 -q --deterministic -o "$work/saved.npy" "$work/weights.wrm"
same 'scores of a text and of a saved matrix' "$work/text.npy" "$work/saved.npy"

# The method, the order of the best nodes and the facts are those of one process.
run 0 pagerank --format csv --top 5 gen:web:n=2000
mv "$out" "$work/one.csv"
together 0 3 --format csv --top 5 gen:web:n=2000
cut -d, -f1,2 "$out" >"$work/together" && cut -d, -f1,2 "$work/one.csv" >"$work/alone"
same 'the best nodes' "$work/together" "$work/alone"
run 0 pagerank --json "$work/one.json" gen:road:side=40
together 0 3 --json "$work/parts.json" gen:road:side=40
says "$out" 'parts 3 processes, at most' '; all together at work for ' 'iterations of chebyshev' 'order proven'
facts() { # report
  for key in remark nnz method iterations; do grep -m 1 "\"$key\": [^n]" "$1"; done
}
facts "$work/one.json" >"$work/alone" && facts "$work/parts.json" >"$work/together"
same 'facts of the reports' "$work/together" "$work/alone"
[ "$(wc -l <"$work/alone")" = 4 ]
expect 'a report lacks a fact'
sums=$(awk -F'[:,]' '/"parts"/ { inside = 1 } /\]/ { inside = 0 }
  inside && /"rows"/ { rows += $2 } inside && /"nnz"/ { entries += $2 } END { print rows, entries }' "$work/parts.json")
[ "$sums" = "1600 $(awk -F'[:,]' '/"nnz"/ { print $2 + 0; exit }' "$work/one.json")" ]
expect "the parts have $sums rows and nonzeros"

# The same bits for as many processes, any number of threads, and from a file.
run 0 pagerank -q --save-binary "$work/web.wrm" gen:web:n=2000
together 0 3 -q --deterministic --threads 1 -o "$work/1.npy" gen:web:n=2000
together 0 3 -q --deterministic --threads 2 -o "$work/2.npy" "$work/web.wrm"
same 'scores with 1 and 2 threads' "$work/1.npy" "$work/2.npy"

# What is for one process, and what is wrong.
for options in '--method gauss-seidel' '--stop order' "--seeds $work/numbers.txt" "--check $work/x.mtx"; do
  # shellcheck disable=SC2086
  together 4 2 $options gen:web:n=100
  one_sentence 'several'
done
together 1 2 --method chebyshev gen:web:n=100
one_sentence 'mirror image'
together 3 3 gen:stencil:n=6
one_sentence 'has the weight -'
together 1 4 gen:web:n=3
one_sentence '3 rows for 4 processes'
cp "$work/web.wrm" "$work/bad.wrm"
printf '\377' | dd of="$work/bad.wrm" bs=1 seek=40000 conv=notrunc 2>"$work/dd"
together 3 3 "$work/bad.wrm"
one_sentence 'bad.wrm: damaged: the checksum of its column indices differs'
matrix twice.mtx 'coordinate pattern general' '4 4 5' '1 2' '1 2' '2 3' '3 4' '4 1'
run 0 pagerank -q --duplicates sum --save-binary "$work/twice.wrm" "$work/twice.mtx"
ranks 2 "$work/twice.wrm" --duplicates sum
together 3 2 "$work/twice.wrm"
one_sentence '1 repeated entry was counted as weights when it was saved'

# Parts of different builds: another program is one.
call 4 timeout 120 "$launcher" --allow-run-as-root --oversubscribe -n 2 "$BUILD/pagerank" -q gen:web:n=100 : \
  -n 1 "$BUILD/bicgstab" -q gen:web:n=100
says "$err" 'parts 1 and 3 are different builds (versions'
[ "$(grep -c 'different builds' "$err")" = 1 ]
expect 'not exactly one process says why'

together 2 3 -n 2 gen:web:n=2000
says "$out" 'not converged (max-iterations) after 2 iterations'

report
