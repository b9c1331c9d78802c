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
ranks 2 gen:web:n=20000 --threads 3 # sizes from which each process builds its part by several threads
ranks 2 gen:road:side=400 --threads 3
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

# Parts of any rows: a file may name nodes by their ids.
awk 'BEGIN { for (i = 1; i <= 300; i++) print (i + int(i / 7)) % 3 }' >"$work/thirds.txt"
ranks_by() { # partition, processes, what both take...
  partition=$1
  shift
  alone="--partition $partition"
  ranks "$@"
}
ranks_by "$work/thirds.txt" 3 "$work/weights.wrm" --personalize "$work/numbers.txt"
ranks_by "$work/thirds.txt" 3 "$work/weights.mtx" --edges in
awk '{ for (k = 1; k < 3; k++) if ($1 != "#" && !seen[$k]++) print $k, NR % 2 }' "$work/ids.tsv" >"$work/halves.txt"
ranks_by "$work/halves.txt" 2 "$work/ids.tsv"
run 0 pagerank "$work/ids.tsv"
sed -n '/rank  /,/order/p' "$out" >"$work/alone"
together 0 2 --partition "$work/halves.txt" "$work/ids.tsv"
sed -n '/rank  /,/order/p' "$out" >"$work/together"
same 'the best nodes of parts by a file' "$work/together" "$work/alone"
if [ -n "$(sed -n 's/^FOUND_METIS := //p' "$BUILD/found.mk")" ]; then
  ranks_by metis 4 gen:chain:scale=10
  ranks_by metis 3 gen:web:n=2000
  ranks_by metis 2 "$work/ids.tsv"
fi
alone=

# --check: the report is that of one process, of right scores and of those of other definitions, but for the time, the kinds
# of files and parts, and the order where one process has found ties.
verdict() { # file
  flat "$out" | sed 's/ times end.*//; s/ in f64: .*[0-9] x / /; s/parts by a file; //' >"$1"
  [ -z "$has_ties" ] || sed -i 's/ order .* worst / worst /; s/ order .*//' "$1"
}
checks() { # exit code, processes, scores, what is said..., --, options..., graph
  wanted=$1 processes=$2 scores=$3
  shift 3
  : >"$work/texts"
  while [ "$1" != -- ]; do
    echo "$1" >>"$work/texts"
    shift
  done
  shift
  run "$wanted" pagerank --check "$scores" "$@"
  has_ties=$(flat "$out" | grep ' equal to the next')
  verdict "$work/alone"
  # shellcheck disable=SC2086
  together "$wanted" "$processes" $alone --check "$scores" --json "$work/check.json" "$@"
  verdict "$work/together"
  same 'the report of --check' "$work/together" "$work/alone"
  while read -r text; do says "$out" "$text"; done <"$work/texts"
}
planted() { # scores, line, scores of which this line has 0.001 more
  awk -v line="$2" '{ if (NR == line) $NF = sprintf("%.17g", $NF + 0.001); print }' "$1" >"$3"
}

alone=
run 0 pagerank -q -o "$work/web.txt" gen:web:n=2000
for n in 2 3 4; do checks 0 $n "$work/web.txt" 'scores meet the tolerance' -- gen:web:n=2000; done
planted "$work/web.txt" 1500 "$work/off.txt"
for n in 2 3 4; do
  checks 2 $n "$work/off.txt" 'do NOT meet' 'of 2000 nodes' 'worst node 1500: a step changes its score' \
    'by -0.001, more than any other' -- gen:web:n=2000
done
says "$work/check.json" '"met_tolerance": false' '"nodes": 2000' '"worst_node": 1500'
checks 2 3 "$work/web.txt" 'another definition: damping 0.85' -- gen:web:n=2000 --damping 0.5
checks 2 4 "$work/web.txt" 'another definition: edges reversed' -- gen:web:n=2000 --edges in
run 0 pagerank -q -o "$work/reversed.txt" --damping 0.9 --edges in "$work/weights.wrm"
checks 2 2 "$work/reversed.txt" 'another definition: damping 0.9; edges reversed' -- "$work/weights.wrm"
awk '/^%/ || !size++ { print; next } { print $1, $2, 1 }' "$work/weights.mtx" >"$work/ones.mtx"
run 0 pagerank -q -o "$work/ones.txt" "$work/ones.mtx"
checks 2 3 "$work/ones.txt" 'another definition: weights ignored' -- "$work/weights.wrm"
checks 2 3 "$work/ones.txt" 'another definition: edges reversed; weights ignored' -- "$work/weights.wrm" --edges in
checks 2 4 "$work/ones.txt" 'another definition: no personalisation' -- "$work/ones.mtx" \
  --personalize "$work/numbers.txt"
awk '{ printf "%.17g\n", $1 * 300 }' "$work/ones.txt" >"$work/times.txt"
checks 2 3 "$work/times.txt" 'another definition: multiplied by 300' 'sum 300, off 1 by 299' \
  'for the scores divided by their sum' -- "$work/ones.mtx"
# Scores by 20 steps of power iteration here, so that their error exceeds rounding: the rank of dangling nodes goes to all
# nodes alike, and jumps go elsewhere.
awk 'FNR == NR { v[FNR] = $1; total += $1; next } /^%/ || !size++ { next }
  { from[++links] = $1; to[links] = $2; weight[links] = $3; sum[$1] += $3 }
  END { n = 300; for (i = 1; i <= n; i++) y[i] = 1 / n
    for (step = 0; step < 20; step++) {
      lost = 0; for (i = 1; i <= n; i++) { next_y[i] = 0.15 * v[i] / total; if (!sum[i]) lost += y[i] }
      for (k = 1; k <= links; k++) next_y[to[k]] += 0.85 * y[from[k]] * weight[k] / sum[from[k]]
      for (i = 1; i <= n; i++) y[i] = next_y[i] + 0.85 * lost / n }
    for (i = 1; i <= n; i++) printf "%.17g\n", y[i] }' "$work/numbers.txt" "$work/weights.mtx" >"$work/alike.txt"
checks 2 3 "$work/alike.txt" 'the rank of dangling nodes goes to all nodes alike' -- "$work/weights.wrm" \
  --personalize "$work/numbers.txt"
checks 0 3 "$work/web.txt" 'a step changes them by' -- gen:web:n=2000 --stop change --tolerance 1e-6

# By ids, by names, and of parts of any rows: the first of several nodes that are changed alike is that of the file.
run 0 pagerank -q -o "$work/ids_scores.tsv" "$work/ids.tsv"
for n in 2 4; do checks 0 $n "$work/ids_scores.tsv" 'scores meet the tolerance' -- "$work/ids.tsv"; done
bound=$(sed -n 's/.*"order_bound": \([^,]*\),/\1/p' "$work/check.json") # ranks by it are proven without ties, too
leading=$(cut -f 2 "$work/ids_scores.tsv" | sort -gr | awk -v bound="$bound" '
  NR > 1 && last - $1 <= bound / (1 - bound) { print NR - 2; exit } { last = $1 }')
says "$work/check.json" "\"proven_ranks\": $leading," '"ties": 0'
planted "$work/ids_scores.tsv" 100 "$work/off.tsv"
changed=$(sed -n '100s/[[:blank:]].*//p' "$work/off.tsv")
for partition in '' "--partition $work/halves.txt"; do
  alone=$partition
  checks 2 2 "$work/off.tsv" "worst node $changed: a step" -- "$work/ids.tsv"
done
run 0 pagerank -q -o "$work/names_scores.tsv" --separator semicolon --header no "$work/names.csv"
alone=
checks 0 3 "$work/names_scores.tsv" 'scores meet the tolerance' -- --separator semicolon --header no "$work/names.csv"
checks 2 3 "$work/names_scores.tsv" 'worst node ' -- --separator semicolon --header no --damping 0.3 "$work/names.csv"
alone="--partition $work/thirds.txt"
run 0 pagerank -q -o "$work/weights.txt" "$work/weights.wrm"
checks 0 3 "$work/weights.txt" 'scores meet the tolerance' -- "$work/weights.wrm"
checks 2 3 "$work/reversed.txt" 'another definition: damping 0.9; edges reversed' -- "$work/weights.wrm"
awk 'BEGIN { for (i = 1; i <= 12; i++) print i, i % 12 + 1 }' >"$work/ring.tsv"
awk 'BEGIN { for (i = 1; i <= 12; i++) print (i > 6 ? 0 : 1) }' >"$work/late.txt" # the second part has node 4
awk 'BEGIN { for (i = 1; i <= 12; i++) print (i % 4 ? 0.25 : 0.5) }' >"$work/steps.txt"
alone="--partition $work/late.txt"
checks 2 2 "$work/steps.txt" 'worst node 4: a step changes its score 0.5' -- "$work/ring.tsv"
alone=
checks 2 3 "$work/steps.txt" 'worst node 4: a step changes its score 0.5' -- "$work/ring.tsv"

# What is wrong in the file is said once.
refuses_scores() { # scores, what is said, graph
  run 3 pagerank --check "$1" "$3"
  says "$err" "$2"
  for n in 2 3; do
    together 3 $n --check "$1" "$3"
    one_sentence "$2"
  done
}
changed=$(sed -n '3s/[[:blank:]].*//p' "$work/ids_scores.tsv")
awk 'NR == 3 { $2 = -$2 } { print }' "$work/ids_scores.tsv" >"$work/bad.tsv"
refuses_scores "$work/bad.tsv" "bad.tsv: node $changed has the score -" "$work/ids.tsv"
awk 'NR == 3 { $1 = 5 } { print }' "$work/ids_scores.tsv" >"$work/bad.tsv"
refuses_scores "$work/bad.tsv" "bad.tsv:3: id 5 is none of the graph's nodes" "$work/ids.tsv"
sed 3d "$work/ids_scores.tsv" >"$work/bad.tsv"
refuses_scores "$work/bad.tsv" "bad.tsv" "$work/ids.tsv"
refuses_scores "$work/web.txt" "web.txt" "$work/weights.wrm"

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

together 0 3 -q --repeat 2 --method power --report "$work/page.html" gen:web:n=2000
grep -q '<h2>Matrix' "$work/page.html"
expect 'the page has no picture of the matrix'

# Teleport sets: scores by rank differ from those of one process by no more than both bounds together.
printf '10 20:3\n5\n7:2 8 9:0.5\n1\n2\n3\n# four\n4\n100 200 250:1e-3\n299\n' >"$work/sets.txt"
ranks_sets() { # processes, options..., matrix
  processes=$1
  shift
  rm -f "$work/together.tsv"
  run 0 pagerank -q --seeds "$work/sets.txt" --top 6 -o "$work/alone.tsv" "$@"
  # shellcheck disable=SC2086
  together 0 "$processes" -q $alone --seeds "$work/sets.txt" --top 6 -o "$work/together.tsv" "$@"
  says_nothing pagerank
  paste "$work/alone.tsv" "$work/together.tsv" | awk -F '\t' '{
    d = $4 - $9; most = $5 + $10; lines++
    if (NF != 10 || $1 != $6 || $2 != $7 || d > most || -d > most || $10 > 1e-4) wrong = 1 }
    END { exit wrong || lines < 40 }'
  expect 'the best nodes of sets have other scores'
}
ranks_sets 2 gen:web:n=2000
cut -f 1-3 "$work/alone.tsv" >"$work/alone" && cut -f 1-3 "$work/together.tsv" >"$work/together"
same 'the best nodes of sets' "$work/together" "$work/alone"
ranks_sets 3 gen:web:n=2000 --edges in
ranks_sets 4 gen:road:side=40 -p f32
ranks_sets 3 gen:hubs:n=300,hubs=1 --vectors 8
ranks_sets 3 "$work/weights.wrm"
alone="--partition $work/thirds.txt"
ranks_sets 3 "$work/weights.wrm"
alone=
ranks_sets 2 "$work/weights.mtx" --edges in --damping 0.5
together 0 3 --seeds "$work/sets.txt" --verify full --json "$work/sets.json" "$work/weights.wrm"
says "$out" '9 sets converged in' 'parts 3 processes, at most' 'those of 9 of 9 sets right' ' 9 1 '
says "$work/sets.json" '"sets": { "count": 9, "done": 9, "converged": 9,' '"checked": 9, "refuted": 0'
together 0 2 -q --seeds "$work/sets.txt" --top 0 --format json gen:web:n=2000
[ "$(grep -c '"outcome":"converged".*"top":\[\]}$' "$out")" = 9 ]
expect 'not a line for each set'
together 2 3 -n 2 --seeds "$work/sets.txt" gen:web:n=2000
says "$out" 'not converged (max-iterations): 1 of 9 sets converged in 1 to 2 iterations' # node 299 has no links
printf '1 2\n3 301\n' >"$work/wrong.txt"
together 3 3 --seeds "$work/wrong.txt" "$work/weights.wrm"
one_sentence "wrong.txt:2: id 301 is none of the graph's nodes"

# The order of the best nodes ends a solve after as many iterations as in one process, unless nodes are tied: these are not looked
# for. Where too many nodes have about the same score, the end sorts all.
ends() { # processes, arguments: the iterations, and what is proven
  processes=$1
  shift
  together 0 "$processes" -q --stop order --json "$work/order.json" "$@"
  for name in outcome iterations proven_ranks; do grep -o "\"$name\": [^,]*" "$work/order.json" | head -n 1; done | tr '\n' ' '
}
for options in '--top 8 gen:web:n=5000' '--top 3 -p f32 gen:web:n=2000' \
  '--top 3 --method power gen:road:side=60'; do
  # shellcheck disable=SC2086
  wanted=$(ends 1 $options)
  [ -n "$wanted" ]
  expect "no iterations in $work/order.json"
  for processes in 2 3; do
    # shellcheck disable=SC2086
    found=$(ends $processes $options)
    [ "$found" = "$wanted" ]
    expect "$processes processes: $found, and one: $wanted ($options)"
  done
done
together 0 3 --stop order --top 20 gen:web:n=12 # parts with fewer nodes than ranks, and ties
says "$out" 'the order of the first 12 is not proven'
together 0 3 --stop order --top 8 gen:web:n=5000
says "$out" 'the order of the first 8 is proven'
awk 'BEGIN { for (i = 1; i <= 99999; i++) print i, i + 1; print 100000, 1 }' >"$work/circle.txt"
together 0 2 --stop order --top 3 "$work/circle.txt"
says "$out" 'the order of the first 3 is not proven'

# The same bits for as many processes, any number of threads, and from a file.
run 0 pagerank -q --save-binary "$work/web.wrm" gen:web:n=2000
together 0 3 -q --deterministic --threads 1 -o "$work/1.npy" gen:web:n=2000
together 0 3 -q --deterministic --threads 2 -o "$work/2.npy" "$work/web.wrm"
same 'scores with 1 and 2 threads' "$work/1.npy" "$work/2.npy"

# What is for one process, and what is wrong.
together 4 2 --method gauss-seidel gen:web:n=100
one_sentence 'several'
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
