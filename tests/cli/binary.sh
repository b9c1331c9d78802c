#!/bin/sh
# --save-binary and what reads it: the same answers as from the text, whole or not at all, and damage refused.
. tests/cli/lib.sh

matrix graph.mtx 'coordinate pattern general' '3 3 4' '1 2' '1 3' '2 1' '3 1'
matrix repeated.mtx 'coordinate pattern general' '3 3 6' '1 2' '1 2' '1 2' '1 3' '2 1' '3 1'
matrix weights.mtx 'coordinate real general' '3 3 6' '1 2 1' '1 2 1' '1 2 1' '1 3 1' '2 1 1' '3 1 1'
matrix system.mtx 'coordinate real symmetric' '2 2 3' '1 1 4' '2 1 -1' '2 2 3'
graph=$work/graph.mtx repeated=$work/repeated.mtx saved=$work/saved.wrm
folder=$work/folder
mkdir "$folder"

is_absent() { # file
  [ ! -e "$1" ]
  expect "${1##*/} is there"
}

holds_nothing() {
  [ -z "$(find "$folder" -mindepth 1)" ]
  expect 'something is left in the folder'
}

# The matrix saved, and an answer from it; both as from the source itself, and the same once more.
check_same() { # program, arguments..., matrix
  program=$1
  shift
  for source in "$@"; do :; done
  run 0 "$program" -q --save-binary "$saved" -o "$work/first.mtx" "$@"
  values "$work/first.mtx" >"$work/first"
  call 0 "$BUILD/$program" -d cpu -q --save-binary "$work/again.wrm" -o "$work/second.mtx" "$saved"
  values "$work/second.mtx" >"$work/second"
  same "the answer from $source and from its binary" "$work/first" "$work/second"
  same 'a binary and its copy' "$saved" "$work/again.wrm"
  for threads in 1 2 5; do
    run 0 "$program" -q --threads $threads --save-binary "$work/again.wrm" "$@"
    same "the binaries of 1 and $threads threads" "$saved" "$work/again.wrm"
  done
}

check_answers() {
  check_same pagerank "$graph"
  run 0 pagerank "$saved" && says "$out" "$saved in f64: binary pattern general, 3 x 3, 4 nonzeros"
  check_same pagerank "$work/weights.mtx"
  run 0 pagerank "$saved" && says "$out" 'binary real general, 3 x 3, 4 nonzeros' '2 repeated entries summed'
  check_same bicgstab "$work/system.mtx"
  run 0 bicgstab "$saved" && says "$out" 'binary real symmetric, 2 x 2, 4 nonzeros'
  check_same pagerank gen:web:n=20000
  check_same pagerank gen:road:side=40
  run 0 pagerank "$saved" && says "$out" undirected
  check_same bicgstab gen:stencil:n=12
}

# The ids of an edge list are kept with it.
check_ids() {
  printf '%s\n' '7 100' '100 5000000000' '5000000000 7' '100 7' >"$work/list.tsv"
  printf '%s\n' '4 5' '5 4' '5 6' >"$work/list.el"
  for name in list.tsv list.el; do
    run 0 pagerank --save-binary "$saved" --format tsv -o "$work/first" "$work/$name"
    run 0 pagerank --format tsv -o "$work/second" "$saved"
    same "the scores from $name and from its binary" "$work/first" "$work/second"
  done
  says "$out" 'binary pattern general, 3 x 3, 3 nonzeros' 'ids 4 to 6'
  head -n 1 "$work/second" | cut -f 1 | grep -qx 4
  expect 'the scores do not begin with an id'
}

# From standard input, out of a pipe, compressed, under any name.
check_ways() {
  run 0 pagerank -q --save-binary "$saved" -o "$work/first.mtx" "$graph"
  values "$work/first.mtx" >"$work/first"
  cp "$saved" "$work/name.tsv" && cp "$saved" "$work/name.mtx"
  for name in name.tsv name.mtx; do
    run 0 pagerank -q -o "$work/second.mtx" "$work/$name"
    values "$work/second.mtx" | cmp -s - "$work/first"
    expect "the answer from $name differs"
  done
  in=$saved
  run 0 pagerank -q -o "$work/second.mtx" -
  in=/dev/null
  values "$work/second.mtx" | cmp -s - "$work/first"
  expect 'the answer from standard input differs'
  command='cat saved.wrm | pagerank -'
  # shellcheck disable=SC2002
  cat "$saved" | "$BUILD/pagerank" -q -d cpu -o "$work/third.mtx" -
  values "$work/third.mtx" | cmp -s - "$work/first"
  expect 'the answer from a pipe differs'
  if has_zlib; then
    gzip -c "$saved" >"$work/saved.gz"
    run 0 pagerank -q -o "$work/second.mtx" "$work/saved.gz"
    values "$work/second.mtx" | cmp -s - "$work/first"
    expect 'the answer from a compressed binary differs'
  else
    skip 2 'this build has no zlib'
  fi
  run 0 pagerank --save-binary - "$graph"
  same 'standard output and a file' "$out" "$saved"
  says "$err" 'converged in'
  rm "$work/name.tsv"
}

# The repeated entries of a saved matrix are merged already, counted once or as weights.
check_repeated() {
  run 0 pagerank --save-binary "$saved" "$repeated"
  run 0 pagerank "$saved" && says "$out" '2 repeated entries counted once'
  refuses 3 "$saved: 2 repeated entries were counted once when it was saved; save it again with --duplicates sum" \
    pagerank --duplicates sum "$saved"
  run 0 pagerank --duplicates sum --save-binary "$saved" -o "$work/first.mtx" "$repeated"
  run 0 pagerank --duplicates sum -o "$work/second.mtx" "$saved" && says "$out" '2 repeated entries summed'
  element "$work/second.mtx" 2 "$(values "$work/first.mtx" | sed -n 2p)" 0
  refuses 3 "$saved: 2 repeated entries were counted as weights when it was saved" pagerank "$saved"
  run 0 pagerank --save-binary "$saved" --duplicates sum "$graph"
  run 0 pagerank "$saved" # without repeated entries --duplicates does not matter
}

# A matrix is saved whatever the outcome of its solve; what a graph must not have is refused in it, too.
check_kept() {
  rm -f "$saved"
  run 2 bicgstab -n 1 --save-binary "$saved" gen:stencil:n=6
  run 0 bicgstab "$saved"
  refuses 3 "$saved: row 1, column 2: a negative value where none may be (-0." pagerank "$saved"
  refuses 3 'a matrix saved in binary' bicgstab -b "$saved" "$saved"
  rm "$saved"
  refuses 3 'cannot be opened' bicgstab --save-binary "$saved" "$work/none.mtx"
  is_absent "$saved"
  refuses 3 'needs a square matrix' pagerank --save-binary "$saved" tests/data/bad/array_order.mtx
}

damaged() { # text
  for program in pagerank bicgstab; do
    refuses 3 "$program: $folder/bad.wrm: $1" "$program" "$folder/bad.wrm"
    [ "$(wc -l <"$err")" = 1 ]
    expect 'stderr has not one line'
  done
}

check_damaged() {
  run 0 pagerank -q --save-binary "$saved" gen:web:n=5000
  length=$(wc -c <"$saved")
  for place in "24 the checksum of its header" "4104 the checksum of its row pointers" \
    "$((length - 9000)) the checksum of its column indices" "$((length - 1)) the filling behind its column indices"; do
    cp "$saved" "$folder/bad.wrm"
    printf '\377' | dd of="$folder/bad.wrm" bs=1 seek="${place%% *}" conv=notrunc 2>"$err"
    damaged "damaged: ${place#* }"
  done
  head -c $((length - 4096)) "$saved" >"$folder/bad.wrm" && damaged "$((length - 4096)) bytes, where its header says $length"
  head -c 4095 "$saved" >"$folder/bad.wrm" && damaged 'a saved matrix, cut short inside its header (4095 bytes)'
  { cat "$saved" && echo; } >"$folder/bad.wrm" && damaged "$((length + 1)) bytes, where its header says $length"
  { head -c 16 "$saved" && printf '\003' && tail -c +18 "$saved"; } >"$folder/bad.wrm"
  damaged 'is of version 3, and this program reads versions 1 to 2'
  rm "$folder/bad.wrm"
}

check_unwritable() {
  for place in "/dev/full=No space left on device" "$work/no/folder/file=No such file or directory" \
    "$folder=Is a directory" "$graph/file=Not a directory"; do
    run 8 pagerank -q --save-binary "${place%%=*}" "$graph"
    says "$err" "pagerank: ${place%%=*}: cannot " "${place#*=}"
  done
  run 8 pagerank -q --save-binary "$work/no/folder/file" "$work/none.mtx" # known before anything is read
  refuses 1 "--output $folder/x and --save-binary $folder/x are the same file" \
    pagerank --save-binary "$folder/x" -o "$folder/x" "$graph"
  refuses 1 'can go to standard output' pagerank --save-binary - -o - "$graph"
  small="ulimit -f 1; exec '$BUILD/pagerank' -d cpu -q"
  if sh -c "$small $graph" >"$out" 2>&1; then
    echo old >"$folder/x.wrm"
    call 8 sh -c "$small --save-binary '$folder/x.wrm' gen:web:n=20000"
    says "$err" "$folder/x.wrm: cannot write it: File too large"
    echo old | cmp -s - "$folder/x.wrm"
    expect 'the older file is gone'
    rm "$folder/x.wrm"
    holds_nothing
  else
    skip 4 'the program does not run where files are small, as under a sanitizer'
  fi
  command='pagerank --save-binary - | head'
  (trap '' PIPE; "$BUILD/pagerank" -d cpu -q --save-binary - gen:web:n=20000; echo $? >"$work/status") 2>"$err" |
    head -c 1 >"$out"
  grep -qx 8 "$work/status"
  held=$?; expect "exit code $(cat "$work/status"), not 8" "$held"
  says "$err" 'pagerank: standard output: cannot write it: Broken pipe'
}

check_answers
check_ids
check_ways
check_repeated
check_kept
check_damaged
check_unwritable
holds_nothing
report
