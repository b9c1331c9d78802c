#!/bin/sh
# pagerank --seeds: many teleport sets in one run. Scores against single runs, files, every error with its line.
. tests/cli/lib.sh

sets=$work/sets.txt graph=$work/graph.tsv
awk 'BEGIN { for (k = 0; k < 900; k++) print 10 * (k * 7 % 300 + 1) "\t" 10 * (k * k % 311 % 300 + 1) }' >"$graph" # ids are tens

# Nine sets, of one to nine ids and of several weights; the last ones end later than the others are begun.
for k in 1 2 3 4 5 6 7 8 9; do
  awk -v k=$k 'BEGIN {
    for (p = 1; p <= k; p++) printf "%s%d%s", (p > 1 ? " " : ""), 10 * (k * 31 % 97 + p), (p % 2 ? ":" p / 4 : "")
    print "" }'
done >"$sets"

# Each set as a file for --personalize gives the same scores, within both bounds.
check_single() { # options of both
  run 0 pagerank -q "$@" --seeds "$sets" --top 300 -o "$work/all.tsv" "$graph"
  k=0
  while read -r line; do
    k=$((k + 1))
    echo "$line" | tr ' ' '\n' | awk -F: '{ print $1, (NF > 1 ? $2 : 1) }' >"$work/one.txt"
    run 0 pagerank -q "$@" --personalize "$work/one.txt" -o "$work/scores.tsv" "$graph"
    awk -v k=$k 'BEGIN { FS = "\t" }
      NR == FNR { score[$1] = $2; next }
      $1 == k { rank++; if ($2 != rank || !($4 <= last || rank == 1)) bad = 1
                last = $4; bound = $5; off += $4 > score[$3] ? $4 - score[$3] : score[$3] - $4; seen[$3] = 1 }
      END { for (id in score) if (!(id in seen)) off += score[id]
            exit !(rank > 0 && !bad && off <= 2.1 * bound) }' "$work/scores.tsv" "$work/all.tsv"
    expect "set $k differs from a run of its own"
  done <"$sets"
  [ $k = 9 ]
  expect "$k sets"
}

# The same bytes in batches of any width, as cpu_csr and reference sum in the same order.
check_widths() {
  for backend in cpu_csr reference; do
    run 0 pagerank -q -k $backend --seeds "$sets" --vectors 4 --top 5 -o "$work/kept.tsv" "$graph"
    for vectors in 1 2 8 0; do
      run 0 pagerank -q -k $backend --seeds "$sets" --vectors $vectors --top 5 -o "$work/now.tsv" "$graph"
      same "sets in batches of $vectors" "$work/kept.tsv" "$work/now.tsv"
    done
    { tail -n 4 "$sets" && head -n 5 "$sets"; } >"$work/turned.txt"
    run 0 pagerank -q -k $backend --seeds "$work/turned.txt" --top 5 -o "$work/now.tsv" "$graph"
    awk '{ $1 = ($1 + 4) % 9 + 1; print }' "$work/now.tsv" | sort >"$work/now.txt"
    awk '{ $1 = $1; print }' "$work/kept.tsv" | sort >"$work/kept.txt"
    same 'sets in another order' "$work/kept.txt" "$work/now.txt"
  done
}

check_forms() {
  run 0 pagerank --seeds "$sets" --top 2 "$graph"
  says "$out" '9 sets converged in' 'asked for 1e-9' 'the host found those of 9 of 9 sets right' 'set rank score bound node'
  [ "$(grep -c '^ *[1-9]  *[12]  *0\.[0-9]*  *[0-9.e-]*  *[0-9]*0$' "$out")" = 18 ]
  expect 'not 18 lines of nodes'
  run 0 pagerank --seeds "$sets" --top 2 -o "$work/s.csv" "$graph"
  ! grep -q 'rank  *score' "$out"
  expect 'nodes are printed although they are written'
  [ "$(head -n 1 "$work/s.csv")" = set,rank,id,score,bound ] && [ "$(wc -l <"$work/s.csv")" = 19 ]
  expect 's.csv has other lines'
  run 0 pagerank -q --seeds "$sets" --top 2 -o "$work/s.tsv" "$graph"
  run 0 pagerank -q --seeds "$sets" --top 2 -o - "$graph"
  tr '\t' , <"$out" >"$work/s.txt"
  tail -n +2 "$work/s.csv" >"$work/t.txt"
  same 'tab-separated values and commas' "$work/s.txt" "$work/t.txt"
  run 0 pagerank -q --seeds "$sets" --top 0 -o "$work/s.jsonl" "$graph"
  [ "$(grep -c '"outcome":"converged".*"top":\[\]}$' "$work/s.jsonl")" = 9 ]
  expect 's.jsonl has not a line for each set'
  run 0 pagerank -q --seeds "$sets" --json "$work/report.json" "$graph"
  says "$work/report.json" '"sets": { "count": 9, "done": 9, "converged": 9,' '"checked": 9, "refuted": 0, "at_once": 4'
  for form in tsv csv; do
    run 0 pagerank --seeds "$sets" --top 2 --format $form "$graph"
    same "--format $form and a file" "$work/s.$form" "$out"
    says "$err" '9 sets converged in'
  done
  run 0 pagerank -q --seeds "$sets" --top 0 --format json "$graph"
  same '--format json and a file' "$work/s.jsonl" "$out"
  in=$sets
  run 0 pagerank -q --seeds - --top 2 --format csv -o "$work/out" "$graph"
  in=/dev/null
  same 'sets from standard input' "$work/s.csv" "$work/out"
}

# Ids that are names, with colons and commas in them.
check_names() {
  printf '"a b",x:y\nx:y,"z,1"\nz,x:y\n"z,1",z\n' >"$work/names.csv"
  printf 'x:y z:3\nz\n' >"$work/names.txt"
  run 0 pagerank -q --seeds "$work/names.txt" --top 3 -o "$work/names_top.csv" "$work/names.csv"
  [ "$(cut -d, -f 1-2 "$work/names_top.csv" | tail -n +2 | tr '\n' ' ')" = '1,1 1,2 1,3 2,1 2,2 2,3 ' ] &&
    [ "$(grep -c '^[12],[123],\(z\|x:y\|"z,1"\),0\.' "$work/names_top.csv")" = 6 ]
  expect 'names are not written as a CSV needs them'
  run 0 pagerank -q --seeds "$work/names.txt" --top 1 -o "$work/names_top.jsonl" "$work/names.csv"
  grep -q '"top":\[{"id":"z","score":0\.' "$work/names_top.jsonl"
  expect 'a name is no JSON string'
  echo 'x:y no' >"$work/names.txt"
  refuses 3 "names.txt:1: id no is none of" pagerank --seeds "$work/names.txt" "$work/names.csv"
}

check_outcomes() {
  run 2 pagerank -n 2 --seeds "$sets" --top 1 "$graph"
  says "$out" 'not converged (max-iterations): 0 of 9 sets converged in 2 iterations' 'the largest bound is that of set'
  run 2 pagerank -q -n 2 --seeds "$sets" "$graph"
  says "$err" 'pagerank: cpu_csr: max-iterations'
  run 0 pagerank --verify off --seeds "$sets" "$graph" && says "$out" ', unverified'
  run 0 pagerank --verify sample:2 --seeds "$sets" "$graph" && says "$out" 'those of 2 of 9 sets right'
  run 0 pagerank --stop change -t 1e-3 --seeds "$sets" "$graph" && says "$out" 'asked for 0.001 of the last change'
  printf '10\n' >"$work/one.txt"
  run 0 pagerank --seeds "$work/one.txt" --damping 0 "$graph" && says "$out" '1 set converged in 1 iteration' '1 1 1 '
}

# Comments, blank lines, tabs, commas and the end of a file without a line end.
check_lines() {
  printf '# sets\n\n  10:2\t20\n%% more\n30, 40:1e-300\r\n10:1 20:0.5' >"$work/lines.txt"
  printf '10:1 20:0.5\n30 40:1e-300\n10:1 20:.5\n' >"$work/plain.txt"
  for form in lines plain; do run 0 pagerank -q --seeds "$work/$form.txt" -o "$work/$form.tsv" "$graph"; done
  same 'lines of several forms' "$work/lines.tsv" "$work/plain.tsv"
}

wrong() { # line, sentence
  printf '# a comment\n10 20\n%b\n' "$1" >"$work/wrong.txt"
  refuses 3 "$work/wrong.txt:3: $2" pagerank --seeds "$work/wrong.txt" "$graph"
}

check_errors() {
  wrong '10 11' "id 11 is none of the graph's nodes"
  wrong '99999999999999999999' "id 99999999999999999999 is none of"
  wrong 'ten' 'id ten is none of'
  wrong '30 10 30:2' 'id 30 is in the set already'
  wrong '10,,20' 'an id is missing'
  wrong ':2' 'an id is missing'
  wrong '10:' 'the weight behind a colon is missing'
  wrong '10:-1' 'the weight is -1; weights are not negative'
  wrong '10:nan' "the weight is not a number ('nan')"
  wrong '10:inf' "the weight is not a number ('inf')"
  wrong '10:1e999' 'the weight is too big for a double (1e999)'
  wrong '10:0 20:0' 'all weights are 0; their sum must be positive'
  wrong '"10"' 'a quoted column'
  printf '# nothing\n\n' >"$work/none.txt"
  refuses 3 'none.txt: no sets' pagerank --seeds "$work/none.txt" "$graph"
  refuses 3 'no-such-file' pagerank --seeds "$work/no-such-file" "$graph"
  matrix array.mtx 'array real general' '2 1' 10 20
  refuses 3 'a matrix or an array, where lines of ids are needed' pagerank --seeds "$work/array.mtx" "$graph"
}

# Names with colons, blanks, quotes and commas.
check_quoted_names() {
  printf '"a b"\thttp://x/:1\nhttp://x/:1\tq"q\nhttp://x/\t"a b"\n"q""q"\tc,d\n' >"$work/names.tsv"
  printf 'http://x/ "a b":3\nhttp://x/:1 "q""q"\nhttp://x/:0.25 c,d:1e-3\n' >"$work/names.txt"
  run 0 pagerank -q --ids names --damping 0 --seeds "$work/names.txt" --format tsv "$work/names.tsv"
  cut -f 1-4 "$out" >"$work/now.txt"
  printf '1\t1\ta b\t0.75\n1\t2\thttp://x/\t0.25\n2\t1\thttp://x/:1\t0.5\n2\t2\t"q""q"\t0.5\n' >"$work/kept.txt"
  head -n 4 "$work/now.txt" >"$work/first.txt"
  same 'sets of names' "$work/kept.txt" "$work/first.txt"
  run 0 pagerank -q --ids names --damping 0 --seeds "$work/names.txt" --format json "$work/names.tsv"
  says "$out" '"top":[{"id":"a b","score":0.75},{"id":"http://x/","score":0.25}]' '{"id":"q\"q","score":0.5}'
  run 0 pagerank --ids names --damping 0 --seeds "$work/names.txt" "$work/names.tsv" && says "$out" '1 1 0.75' ' a b '
  printf 'c,d other\n' >"$work/wrong.txt"
  refuses 3 "$work/wrong.txt:1: id other is none of" pagerank --ids names --seeds "$work/wrong.txt" "$work/names.tsv"
  printf '"a b\n' >"$work/wrong.txt"
  refuses 3 "$work/wrong.txt:1: a quotation mark is not closed" pagerank --ids names --seeds "$work/wrong.txt" "$work/names.tsv"
  printf '"a b"x\n' >"$work/wrong.txt"
  refuses 3 'behind a name in quotes stands neither' pagerank --ids names --seeds "$work/wrong.txt" "$work/names.tsv"
  printf '"":2\n' >"$work/wrong.txt"
  refuses 3 'an id is missing' pagerank --ids names --seeds "$work/wrong.txt" "$work/names.tsv"
  printf '"a b" "a b":2\n' >"$work/wrong.txt"
  refuses 3 'id a b is in the set already' pagerank --ids names --seeds "$work/wrong.txt" "$work/names.tsv"
}

check_usage() {
  for option in "personalize $sets" "guess $sets" "check $sets" "history $work/h.csv" 'repeat 2' 'stop order' 'precision mixed'; do
    # shellcheck disable=SC2086 # an option and its value
    refuses 1 "--seeds ranks many sets: leave out --" pagerank --seeds "$sets" --$option "$graph"
  done
  refuses 1 'leave out --method idr' pagerank --seeds "$sets" --method idr "$graph"
  refuses 1 '--backend names several' pagerank --seeds "$sets" -k cpu_csr,reference "$graph"
  refuses 1 '--vectors is 1, 2, 4 or 8, not 3' pagerank --seeds "$sets" --vectors 3 "$graph"
  refuses 1 '--vectors is a number of sets, for --seeds' pagerank --vectors 4 "$graph"
  for name in s.mtx s.npy s; do
    refuses 1 'with --seeds results end in .tsv, .csv or .jsonl' pagerank --seeds "$sets" -o "$work/$name" "$graph"
  done
  refuses 1 'with --seeds results end in' pagerank --seeds "$sets" --format csv -o "$work/s.jsonl" "$graph"
  refuses 1 'with --seeds results end in' pagerank --seeds "$sets" --format tsv -o "$work/s.npy" "$graph"
  refuses 1 'with --seeds results end in' pagerank --seeds "$sets" --format npy -o "$work/s.tsv" "$graph"
  refuses 1 'would overwrite' pagerank --seeds "$sets" --json "$sets" "$graph"
  refuses 1 'standard input (-) can be one of the inputs only' pagerank --seeds - -
}

check_single
check_single -p f32
check_single --edges in --damping 0.5
check_widths
check_forms
check_names
check_outcomes
check_lines
check_errors
check_quoted_names
check_usage
report
