#!/bin/sh
# Graphs and systems from edge lists: every way of writing, ids given back, and what is refused.
. tests/cli/lib.sh

edges=tests/data/edges result=$work/result.tsv

scores() { # pagerank's arguments: id, tab, score go to $result
  rm -f "$result"
  run 0 pagerank -q --format tsv -o "$result" "$@"
  [ -s "$result" ]
  expect 'no result was written'
}

same_scores() {
  same 'the scores' "$work/kept.tsv" "$result"
}

ids_are() { # ids...
  [ "$(cut -f 1 "$result" | tr '\n' ' ')" = "$* " ]
  expect "the ids are not $*"
}

score() { # id, expression, eps
  value=$(awk -F '\t' -v id="$1" '$1 == id { print $2 }' "$result")
  awk "BEGIN { d = ${value:-1e99} - ($2); exit !(d <= $3 && d >= -($3)) }"
  expect "the score of $1 is ${value:-missing}, not within $3 of $2"
}

# One graph as file, pipe or gzip gives the same bytes: those of its matrix, apart from the ids of the nodes.
check_sources() {
  scores $edges/lanes.txt && ids_are 0 1 2 3 4 && cp "$result" "$work/kept.tsv"
  scores $edges/lanes.csv && same_scores
  in=$edges/lanes.txt
  scores --input-format edges - && same_scores
  in=/dev/null
  cp $edges/lanes.txt "$work/lanes.dat"
  scores --input-format edges "$work/lanes.dat" && same_scores
  scores --threads 3 --deterministic $edges/lanes.txt && same_scores
  if has_zlib; then
    gzip -c $edges/lanes.csv >"$work/lanes.csv.gz"
    scores "$work/lanes.csv.gz" && same_scores
  else
    skip 3 'this build has no zlib'
  fi
  matrix lanes.mtx 'coordinate pattern general' '5 5 7' '1 2' '1 3' '2 4' '3 4' '4 1' '1 2' '4 5'
  scores "$work/lanes.mtx" && ids_are 1 2 3 4 5
  awk -F '\t' '{ print $1 - 1 "\t" $2 }' "$result" >"$work/shifted" && mv "$work/shifted" "$result"
  same_scores
  cp "$work/lanes.mtx" "$work/matrix.txt"
  scores --input-format mtx "$work/matrix.txt" && ids_are 1 2 3 4 5
}

# 9223372036854775807 shares 3 : 1 between two nodes that both link back to it alone.
check_ids() {
  scores $edges/couriers.el && ids_are 17 5000000000 9223372036854775807
  r='(0.15 / 3 + 0.85) / 1.85'
  score 9223372036854775807 "$r" 1e-9
  score 5000000000 "0.05 + 0.85 * 0.75 * $r" 1e-9
  score 17 "0.05 + 0.85 * 0.25 * $r" 1e-9
  run 0 pagerank --top 1 $edges/couriers.el
  says "$out" 'edge list with weights, 3 x 3, 4 nonzeros' 'ids 17 to 9223372036854775807' ' 1 9223372036854775807 0.4864'
  run 0 pagerank -q -o "$work/result.mtx" $edges/couriers.el
  says "$work/result.mtx" 'in ascending order of ids'
  scores gen:chain:scale=2 && ids_are 1 2 3 4
}

check_duplicates() {
  run 0 pagerank $edges/lanes.txt && says "$out" 'edge list, 5 x 5, 6 nonzeros' '1 repeated entry counted once'
  scores --duplicates sum $edges/lanes.txt
  ! cmp -s "$work/kept.tsv" "$result"
  expect 'a repeated edge weighs no more than another'
  run 0 pagerank --duplicates sum $edges/lanes.txt && says "$out" '1 repeated entry summed'
  printf '1 2 0.5\n1 3 0.5\n1 2 0.5\n' >"$work/weighted.txt"
  for choice in auto sum; do
    run 0 pagerank --duplicates $choice "$work/weighted.txt" && says "$out" '1 repeated entry summed'
  done
  refuses 1 "$work/weighted.txt: --duplicates once is for edges without weights" pagerank --duplicates once "$work/weighted.txt"
}

check_system() {
  run 0 bicgstab -q --format tsv -o "$result" $edges/system.tsv && ids_are 1 2
  score 1 1 1e-7
  score 2 1 1e-7
  printf '0 0 2\n0 1 -1\n1 1 4\n' >"$work/zero.txt"
  run 0 bicgstab -q --format tsv -o "$result" "$work/zero.txt" && ids_are 0 1
}

# One graph with its columns in other places, by their names or by --columns.
check_columns() {
  printf '7 3\n3 7\n3 5\n' >"$work/plain.el"
  scores "$work/plain.el" && cp "$result" "$work/kept.tsv"
  printf 'to,from\n3,7\n7,3\n5,3\n' >"$work/named.csv"
  scores "$work/named.csv" && same_scores
  printf 'id,from,to\n1,7,3\n2,3,7\n3,3,5\n' >"$work/numbered.csv"
  scores "$work/numbered.csv" && same_scores
  scores --columns FROM,to "$work/numbered.csv" && same_scores
  sed 's/from,to/fan,idol/' "$work/numbered.csv" >"$work/fans.csv"
  refuses 3 "$work/fans.csv:1: no column is named as the source; --columns id,fan, for instance" pagerank "$work/fans.csv"
  scores --columns fan,idol "$work/fans.csv" && same_scores
  scores --columns 2,3 "$work/numbered.csv" && same_scores
  in=$work/numbered.csv
  scores --columns 2,3 - && same_scores
  in=/dev/null
  run 0 pagerank --columns 2,3 "$work/numbered.csv" && says "$out" 'edge list (column 2 to column 3)'
  if has_zlib; then
    gzip -c "$work/numbered.csv" >"$work/numbered.csv.gz"
    scores "$work/numbered.csv.gz" && same_scores
  else
    skip 3 'this build has no zlib'
  fi
  scores $edges/swapped.tsv && ids_are 7 5000000000
  scores --columns 2,3 $edges/numbered.csv && ids_are 0 1 3 4
  sed 1d "$work/numbered.csv" >"$work/bare.csv"
  refuses 3 "$work/bare.csv:1: three columns between commas, without names" pagerank "$work/bare.csv"
  scores "$work/plain.el" && cp "$result" "$work/kept.tsv"
  scores --columns 2,3 "$work/bare.csv" && same_scores
  printf '1,1,2\n1,2,-1\n2,2,4\n' >"$work/system.csv"
  run 0 bicgstab -q --format tsv -o "$result" "$work/system.csv" && ids_are 1 2
  printf 'col,value,row\n1,2,1\n2,-1,1\n2,4,2\n' >"$work/named_system.csv"
  cp "$result" "$work/kept.tsv"
  run 0 bicgstab -q --format tsv -o "$result" "$work/named_system.csv" && same_scores
  run 0 bicgstab -q --format tsv --columns 3,1,2 -o "$result" "$work/named_system.csv" && same_scores
  run 0 spmv -q --columns 3,1,2 -k cpu_csr --batches 1 "$work/named_system.csv"
  for program in pagerank bicgstab; do
    refuses 1 "--columns: '2' is neither SOURCE,TARGET nor" "$program" --columns 2 "$work/plain.el"
    refuses 1 'gen:chain:scale=2: columns (--columns) can be chosen of an edge list only' \
      "$program" --columns 1,2 gen:chain:scale=2
    refuses 1 'can be chosen of an edge list only' "$program" --columns 1,2 --input-format mtx "$work/plain.el"
    refuses 3 "$work/plain.el:1: column 3 is asked for, and the line has 2" "$program" --columns 1,2,3 "$work/plain.el"
  done
}

check_refusals() {
  printf '# c\n1 2\n2\n' >"$work/short.el"
  printf '1 1 5\n2 2 -3\n' >"$work/negative.tsv"
  for program in pagerank bicgstab; do
    refuses 3 "$work/short.el:3: the target id is missing" "$program" "$work/short.el"
    refuses 3 "$work/none.csv: cannot be opened" "$program" "$work/none.csv"
    refuses 3 "$work/matrix.txt:1: a Matrix Market file, not an edge list" "$program" "$work/matrix.txt"
    refuses 3 "$edges/lanes.txt:1: no Matrix Market banner" "$program" --input-format mtx $edges/lanes.txt
    refuses 1 "--input-format: 'tsv' is not one of auto|mtx|edges" "$program" --input-format tsv $edges/lanes.txt
  done
  refuses 3 "$work/negative.tsv:2: a negative weight where none may be (-3)" pagerank "$work/negative.tsv"
  run 0 bicgstab "$work/negative.tsv"
  in=$work/short.el
  refuses 3 'standard input:3: the target id is missing' pagerank --input-format edges -
  refuses 3 'standard input:1: no Matrix Market banner' pagerank -
  in=/dev/null
  rm -f "$result"
  run 3 pagerank -q --format tsv -o "$result" "$work/short.el"
  [ ! -e "$result" ]
  expect 'a result was written'
}

# The graph of lanes.txt with names: the same scores, whatever stands between the names.
check_names() {
  names='s/\([0-9]\)/https:\/\/a.org\/\1/g'
  scores $edges/lanes.txt && sed 's/^/https:\/\/a.org\//' "$result" >"$work/kept.tsv"
  awk '!/^[#%]/ && NF { print $1, $2 }' $edges/lanes.txt | sed "$names" >"$work/named.txt"
  scores "$work/named.txt" && same_scores
  scores --threads 2 --deterministic "$work/named.txt" && same_scores
  awk 'BEGIN { print "source,target" } !/^[#%]/ && NF { print "\"" $1 "\",\"" $2 "\"" }' "$work/named.txt" >"$work/quoted.csv"
  scores "$work/quoted.csv" && same_scores
  scores --columns target,source --edges in "$work/quoted.csv" && same_scores
  run 0 pagerank --top 1 "$work/named.txt" && says "$out" 'edge list of names, 5 x 5' ' 1 https://a.org/3 0.3131'
  scores --personalize "$work/kept.tsv" "$work/named.txt"
  run 0 pagerank --check "$work/kept.tsv" "$work/named.txt"
  printf 'https://a.org/9\t1\n' >"$work/jump.tsv"
  refuses 3 "$work/jump.tsv:1: id 'https://a.org/9' is none of the graph's nodes" \
    pagerank --personalize "$work/jump.tsv" "$work/named.txt"
  printf 'https://a.org/1\t1\n' >"$work/jump.tsv"
  scores --personalize "$work/jump.tsv" "$work/named.txt"
  refuses 1 'its ids are names, which --save-binary does not keep' pagerank --save-binary "$work/n.wrm" "$work/named.txt"
  refuses 3 "the source id is not an integer ('https://a.org/" pagerank --ids numbers "$work/named.txt"
  refuses 1 'gen:chain:scale=2: --header, --separator and --ids are for an edge list only' \
    pagerank --ids names gen:chain:scale=2
  scores --ids names $edges/couriers.el && ids_are 17 5000000000 9223372036854775807
}

# The best nodes for other programs, quoted as each form needs it.
check_top() {
  printf 'source,target\n"a ""b"", c",hub\nd\\e,hub\n"\t",hub\n' >"$work/top.csv"
  run 0 pagerank -q --top 1 --format tsv "$work/top.csv"
  [ "$(cut -f 1,2 "$out")" = "1$(printf '\t')hub" ] && [ "$(wc -l <"$out")" = 1 ]
  expect 'the best node is not hub'
  run 0 pagerank --top 9 --format csv "$work/top.csv"
  says "$err" 'converged' && says "$out" 'rank,id,score' '"a ""b"", c",0.' 'd\e,0.'
  [ "$(wc -l <"$out")" = 5 ]
  expect 'there are not 4 nodes below the names'
  run 0 pagerank -q --format json "$work/top.csv"
  if command -v python3 >/dev/null; then
    python3 -c 'import json, sys
best = json.load(open(sys.argv[1]))
assert [b["rank"] for b in best] == [1, 2, 3, 4] and best[0]["id"] == "hub" and abs(best[0]["score"] - 3.55 / 6.55) < 1e-9, best
assert sorted(b["id"] for b in best[1:]) == ["\t", "a \"b\", c", "d\\e"], best' "$out" 2>"$err"
    expect 'the JSON does not have the nodes'
  else
    skip 1 'no python3'
  fi
  run 0 pagerank -q --top 2 --format json $edges/couriers.el && says "$out" '"id": 9223372036854775807, "score": 0.4864'
  run 0 pagerank -q --top 0 --format json $edges/couriers.el && [ "$(cat "$out")" = '[]' ]
  expect 'no nodes are not an empty list'
  refuses 1 '--format json is for the --top best nodes' pagerank --format json -o "$result" $edges/lanes.txt
  refuses 1 '--format json is for the best nodes of pagerank' bicgstab --format json $edges/system.tsv
  refuses 1 'can go to standard output' pagerank --format json --json - $edges/lanes.txt
  for form in mtx txt npy; do
    refuses 1 '--format is tsv, csv or json without --output' pagerank --format $form $edges/lanes.txt
  done
  refuses 1 '--format is that of x: name its file with --output' bicgstab --format tsv $edges/system.tsv
}

check_sources
check_top
check_names
check_ids
check_duplicates
check_system
check_columns
check_refusals
report
