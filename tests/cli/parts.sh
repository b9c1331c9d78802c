#!/bin/sh
# Several processes of bicgstab over MPI: their answers by the check of one process, the same bits from run to run, what they
# refuse, and that the failure of one ends all with one sentence.
# Needs: programs mpi-programs
. tests/cli/lib.sh

launcher=$(command -v mpirun)
if [ -z "$launcher" ] || [ ! -x "$BUILD/bicgstab-mpi" ]; then
  skip 1 'no mpirun here, or a build without MPI'
  report
fi
# MPI itself leaks in modules that it has unloaded at the end; test_parts looks for leaks of windrow's.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
# Tests may run as root, in containers, and on fewer processors than processes.
together() { # exit code, processes, arguments of bicgstab...
  wanted=$1 processes=$2
  shift 2
  call "$wanted" timeout 120 "$launcher" --allow-run-as-root --oversubscribe -n "$processes" "$BUILD/bicgstab" "$@"
}

# Sentences of bicgstab, without those of mpirun.
one_sentence() { # text
  says "$err" "$1"
  [ "$(grep -c '^bicgstab: ' "$err")" = 1 ]
  expect 'not exactly one process says why'
}

backend=cpu_csr counts='2 3 4' partition=
solves() { # matrix, options...
  matrix=$1
  shift
  for n in $counts; do
    rm -f "$work/x.mtx"
    together 0 $n -q -k $backend ${partition:+--partition "$partition"} -o "$work/x.mtx" "$@" "$matrix"
    says_nothing bicgstab
    run 0 bicgstab -q --check "$work/x.mtx" "$@" "$matrix"
  done
}

solves gen:stencil:n=12
solves gen:stencil:n=16,points=5,convection=0
counts=3
solves gen:stencil:n=12 -p f32
solves gen:stencil:n=12 --method idr
solves gen:stencil:n=12 --method bicgstabl
solves gen:stencil:n=12 --stop backward
solves gen:stencil:n=12 --rhs random:3
backend=cpu_bsr
solves gen:fem:n=5
backend=cpu_csr
for precond in jacobi ilu0 ilut; do solves gen:stencil:n=12,convection=0 --precond $precond; done
solves gen:stencil:n=12 --precond ilu0
solves gen:saddle:n=12 # each process needs most of x
solves gen:jump:n=12   # restarts

# The method is chosen as one process does.
together 0 3 gen:stencil:n=12,convection=0
says "$out" 'iterations of cg' 'parts 3 processes, at most'
together 0 3 gen:stencil:n=12
says "$out" 'iterations of bicgstab'

# A right-hand side and a guess from files.
run 0 bicgstab -q -o "$work/b.mtx" gen:stencil:n=8
together 0 3 -q -b "$work/b.mtx" -x "$work/b.mtx" -o "$work/x.mtx" gen:stencil:n=8
run 0 bicgstab -q --check "$work/x.mtx" -b "$work/b.mtx" gen:stencil:n=8
together 3 2 -b "$work/b.mtx" gen:stencil:n=9
one_sentence 'b.mtx'

# Parts of any rows, by a file or by METIS: the answer, b and the guess are in the order of the file.
awk 'BEGIN { for (i = 0; i < 512; i++) print (i * i + int(i / 9)) % 3 }' >"$work/three.txt"
awk 'BEGIN { for (i = 0; i < 1728; i++) print (i * i + int(i / 9)) % 3 }' >"$work/twelve.txt"
counts=3 partition=$work/three.txt
solves gen:stencil:n=8
solves gen:stencil:n=8,convection=0 --rhs random:3 --precond ilu0
together 0 3 -q -b "$work/b.mtx" -x "$work/b.mtx" -o "$work/x.mtx" --partition "$work/three.txt" gen:stencil:n=8
run 0 bicgstab -q --check "$work/x.mtx" -b "$work/b.mtx" gen:stencil:n=8
together 3 2 --partition "$work/three.txt" gen:stencil:n=8
one_sentence 'is given to part 2, but there are parts 0 to 1'
together 3 4 --partition "$work/three.txt" gen:stencil:n=8
one_sentence 'no row is given to part 3'
together 3 3 --partition "$work/three.txt" gen:stencil:n=9
one_sentence 'three.txt'
sed 's/^2$/1.5/' "$work/three.txt" >"$work/half.txt"
together 3 3 --partition "$work/half.txt" gen:stencil:n=8
one_sentence 'has 1.5, which is no number of a process'
run 1 bicgstab --partition metis gen:stencil:n=8
says "$err" '--partition is for several processes'
halo_of() { # report: the most elements that a part gets from others
  awk -F: '/"halo"/ && $2 + 0 > most { most = $2 + 0 } END { print most + 0 }' "$1"
}
if [ -n "$(sed -n 's/^FOUND_METIS := //p' "$BUILD/found.mk")" ]; then
  counts='2 4' partition=metis
  solves gen:fem:n=5
  solves gen:stencil:n=12
  # The rows of a grid in an order that is far from that of the grid: METIS finds the grid.
  awk 'function number(i, j) { return (i * 30 + j) * 487 % 900 + 1 }
  BEGIN { print "%%MatrixMarket matrix coordinate real symmetric"; print 900, 900, 900 + 2 * 30 * 29
    for (i = 0; i < 30; i++) for (j = 0; j < 30; j++) { at = number(i, j); print at, at, 5
      if (i > 0) edge(at, number(i - 1, j)); if (j > 0) edge(at, number(i, j - 1)) } }
  function edge(a, b) { if (a > b) print a, b, -1; else print b, a, -1 }' >"$work/mixed.mtx"
  together 0 4 -q --json "$work/stretches.json" "$work/mixed.mtx"
  together 0 4 -q --json "$work/metis.json" --partition metis -o "$work/x.mtx" "$work/mixed.mtx"
  run 0 bicgstab -q --check "$work/x.mtx" "$work/mixed.mtx"
  [ "$(halo_of "$work/metis.json")" -lt 90 ] && [ "$(halo_of "$work/stretches.json")" -gt 300 ]
  held=$?; expect "the halo has $(halo_of "$work/metis.json") elements by METIS, $(halo_of "$work/stretches.json") by stretches" "$held"
  grep -q '"remark".*parts by METIS' "$work/metis.json"
  expect 'the report does not say that the parts are by METIS'
  for name in 1 2; do together 0 3 -q --deterministic --partition metis -o "$work/$name.mtx" "$work/mixed.mtx"; done
  same 'answers of two runs' "$work/1.mtx" "$work/2.mtx"
  awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 9, 9, 81
    for (i = 1; i < 10; i++) for (j = 1; j < 10; j++) print i, j, i == j ? 20 : 1 }' >"$work/full.mtx"
  # METIS has rows with the same columns in one part, and so leaves parts of a full matrix without rows.
  together 0 3 -q --json "$work/full.json" --partition metis -o "$work/x.mtx" "$work/full.mtx"
  grep -q '"remark".*parts of consecutive rows, as METIS left one without rows' "$work/full.json"
  expect 'the report does not say that the parts are not by METIS'
  run 0 bicgstab -q --check "$work/x.mtx" "$work/full.mtx"
else
  together 4 2 --partition metis gen:stencil:n=8
  one_sentence 'needs METIS'
fi
counts=3 partition=

# Several right-hand sides, of very different sizes, one of them 0: each is solved as in one process, by the check of one.
make_sides() { # rows
  for k in 1 2 3 4 5; do
    awk -v n="$1" -v k=$k 'BEGIN {
      for (i = 1; i <= n; i++) print (k == 3 ? 0 : sin(i * k) + 0.1 * k) (k == 5 ? "e200" : k == 4 ? "e-150" : "") }' >"$work/b$k.txt"
  done
  matrix sides.mtx 'array real general' "$1 5"
  cat "$work"/b[1-5].txt >>"$work/sides.mtx"
}
solves_sides() { # processes, matrix, options...
  processes=$1 system=$2
  shift 2
  rm -f "$work/all.txt"
  together 0 "$processes" -q -k $backend ${partition:+--partition "$partition"} -b "$work/sides.mtx" \
    -o "$work/all.txt" "$@" "$system"
  says_nothing bicgstab
  for k in 1 2 3 4 5; do
    cut -d ' ' -f $k "$work/all.txt" >"$work/column.txt"
    run 0 bicgstab -q --check "$work/column.txt" -b "$work/b$k.txt" "$@" "$system"
  done
}
make_sides 1728
for n in 2 3 4; do solves_sides $n gen:stencil:n=12; done
for options in '--precond jacobi' '--precond ilu0' '--method idr' '-p f32 -t 1e-4' '--stop backward'; do
  # shellcheck disable=SC2086
  solves_sides 3 gen:stencil:n=12 $options
done
solves_sides 2 gen:stencil:n=12,convection=0
partition=$work/twelve.txt
solves_sides 3 gen:stencil:n=12
partition=
solves_sides 3 gen:saddle:n=24
backend=cpu_bsr
solves_sides 3 gen:stencil:n=12
together 0 3 -b "$work/sides.mtx" --json "$work/sides.json" gen:stencil:n=12
says "$out" '5 right-hand sides, the worst: converged in' '3: converged in 0 iterations: ||b - A x|| = 0 ||b||' \
  '5: converged in' 'parts 3 processes, at most'
[ "$(grep -c '"outcome": "converged"' "$work/sides.json")" = 6 ]
expect 'the report does not have the outcomes of five columns and of the worst'
together 0 2 -q -b "$work/sides.mtx" -o "$work/x.npy" gen:stencil:n=12
together 0 3 -b "$work/sides.mtx" -x "$work/x.npy" gen:stencil:n=12 # from the solutions on
says "$out" '1: converged in 0 iterations' '5: converged in 0 iterations'
together 2 3 -n 2 -b "$work/sides.mtx" gen:stencil:n=12
says "$out" 'the worst: not converged (max-iterations) after 2 iterations' '3: converged in 0 iterations' \
  '4: max-iterations in 2 iterations'
for input in '-b -' '--check -' '--partition -'; do
  # shellcheck disable=SC2086
  together 4 2 $input gen:stencil:n=12
  one_sentence 'standard input (-) is read by one process, not by several'
done
together 1 2 -b "$work/sides.mtx" --history "$work/h.csv" gen:stencil:n=12
one_sentence 'is for one right-hand side'
matrix empty.mtx 'coordinate real general' '4 4 3' '1 1 1' '2 2 1' '3 3 1'
matrix ones.mtx 'array real general' '4 2' 1 1 1 0 1 1 1 1
together 3 3 -b "$work/ones.mtx" "$work/empty.mtx"
one_sentence 'right-hand side 2: '

# The same bits for as many processes, and any number of threads.
for threads in 1 2; do together 0 3 -q --deterministic --threads $threads -o "$work/$threads.mtx" gen:convect:n=30; done
same 'answers with 1 and 2 threads' "$work/1.mtx" "$work/2.mtx"

# Rows and nonzeros of the parts add up to those of the whole.
together 0 4 -q --json "$work/report.json" gen:stencil:n=12
sums=$(awk -F'[:,]' '/"parts"/ { inside = 1 } /\]/ { inside = 0 }
  inside && /"rows"/ { rows += $2 } inside && /"nnz"/ { entries += $2 } END { print rows, entries }' "$work/report.json")
[ "$sums" = '1728 11232' ]
expect "the parts have $sums rows and nonzeros, not 1728 and 11232"

# A saved matrix, of which each process reads its own rows, gives the bits of a generated one; damage is found.
run 0 bicgstab -q --save-binary "$work/a.wrm" gen:stencil:n=40
together 0 3 -q -o "$work/saved.npy" "$work/a.wrm"
together 0 3 -q -o "$work/generated.npy" gen:stencil:n=40
same 'answers of a saved and a generated matrix' "$work/saved.npy" "$work/generated.npy"
damaged() { # offset in the file, what is said
  cp "$work/a.wrm" "$work/b.wrm"
  printf '\377' | dd of="$work/b.wrm" bs=1 seek="$1" conv=notrunc 2>"$work/dd"
  together 3 3 "$work/b.wrm"
  one_sentence "b.wrm: damaged: the checksum of its $2 differs"
}
damaged 100 header
damaged 204800 'row pointers'
damaged 1000000 'column indices'
damaged 5000000 values
together 3 2 "$work/none.wrm"
one_sentence 'none.wrm'

# Scaled as one process scales it: without that it takes over a thousand iterations.
together 0 3 -q -n 200 --precond none -o "$work/x.mtx" gen:jump:n=14
run 0 bicgstab -q --check "$work/x.mtx" gen:jump:n=14
together 2 3 -q -n 200 --scale none --precond none gen:jump:n=14
together 0 2 --scale equilibrate gen:stencil:n=8
says "$out" 'equilibrated'

# A given x is checked by parts, to the same numbers.
run 0 bicgstab -q --deterministic -o "$work/x.mtx" gen:stencil:n=12
run 0 bicgstab --check "$work/x.mtx" gen:stencil:n=12
grep -v '^  times' "$out" >"$work/alone"
together 0 3 --check "$work/x.mtx" gen:stencil:n=12
grep -v '^  times' "$out" >"$work/together"
same 'what is said of a checked x' "$work/together" "$work/alone"
together 0 3 -q --partition "$work/twelve.txt" --check "$work/x.mtx" --json "$work/check.json" gen:stencil:n=12
grep -q '"met_tolerance": true' "$work/check.json"
expect 'the JSON of a check does not say that the tolerance is met'
together 2 3 -q --rhs random:3 --check "$work/x.mtx" gen:stencil:n=12
one_sentence 'does not meet the tolerance'
together 3 3 -q --check "$work/b.mtx" gen:stencil:n=12
one_sentence 'b.mtx'

# Solves are repeated; one process writes the page, which has the picture of the whole matrix.
run 0 bicgstab -q -k cpu_csr --report "$work/alone.html" gen:stencil:n=12
together 0 3 --repeat 3 -k cpu_csr --report "$work/parts.html" gen:stencil:n=12
says "$out" 'warm'
for name in alone parts; do sed -n '/<h2>Matrix/,/<\/table>/p' "$work/$name.html" >"$work/$name.picture"; done
[ "$(wc -c <"$work/alone.picture")" -gt 1000 ]
expect 'the page has no picture'
same 'pictures of the matrix' "$work/parts.picture" "$work/alone.picture"

# Factors are chosen as one process does, which does not converge without them in as many iterations.
counts='2 3 4'
solves gen:convect:n=30,scheme=central,flow=vortex -n 300
counts=3
solves gen:convect:n=40,flow=vortex,peclet=200 --precond auto
together 0 3 -n 300 gen:convect:n=30,scheme=central,flow=vortex
says "$out" 'on idr with ilu0' 'auto, ' 'none to begin with; ilu0' 'block Jacobi of 3 parts, in part 1'
together 2 3 -q -n 300 --precond none gen:convect:n=30,scheme=central,flow=vortex
together 0 3 gen:jump:n=12
says "$out" 'jacobi to begin with'

# Rows matched to columns: each pair of rows has changed places, and so its processes have both; then rows of two processes.
pairs() { # how a row's number follows from that of its diagonal element
  matrix pairs.mtx 'coordinate real general' "$(awk -v n=240 'BEGIN { print n, n, 3 * n
    for (j = 1; j <= n; j++) { i = '"$1"'; s = 10 ^ (j % 7)
      print i, j, 6 * s; print i, j % n + 1, s; print i, (j + 4) % n + 1, -2 * s } }')"
}
pairs 'j % 2 ? j + 1 : j - 1'
counts='2 3 4'
solves "$work/pairs.mtx"
solves "$work/pairs.mtx" --scale match
together 0 4 "$work/pairs.mtx"
says "$out" 'rows matched to columns of their own process (240 moved) and equilibrated' '120 diagonal elements are 0'
pairs 'j == 1 ? n : j == n ? 1 : j'
solves "$work/pairs.mtx"
counts=3
solves gen:circuit:n=300
together 0 3 --scale match gen:stencil:n=8
says "$out" 'rows matched to columns of their own process (0 moved) and equilibrated'

# What is for one process.
for options in "$(if has_klu; then echo '--fallback direct'; else echo '-k cpu_csr,cpu_bsr'; fi)" '-k cpu_csr,reference' '-k auto:measure=1' "--save-binary $work/a.wrm"; do
  # shellcheck disable=SC2086
  together 4 2 $options gen:stencil:n=8
  one_sentence 'several'
done

# Texts, of which each process reads its share of the lines: a symmetric one, an array, a list, and the errors of one process.
matrix symmetric.mtx 'coordinate real symmetric' '% a comment' '' "$(awk 'BEGIN { print 90, 90, 90 + 89 + 10
  for (i = 90; i > 0; i--) { print i, i, 4 + i / 7; if (i > 1) print i, i - 1, -1 / i }
  for (i = 1; i <= 10; i++) print 90 - i, i, 0.1 }')"
counts='2 4'
solves "$work/symmetric.mtx"
counts=3
matrix array.mtx 'array real general' "$(awk 'BEGIN { print 9, 9; for (k = 0; k < 81; k++) print k % 10 ? 1 / (k + 1) : 3 }')"
solves "$work/array.mtx"
awk 'BEGIN { for (i = 1; i <= 40; i++) for (j = i - 1; j <= i + 1; j++) print 1000 * i, 1000 * (j % 41), j == i ? 3 : 1 }' |
  grep -v ' 0 ' >"$work/list.tsv"
solves "$work/list.tsv"
matrix letters.mtx 'coordinate real general' '5 5 6' '1 1 1' '2 2 2' '3 3 x' '4 4 4' '5 5 5' '6 1 y'
matrix missing.mtx 'coordinate real general' '5 5 6' '1 1 1' '2 2 2' '3 3 3' '4 4 4' '5 5 5'
matrix surplus.mtx 'coordinate real general' '5 5 4' '1 1 1' '2 2 2' '3 3 3' '4 4 4' '5 5 5' '6 6 x'
matrix header.mtx 'coordinate real general' '5 x 4' '1 1 1'
printf '1 2 1\n2 3 1\n3 -1 1\n4 1 1\n' >"$work/negative.tsv"
printf 'a b 1\nb c 2\nc c x\nd a 1\n' >"$work/names.tsv"
as_alone() { # file that one process refuses
  run 3 bicgstab -q "$work/$1"
  mv "$err" "$work/said"
  together 3 3 "$work/$1"
  one_sentence "$(cat "$work/said")"
}
for file in letters.mtx missing.mtx surplus.mtx header.mtx negative.tsv names.tsv; do as_alone $file; done

# Compressed texts give the bits of the texts, and the errors of one process: short ones, and one of 2 MB.
awk 'BEGIN { n = 30000; print "%%MatrixMarket matrix coordinate real general"; print n, n, 3 * n - 2
  for (i = 1; i <= n; i++) for (j = i - 1; j <= i + 1; j++)
    if (j > 0 && j <= n) print i, j, j == i ? 4 + i / 7 : -1 / (i + j) }' >"$work/long.mtx"
sed '50000s/ .*/ x/' "$work/long.mtx" >"$work/deep.mtx"
sed '$d' "$work/long.mtx" >"$work/few.mtx"
for file in list.tsv long.mtx; do together 0 3 -q --deterministic -o "$work/$file.npy" "$work/$file"; done
packed() { # tool, ending
  for file in list.tsv long.mtx; do
    "$1" -c "$work/$file" >"$work/$file.$2"
    together 0 3 -q --deterministic -o "$work/packed.npy" "$work/$file.$2"
    same "answers of $file and of $file.$2" "$work/$file.npy" "$work/packed.npy"
  done
  for file in surplus.mtx negative.tsv deep.mtx few.mtx; do
    "$1" -c "$work/$file" >"$work/$file.$2"
    as_alone "$file.$2"
  done
  { head -c 999999 "$work/long.mtx" | "$1" -c && tail -c +1000000 "$work/long.mtx" | "$1" -c; } >"$work/twice.mtx.$2"
  together 0 3 -q --deterministic -o "$work/twice.npy" "$work/twice.mtx.$2"
  same "answers of one stream and of two" "$work/long.mtx.npy" "$work/twice.npy"
  size=$(wc -c <"$work/long.mtx.$2")
  head -c $((size - 3)) "$work/long.mtx.$2" >"$work/cut.mtx.$2"
  { head -c $((size / 2)) "$work/long.mtx.$2" && printf damage && tail -c +$((size / 2 + 7)) "$work/long.mtx.$2"; } \
    >"$work/bad.mtx.$2"
  for file in cut.mtx bad.mtx; do as_alone "$file.$2"; done
}
for tool in gzip zstd xz; do
  case $tool in gzip) ending=gz found=ZLIB ;; zstd) ending=zst found=ZSTD ;; xz) ending=xz found=XZ ;; esac
  if grep -q "^FOUND_$found := 1" "$BUILD/found.mk" && command -v $tool >"$work/none"; then
    packed $tool $ending
  else
    skip 24 "this build or this machine has no $tool"
  fi
done

# A list and what is saved of it, with its ids, give the same answers; damage in the ids is found.
run 0 bicgstab -q --save-binary "$work/ids.wrm" "$work/list.tsv"
together 0 3 -q --deterministic -o "$work/ids.tsv" "$work/ids.wrm"
together 0 3 -q --deterministic -o "$work/text.tsv" "$work/list.tsv"
same 'answers of a list and of the saved list' "$work/ids.tsv" "$work/text.tsv"
cp "$work/ids.wrm" "$work/b.wrm"
printf '\377' | dd of="$work/b.wrm" bs=1 seek=$(($(wc -c <"$work/b.wrm") - 4096)) conv=notrunc 2>"$work/dd"
together 3 2 "$work/b.wrm"
one_sentence 'b.wrm: damaged: the checksum of its ids differs'

# What one process reads.
printf '"a\nb",c\nc,d\n' >"$work/lines.csv"
together 4 2 --header no "$work/lines.csv"
one_sentence 'has ends of lines inside quotes'
together 4 2 -
one_sentence 'standard input: several processes take'
if grep -q '^FOUND_ZLIB := 1' "$BUILD/found.mk"; then
  gzip -c "$work/ids.wrm" >"$work/ids.wrm.gz"
  together 4 2 "$work/ids.wrm.gz"
  one_sentence 'is in binary, and no share of it can be read'
else
  skip 3 'this build has no zlib'
fi
together 1 3 tests/data/edges/system.tsv
one_sentence '2 rows for 3 processes'
together 1 3 gen:stencil:n=1
one_sentence '1 row for 3 processes'
together 1 2 gen:stencil:n=0
one_sentence 'gen:stencil'
together 1 2 --nothing gen:stencil:n=4
one_sentence 'unknown option'
together 2 3 -n 2 gen:stencil:n=12
says "$out" 'not converged (max-iterations) after 2 iterations'
together 0 3 --help
[ "$(grep -c '^usage:' "$out")" = 1 ]
expect 'the help is not printed once'
call 4 timeout 60 "$launcher" --allow-run-as-root --oversubscribe -n 2 "$BUILD/spmv" gen:web:n=100
says "$err" 'spmv: spmv does not run in several processes'

# One of two processes has no memory for its rows, 550 MB: a limit under which it solves a small system.
two() { # KB for the second one, matrix
  timeout 120 "$launcher" --allow-run-as-root --oversubscribe -n 1 "$BUILD/bicgstab" -q "$2" : \
    -n 1 sh -c "ulimit -v $1; exec '$BUILD/bicgstab' -q $2"
}
limit=0
for kb in 1000000 700000 400000; do
  two $kb gen:stencil:n=8 >"$work/small" 2>&1 && limit=$((kb + kb / 10)) # what MPI takes differs from start to start
done
if [ $limit -gt 0 ]; then
  call 6 two $limit gen:stencil:n=220
  one_sentence 'out of memory'
else
  skip 3 'the program does not start in little memory, as under a sanitizer or with the libraries of CUDA'
fi

# One of three processes stops in a solve that would take over 100000 iterations.
stopped() { # what to do to the process, exit code, seconds that the others wait
  rm -f "$work/code" "$work"/pid.*
  {
    # shellcheck disable=SC2016
    timeout 300 "$launcher" --allow-run-as-root --oversubscribe -n 3 sh -c 'echo >"$0.$$" && exec "$@"' "$work/pid" \
      "$BUILD/bicgstab" --patience "$3" --method cg --scale none -n 1e15 gen:jump:n=700 >"$out" 2>"$err"
    echo $? >"$work/code"
  } &
  until all_catch_signals 3 || [ -e "$work/code" ]; do sleep 0.05; done
  kill -s "$1" "$last"
  wait
  command="mpirun, of which a process gets $1"
  [ "$(cat "$work/code")" = "$2" ]
  held=$?; expect "exit code $(cat "$work/code"), not $2" "$held"
}
for _ in 1 2 3; do # two of them may say it where processors are so busy that a process rests for a second
  stopped STOP 9 2
  [ "$(grep -c '^bicgstab: ' "$err")" != 1 ] || break
done
one_sentence 'has waited 2 s for the others'
stopped KILL 137 200

report
