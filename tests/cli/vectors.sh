#!/bin/sh
# Vectors in every form: an answer of one run is a guess, a right-hand side or a personalization of the next; forms follow
# names; what is no vector is refused.
. tests/cli/lib.sh

graph=$work/graph.tsv
printf '10 20\n20 10\n20 30\n' >"$graph"
matrix identity.mtx 'coordinate real general' '3 3 3' '1 1 1' '2 2 1' '3 3 1'
identity=$work/identity.mtx
printf '0.1\n-3e-300\n7\n' >"$work/b.txt"

scores() { # pagerank's arguments: id, tab, score go to $work/scores.tsv
  rm -f "$work/scores.tsv"
  run 0 pagerank -q -o "$work/scores.tsv" "$@"
}

# The numbers of any form but NumPy's, one a line.
numbers() { # file
  grep -vE '^%|^id|^3 1$' "$1" | tr ',' '\t' | awk -F '\t' '{ print $NF }'
}

check_forms() {
  for form in mtx tsv csv txt npy; do
    run 0 bicgstab -q -b "$work/b.txt" -o "$work/x.$form" "$identity"
    run 0 bicgstab -q -b "$work/x.$form" -o "$work/again.txt" "$identity"
    same "b.txt by way of .$form" "$work/b.txt" "$work/again.txt"
    run 0 bicgstab -b "$work/b.txt" -x "$work/x.$form" "$identity" && says "$out" 'converged in 0 iterations'
    [ $form = npy ] || numbers "$work/x.$form" | cmp -s - "$work/b.txt"
    expect "the numbers of x.$form are not those of b.txt"
    cp "$work/x.$form" "$work/nameless"
    in=$work/nameless
    run 0 bicgstab -q -b - -o "$work/again.txt" "$identity"
    in=/dev/null
    same "b.txt by way of .$form from standard input" "$work/b.txt" "$work/again.txt"
    run 0 bicgstab -q --format $form -b "$work/b.txt" -o "$work/x.other" "$identity"
    same 'a form that is asked for' "$work/x.$form" "$work/x.other"
  done
  [ "$(head -n 1 "$work/x.csv")" = id,value ]
  expect 'the CSV file has no names'
  [ "$(head -c 10 "$work/x.npy" | od -An -c | tr -d ' \n')" = '223NUMPY001\0v\0' ]
  expect 'the NumPy file does not begin as one'
  [ "$(wc -c <"$work/x.npy")" = $((128 + 24)) ]
  expect 'the NumPy file has not 128 bytes and three numbers'
  if has_zlib; then
    gzip -c "$work/x.npy" >"$work/x.npy.gz"
    run 0 bicgstab -q -b "$work/x.npy.gz" -o "$work/again.txt" "$identity"
    same 'b.txt by way of a compressed file' "$work/b.txt" "$work/again.txt"
  else
    skip 2 'this build has no zlib'
  fi
}

# A vector that one run writes with ids is read by these ids in another.
check_ids() {
  scores "$graph"
  [ "$(cut -f 1 "$work/scores.tsv" | tr '\n' ' ')" = '10 20 30 ' ]
  expect 'the ids are not 10 20 30'
  cp "$work/scores.tsv" "$work/kept.tsv"
  for form in mtx tsv csv txt npy; do
    run 0 pagerank -q -o "$work/s.$form" "$graph"
    run 0 pagerank -q -x "$work/s.$form" --personalize "$work/s.$form" --damping 0 -o "$work/scores.tsv" "$graph"
    same "scores by way of .$form" "$work/kept.tsv" "$work/scores.tsv"
  done
  sort -r "$work/s.tsv" >"$work/turned"
  scores --personalize "$work/turned" --damping 0 "$graph"
  same 'scores by lines in another order' "$work/kept.tsv" "$work/scores.tsv"
}

# All jumps go to the nodes that are named.
check_subset() {
  printf '# two of three\n30 1\n10 3\n' >"$work/some.txt"
  scores --personalize "$work/some.txt" --damping 0 "$graph"
  printf '10\t0.75\n20\t0\n30\t0.25\n' >"$work/expected"
  same 'the scores' "$work/expected" "$work/scores.tsv"
  refuses 3 "$work/some.txt:4: the file ends without a value for id 20" pagerank -x "$work/some.txt" "$graph"
  printf '2 1\n' >"$work/one.txt"
  refuses 3 "$work/one.txt:1: id 2 is none of the graph's nodes" pagerank --personalize "$work/one.txt" "$graph"
  refuses 3 "$work/one.txt:2: the file ends without a value for id 1" bicgstab -b "$work/one.txt" "$identity"
  printf '10 0\n' >"$work/none.txt"
  run 3 pagerank --personalize "$work/none.txt" "$graph"
  printf '10 -1\n' >"$work/none.txt"
  run 3 pagerank --personalize "$work/none.txt" "$graph"
}

check_names() {
  printf '1\n1\n1\n' >"$work/ones.txt"
  for name in x.json x.mtx.gz x.dat; do
    refuses 1 "$work/$name: results end in .mtx, .tsv, .csv, .txt or .npy" bicgstab -o "$work/$name" "$identity"
    run 0 bicgstab -q --format txt -o "$work/$name" "$identity"
    same 'a form that is asked for' "$work/$name" "$work/ones.txt"
  done
  refuses 1 "the name ends in '.mtx', and --format asks for tsv" bicgstab --format tsv -o "$work/x.mtx" "$identity"
  refuses 1 "the name ends in '.csv', and --format asks for npy" bicgstab --format npy -o "$work/x.csv" "$identity"
  run 0 bicgstab -q --format tsv -o "$work/x.txt" "$identity"
  run 0 bicgstab -q -o "$work/plain" "$identity" && says "$work/plain" '%%MatrixMarket matrix array real general'
  run 0 bicgstab -q -o - "$identity" && says "$out" '%%MatrixMarket matrix array real general'
  run 0 bicgstab -q --format txt -o - "$identity"
  same 'what was written to standard output' "$work/ones.txt" "$out"
}

check_refusals() {
  refuses 3 "$identity: a vector has one column, not a matrix of 3 x 3" bicgstab -x "$identity" "$identity"
  printf '1\n2\n' >"$work/two.txt"
  refuses 3 "$work/two.txt:3: the file ends after 2 values, where 3 are needed for the matrix's rows" \
    bicgstab -b "$work/two.txt" "$identity"
  refuses 3 "$work/two.txt:3: the file ends after 2 values, where 3 are needed for the matrix's columns" \
    bicgstab -x "$work/two.txt" "$identity"
  printf '1\ninf\n3\n' >"$work/two.txt"
  refuses 3 "$work/two.txt:2: the value is not a number ('inf')" bicgstab -b "$work/two.txt" "$identity"
  run 0 bicgstab -q --save-binary "$work/saved.wrm" "$identity"
  refuses 3 "$work/saved.wrm: a matrix saved in binary, where a vector is needed" bicgstab -b "$work/saved.wrm" "$identity"
  refuses 3 "$work/x.npy: a NumPy array (.npy), which is read as a vector only" bicgstab "$work/x.npy"
}

check_forms
check_ids
check_subset
check_names
check_refusals
report
