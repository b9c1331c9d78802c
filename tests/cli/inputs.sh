#!/bin/sh
# Where matrices and vectors come from, and what the options of a method make of them; scores are compared with what a
# small graph's equations say.
. tests/cli/lib.sh

matrix graph.mtx 'coordinate pattern general' '3 3 4' '1 2' '1 3' '2 1' '3 1'
matrix reversed.mtx 'coordinate pattern general' '3 3 4' '2 1' '3 1' '1 2' '1 3'
matrix path.mtx 'coordinate pattern general' '3 3 2' '1 2' '2 3'
matrix backwards.mtx 'coordinate pattern general' '3 3 2' '2 1' '3 2'
matrix both_ways.mtx 'coordinate pattern general' '3 3 4' '1 2' '2 3' '2 1' '3 2'
matrix undirected.mtx 'coordinate pattern symmetric' '3 3 2' '2 1' '3 2'
matrix weighted.mtx 'coordinate real general' '3 3 4' '1 2 3e200' '1 3 1e200' '2 1 0.5' '3 1 7'
matrix threes.mtx 'coordinate integer general' '3 3 4' '1 2 3' '1 3 1' '2 1 1' '3 1 1'
matrix repeated.mtx 'coordinate pattern general' '3 3 6' '1 2' '1 2' '1 3' '2 1' '3 1' '1 2'
matrix swap.mtx 'coordinate pattern general' '2 2 2' '1 2' '2 1'
matrix first.mtx 'array real general' '2 1' 5 0
matrix column.mtx 'coordinate real general' '2 1 1' '1 1 5'
matrix row.mtx 'array real general' '1 2' 5 0
matrix system.mtx 'coordinate real general' '2 2 3' '1 1 2' '1 2 1' '2 2 4'
matrix rhs.mtx 'array real general' '2 1' 4 8
graph=$work/graph.mtx result=$work/result.mtx

solve() { # program, arguments...: the values go to $work/values
  rm -f "$result"
  run 0 "$@" -q -o "$result"
  values "$result" >"$work/values"
  [ -s "$work/values" ]
  expect 'no result was written'
}

keep() { # name
  cp "$work/values" "$work/$1.values"
}

same_as() { # name
  same 'the results' "$work/$1.values" "$work/values"
}

# One matrix as file, pipe or gzip gives the same bits.
check_sources() {
  solve pagerank "$graph" && keep graph
  cp "$graph" "$work/a name with blanks"
  solve pagerank "$work/a name with blanks" && same_as graph
  cp "$graph" "$work/-n" && rm "$result"
  (cd "$work" && "$BUILD/pagerank" -q -d cpu -o result.mtx -- -n)
  expect 'a file named -n cannot be read'
  values "$result" >"$work/values" && same_as graph
  in=$graph
  solve pagerank - && same_as graph
  in=/dev/null
  command='cat graph.mtx | pagerank -' && rm "$result"
  # shellcheck disable=SC2002
  cat "$graph" | "$BUILD/pagerank" -q -d cpu -o "$result" -
  expect 'a pipe cannot be read'
  values "$result" >"$work/values" && same_as graph
  mkfifo "$work/fifo"
  cat "$graph" >"$work/fifo" &
  solve pagerank "$work/fifo" && same_as graph
  kill $! 2>/dev/null # if the program has not opened the pipe
}

check_gzip() {
  if ! has_zlib; then
    skip 8 'this build has no zlib'
    return
  fi
  gzip -c "$graph" >"$work/graph.mtx.gz"
  solve pagerank "$work/graph.mtx.gz" && same_as graph
  cp "$work/graph.mtx.gz" "$work/plain.mtx"
  solve pagerank "$work/plain.mtx" && same_as graph
  in=$work/graph.mtx.gz
  solve pagerank - && same_as graph
  in=/dev/null
  command='gzip -c graph.mtx | pagerank -' && rm "$result"
  gzip -c "$graph" | "$BUILD/pagerank" -q -d cpu -o "$result" -
  expect 'a compressed pipe cannot be read'
  values "$result" >"$work/values" && same_as graph
}

# zstd and xz, as files and pipes, where the build and this machine have them.
check_packed() {
  for tool in zstd xz; do
    ending=$tool && [ $tool = xz ] || ending=zst
    if ! grep -q "^FOUND_$(echo $tool | tr a-z A-Z) := 1" "$BUILD/found.mk" || ! command -v $tool >/dev/null; then
      skip 3 "this build or this machine has no $tool"
      continue
    fi
    $tool -qc "$graph" >"$work/graph.mtx.$ending"
    solve pagerank "$work/graph.mtx.$ending" && same_as graph
    in=$work/graph.mtx.$ending
    solve pagerank - && same_as graph
    in=/dev/null
    printf 'source,target\n1,2\n2,1\n' | $tool -qc >"$work/list.csv.$ending"
    run 0 pagerank "$work/list.csv.$ending" && says "$out" 'edge list, 2 x 2'
  done
}

# A file that is not read is known by its first bytes, and the error says what would help.
check_foreign() {
  printf '1 2\n2 1\n' >"$work/edges.dat"
  for operand in edges.dat edges; do
    [ -e "$work/$operand" ] || cp "$work/edges.dat" "$work/$operand"
    refuses 3 "$work/$operand:1: no Matrix Market banner" pagerank "$work/$operand"
    says "$err" 'an edge list is read with --input-format edges'
    run 0 pagerank -q --input-format edges "$work/$operand"
  done
  printf 'BZh91AY&SY' >"$work/crawl.bz2"
  cp "$work/crawl.bz2" "$work/crawl.tsv"
  for program in pagerank bicgstab; do
    for operand in crawl.bz2 crawl.tsv; do
      refuses 3 "$work/$operand: compressed with bzip2; unpack it, or pipe it in: bzip2 -dc FILE | PROGRAM -" \
        "$program" "$work/$operand"
    done
    in=$work/crawl.bz2
    refuses 3 'standard input: compressed with bzip2' "$program" -
    in=/dev/null
  done
  if has_zlib; then
    gzip -c "$graph" >"$work/crawl.gz" # the banner tells its kind
    solve pagerank "$work/crawl.gz" && same_as graph
    gzip -c "$work/edges.dat" >"$work/edges.gz"
    refuses 3 "$work/edges.gz:1: no Matrix Market banner" pagerank "$work/edges.gz"
    says "$err" 'an edge list is read with --input-format edges'
    run 0 pagerank -q --input-format edges "$work/edges.gz"
    (cd "$work" && tar cf - graph.mtx | gzip -c >graph.tar.gz)
    refuses 3 "$work/graph.tar.gz: a tar archive; unpack it: tar xf FILE" pagerank "$work/graph.tar.gz"
  else
    skip 8 'this build has no zlib'
  fi
}

check_generated() {
  for operand in road:side=8 web:n=200,dmax=20 rmat:scale=6,degree=4 hubs:n=50,hubs=5 chain:scale=5 uniform:n=50,degree=3; do
    run 0 pagerank "gen:$operand"
    says "$out" "gen:$operand in f64: generated pattern"
  done
  for operand in stencil:n=6,points=7,convection=0.2 stencil:n=9,points=5 stencil:n=4,points=27 fem:n=3; do
    run 0 bicgstab "gen:$operand"
    says "$out" "gen:$operand in f64: generated real"
  done
  for operand in band:n=100,block=5,density=0.2 density:n=60,block=3,density=0.1; do
    "$BUILD/bicgstab" -d cpu "gen:$operand" >"$out" 2>"$err" # random: it may not converge
    says "$out" "gen:$operand in f64: generated real"
  done
  solve pagerank gen:web:n=300,dmax=20,seed=5 && keep web
  solve pagerank gen:web:seed=5,dmax=20,n=300 && same_as web
  solve pagerank gen:web:n=300,dmax=20,seed=6
  ! cmp -s "$work/values" "$work/web.values"
  expect 'another seed gives the same graph'
}

# 1 links to 2 and 3 with shares p and 1 - p, both link to 1: r1 = c + d (r2 + r3), r2 = c + d p r1, r1 + r2 + r3 = 1.
star() { # damping d, share p
  r1="((1 - $1) / 3 + $1) / (1 + $1)"
  element "$result" 1 "$r1" 1e-9
  element "$result" 2 "(1 - $1) / 3 + $1 * $2 * $r1" 1e-9
  element "$result" 3 "(1 - $1) / 3 + $1 * (1 - $2) * $r1" 1e-9
}

check_scores() {
  solve pagerank "$graph" && star 0.85 0.5
  solve pagerank --damping 0.5 "$graph" && star 0.5 0.5
  solve pagerank --damping 0 "$graph" && star 0 0.5
  solve pagerank "$work/weighted.mtx" && star 0.85 0.75
  solve pagerank -k reference "$work/weighted.mtx" && star 0.85 0.75
  solve pagerank "$work/repeated.mtx" && star 0.85 0.5
  solve pagerank --duplicates once "$work/repeated.mtx" && star 0.85 0.5
  solve pagerank --duplicates sum "$work/repeated.mtx" && star 0.85 0.75
  solve pagerank --duplicates auto "$work/repeated.mtx" && star 0.85 0.5
  solve pagerank "$work/threes.mtx" && star 0.85 0.75
  run 0 pagerank "$work/repeated.mtx" && says "$out" '2 repeated entries counted once'
  run 0 pagerank --duplicates sum "$work/repeated.mtx" && says "$out" '2 repeated entries summed'
}

# Without a way out 3 dangles: r1 = c, r2 = c + d r1, c = (1 - d + d r3) / 3.
check_directions() {
  solve pagerank "$work/path.mtx" && keep path
  element "$result" 1 '1 / (3 + 2 * 0.85 + 0.85 * 0.85)' 1e-9
  element "$result" 2 '1.85 / (3 + 2 * 0.85 + 0.85 * 0.85)' 1e-9
  run 0 pagerank "$work/path.mtx" && says "$out" '1 dangling node'
  solve pagerank --edges in "$work/backwards.mtx" && same_as path
  solve pagerank --edges out "$work/path.mtx" && same_as path
  solve pagerank --edges in "$work/path.mtx"
  element "$result" 3 '1 / (3 + 2 * 0.85 + 0.85 * 0.85)' 1e-9
  solve pagerank "$work/both_ways.mtx" && keep both_ways
  solve pagerank "$work/undirected.mtx" && same_as both_ways
  solve pagerank --edges in "$work/undirected.mtx" && same_as both_ways
  run 0 pagerank "$work/undirected.mtx" && says "$out" 'undirected'
}

# All jumps go to 1: r1 = 1 - d + d r2, r2 = d r1.
check_personalized() {
  for vector in first.mtx column.mtx row.mtx; do
    solve pagerank --personalize "$work/$vector" "$work/swap.mtx"
    element "$result" 1 '1 / 1.85' 1e-9
    element "$result" 2 '0.85 / 1.85' 1e-9
  done
  solve pagerank --personalize "$work/first.mtx" --damping 0 "$work/swap.mtx"
  element "$result" 1 1 0
}

check_systems() {
  solve bicgstab "$work/system.mtx" && element "$result" 1 1 1e-7 && element "$result" 2 1 1e-7
  solve bicgstab -b "$work/rhs.mtx" "$work/system.mtx" && element "$result" 1 1 1e-7 && element "$result" 2 2 1e-7
  solve bicgstab --rhs-file "$work/rhs.mtx" --precond jacobi "$work/system.mtx" && element "$result" 2 2 1e-7
  in=$work/rhs.mtx
  solve bicgstab -b - "$work/system.mtx" && element "$result" 2 2 1e-7
  in=/dev/null
  solve bicgstab --rhs random:1 gen:stencil:n=5 && keep seed_1
  solve bicgstab --rhs random:1 gen:stencil:n=5 && same_as seed_1
  solve bicgstab --rhs random:2 gen:stencil:n=5
  ! cmp -s "$work/values" "$work/seed_1.values"
  expect 'another seed gives the same right-hand side'
  awk '!($1 > -1e-6 && $1 < 1 + 1e-6) { wrong = 1 } END { exit wrong || NR != 125 }' "$work/values"
  expect 'the solution is not 125 random numbers in [0, 1)'
}

# A graph of the GAP suite: 0 -- 1 in both directions, whatever the file is called.
check_gap_graph() {
  zeros='\0\0\0\0\0\0\0'
  printf "\\0\\2$zeros\\2$zeros\\0$zeros\\1$zeros\\2$zeros\\1\\0\\0\\0\\0\\0\\0\\0" >"$work/graph.txt"
  run 0 pagerank --top 1 "$work/graph.txt" && says "$out" 'GAP undirected graph, 2 x 2, 2 nonzeros' 'ids 0 to 1'
  in=$work/graph.txt
  run 0 pagerank -q --format tsv -o "$work/ranks.tsv" -
  in=/dev/null
  [ "$(cut -f 1 "$work/ranks.tsv" | tr '\n' ' ')" = '0 1 ' ]
  expect 'nodes are not 0 and 1'
  run 0 bicgstab -q "$work/graph.txt"
  run 0 spmv -q -k cpu_csr --batches 1 "$work/graph.txt"
  run 0 pagerank -q --save-binary "$work/graph.wrm" "$work/graph.txt" && run 0 pagerank "$work/graph.wrm" && says "$out" 'ids 0 to 1'
}

# The bits do not depend on the number of threads, nor on what only concerns a card.
check_bits() {
  for arguments in 'pagerank gen:web:n=20000' 'bicgstab gen:stencil:n=30' 'pagerank -p f32 gen:hubs:n=50000,hubs=3'; do
    # shellcheck disable=SC2086
    solve $arguments --threads 1 && keep one_thread
    for option in '--threads 2' '--threads 5' '--threads 2 --deterministic' '--no-graph' '--verify off'; do
      # shellcheck disable=SC2086
      solve $arguments $option && same_as one_thread
    done
  done
}

# A value that f64 cannot hold is named.
check_inexact() {
  for values in '1e-400 1' '1 1e-400'; do
    # shellcheck disable=SC2086
    set -- $values
    matrix tiny.mtx 'coordinate real general' '2 2 2' "1 1 $1" "2 2 $2"
    run 0 bicgstab "$work/tiny.mtx"
    tr -s '\n ' '  ' <"$out" | grep -q "f64 cannot hold the value in line $([ "$1" = 1 ] && echo 4 || echo 3):"
    expect "the report does not name the line of 1e-400 in $values"
  done
}

check_sources
check_inexact
check_gzip
check_packed
check_foreign
check_gap_graph
check_generated
check_scores
check_directions
check_personalized
check_systems
check_bits
report
