#!/bin/sh
# Whole solves with kernels that run on the CPU: both programs of $BUILD/simt with backends of both places, in both precisions.
# The programs verify their answers themselves, and compare them with each other.
# Needs: programs simt-programs
. tests/cli/lib.sh
backends=csr_thread,csr_warp,merbit,cpu_csr
export WR_SIMT=replay=off # conformance runs everything twice

if [ ! -x "$BUILD/simt/pagerank" ]; then
  skip 1 'this build has no programs with kernels that run on the CPU'
  report
fi

# All four are in the table, verified; none had to be refused or failed.
verified() { # program, arguments...
  program=$1
  shift
  call 0 "$BUILD/simt/$program" -k "$backends" --json "$work/report.json" "$@"
  for name in csr_thread csr_warp merbit cpu_csr; do
    grep -q "^$name " "$out"
    expect "no row of $name"
  done
  [ "$(grep -c '"met_tolerance": true' "$work/report.json")" = 4 ]
  expect 'not all four are verified'
}

awk 'BEGIN { for (k = 0; k < 300; k++) { print k, k * k % 97; print k * k % 97, k } }' >"$work/both_ways.tsv"
for precision in f64 f32; do
  verified pagerank -p $precision gen:web:n=400
  verified bicgstab -p $precision gen:stencil:n=6,convection=0.4
done
verified pagerank -p mixed --method power gen:web:n=400
verified pagerank -p mixed "$work/both_ways.tsv"
verified bicgstab --precond jacobi tests/data/real/jpwh_991.mtx.gz
verified bicgstab --precond ilu0:at=device tests/data/real/jpwh_991.mtx.gz
verified bicgstab --precond ilut -p f32 gen:stencil:n=6,convection=0.4

# The matrix chooses a backend of the device, and the answer is verified.
call 0 "$BUILD/simt/bicgstab" -k auto -d cuda -v --no-resident --json "$work/report.json" gen:fem:n=6
grep -q '"second": "[a-z]' "$work/report.json" && grep -q '"met_tolerance": true' "$work/report.json"
expect 'no second, or no verified answer'
for program in 'bicgstab gen:stencil:n=6' 'pagerank gen:web:n=400' 'pagerank -p mixed gen:web:n=400'; do
  call 0 "$BUILD/simt/"${program%% *} -k auto -d cuda -v ${program#* }
  grep -q '^  choice  *[a-z_]* has the least expected time' "$out"
  expect 'no line about the choice'
done
call 0 "$BUILD/simt/bicgstab" -k auto -d cuda -v --deterministic gen:stencil:n=6
says "$out" '; deterministic'

# Teleport sets on the device: checked by the host, and within both bounds of those of the CPU.
printf '1 2:3\n5\n7 8 9\n200\n17 300:0.5\n' >"$work/sets.txt"
for backend in csr_warp merbit cpu_csr; do
  call 0 "$BUILD/simt/pagerank" -k $backend --seeds "$work/sets.txt" --top 400 -o "$work/$backend.tsv" --verify full gen:web:n=400
  says "$out" '5 sets converged in' 'the host found those of 5 of 5 sets right'
  awk '{ key = $1 " " $3; bound[$1] = $5 }
    NR == FNR { score[key] = $4; next }
    { d = $4 - score[key]; off[$1] += d < 0 ? -d : d; delete score[key] }
    END { for (key in score) { split(key, at, " "); off[at[1]] += score[key] }
          for (set in off) if (off[set] > 2 * bound[set]) bad = 1
          exit bad || FNR < 100 }' "$work/csr_warp.tsv" "$work/$backend.tsv"
  expect "sets by csr_warp and $backend differ"
done

# Several right-hand sides on the device: each column of x solves its system, when they are iterated together too; one after the
# other, they are as in runs of their own, bit for bit.
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n216 3"; for (k = 0; k < 648; k++) print sin(k) }' >"$work/sides.mtx"
for method in bicgstab idr; do
  call 0 "$BUILD/simt/bicgstab" -k csr_warp --method $method -b "$work/sides.mtx" -o "$work/all.txt" gen:stencil:n=6,convection=0.4
  says "$out" '3 right-hand sides, the worst: converged' '3: converged in'
  for k in 1 2 3; do
    tail -n +3 "$work/sides.mtx" | head -n $((216 * k)) | tail -n 216 >"$work/side.txt"
    cut -d ' ' -f $k "$work/all.txt" >"$work/column.txt"
    call 0 "$BUILD/bicgstab" -q -d cpu -b "$work/side.txt" --check "$work/column.txt" gen:stencil:n=6,convection=0.4
    [ $method = idr ] || continue
    call 0 "$BUILD/simt/bicgstab" -q -k csr_warp --method $method -b "$work/side.txt" -o "$work/one.txt" gen:stencil:n=6,convection=0.4
    same "column $k and a run of its own" "$work/one.txt" "$work/column.txt"
  done
done

# A graph is transposed on the device if all runs are there, else on the host: the same scores, bit for bit.
transformed() { # arguments...
  for list in csr_warp,csr_thread csr_warp,cpu_csr; do
    call 0 "$BUILD/simt/pagerank" -k $list --top 0 -o "$work/$list.mtx" --json "$work/$list.json" "$@"
    [ "$(grep -c '"met_tolerance": true' "$work/$list.json")" = 2 ]
    expect "not both of $list are verified"
  done
  same 'a flow made on the device and one made on the host' "$work/csr_warp,csr_thread.mtx" "$work/csr_warp,cpu_csr.mtx"
}

{
  echo '%%MatrixMarket matrix coordinate real general'
  echo '40 40 120'
  awk 'BEGIN { for (k = 0; k < 120; k++) print k % 37 + 1, (k * 7 + int(k / 37)) % 40 + 1, k % 11 / 4 }'
} >"$work/weights.mtx"
transformed -t 1e-4 gen:web:n=100
transformed -t 1e-4 --edges in --verify sample:20 gen:web:n=100
transformed -t 1e-4 "$work/weights.mtx"
transformed -t 1e-4 -p f32 "$work/weights.mtx"

# Rows of a file go to the device while later ones are read, those of a generated matrix when all are there: the same answers.
fed() { # program, matrix, options...
  program=$1 matrix=$2
  shift 2
  call 0 "$BUILD/simt/$program" -q -k csr_warp "$@" -o "$work/made.mtx" --save-binary "$work/saved.wrm" "$matrix"
  call 0 "$BUILD/simt/$program" -q -k csr_warp "$@" -o "$work/read.mtx" --json "$work/report.json" "$work/saved.wrm"
  values "$work/made.mtx" >"$work/made"
  values "$work/read.mtx" >"$work/read"
  same 'a matrix that was made and the same one read' "$work/made" "$work/read"
  says "$work/report.json" '"met_tolerance": true' '"upload"'
}

# A system is equilibrated on the device if all runs are there, else on the host: the same solution, bit for bit.
awk 'BEGIN {
  print "%%MatrixMarket matrix coordinate real general"
  print "60 60 " 60 * 3
  for (i = 0; i < 60; i++)
    for (k = 0; k < 3; k++) print i + 1, (i + 7 * k) % 60 + 1, (k == 0 ? 5 : -1.3 / k) * 10 ^ (i % 4 * 2 - 3)
}' >"$work/units.mtx"
for precision in f64 f32; do
  for list in csr_warp,csr_thread csr_warp,cpu_csr; do
    call 0 "$BUILD/simt/bicgstab" -k $list -p $precision -o "$work/$list.mtx" --json "$work/$list.json" "$work/units.mtx"
    says "$work/$list.json" 'equilibrated: the largest elements of rows differ by up to 2^'
    [ "$(grep -c '"met_tolerance": true' "$work/$list.json")" = 2 ]
    expect "not both of $list are verified"
  done
  same 'a system equilibrated on the device and on the host' "$work/csr_warp,csr_thread.mtx" "$work/csr_warp,cpu_csr.mtx"
done

for precision in f64 f32; do
  fed bicgstab "$work/units.mtx" -p $precision
  fed bicgstab "$work/units.mtx" -p $precision --scale equilibrate
  fed bicgstab "$work/units.mtx" -p $precision --scale match
  fed pagerank gen:web:n=100 -t 1e-3 -p $precision
  fed pagerank "$work/weights.mtx" -t 1e-3 -p $precision
  fed bicgstab gen:stencil:n=4,convection=0.4 -p $precision
done
fed pagerank gen:road:side=10 -t 1e-3
fed pagerank gen:web:n=100 -t 1e-3 --edges in
fed bicgstab gen:stencil:n=6,convection=0.4 --precond jacobi

# Defects that are found after the upload of rows has begun.
head -c 9000 "$work/saved.wrm" >"$work/short.wrm"
call 3 "$BUILD/simt/bicgstab" -k csr_warp "$work/short.wrm"
says "$err" 'short.wrm: 9000 bytes, where its header says'
cp "$work/saved.wrm" "$work/damaged.wrm"
printf '\377' | dd of="$work/damaged.wrm" bs=1 seek=8200 conv=notrunc 2>/dev/null
call 3 "$BUILD/simt/bicgstab" -k csr_warp "$work/damaged.wrm"
says "$err" 'damaged.wrm: damaged: the checksum of its'
matrix beyond.mtx 'coordinate real general' '2 2 4' '1 1 1e-25' '1 2 1' '2 1 1e25' '2 2 1'
call 5 "$BUILD/simt/bicgstab" -k csr_warp -p f32 --scale none --method bicgstab --precond jacobi "$work/beyond.mtx"
says "$err" 'the value 1e+50 in row 2, column 1 is beyond f32'
matrix overflow.mtx 'coordinate real general' '2 2 3' '1 1 1e308' '1 1 1e308' '2 2 1'
call 3 "$BUILD/simt/bicgstab" -k csr_warp "$work/overflow.mtx"
says "$err" 'row 1: the sum of several entries at one place overflows'

# What repeats the iterations: one kernel (which never calls the backend's multiply), a graph, or the host, which also asks for
# those of a short solve.
repeated() { # by what, time of all multiplies, options and graph...
  by=$1 total=$2
  shift 2
  call 0 "$BUILD/simt/pagerank" -k csr_warp --json "$work/report.json" "$@"
  grep -q "\"repeated_by\": \"$by\"" "$work/report.json"
  expect "not repeated by the $by"
  [ "$(grep -c '"repeated_iterations": 0,' "$work/report.json")" = "$([ "$by" = host ] && echo 1 || echo 0)" ]
  expect 'other iterations are counted as repeated than were'
  grep -q "\"total_s\": $total" "$work/report.json"
  expect "the time of all multiplies is not $total"
}
repeated kernel null gen:web:n=200
says "$out" 'one kernel for all'
repeated graph '[0-9]' --no-resident --damping 0.97 gen:road:side=14
repeated graph '[0-9]' --deterministic --damping 0.97 gen:road:side=14
repeated host '[0-9]' --no-graph gen:web:n=200
repeated host '[0-9]' --no-resident gen:web:n=200

# A small problem is solved on the CPU unless a GPU is asked for; a large one, and one of unknown size, on the GPU.
rm -rf "$XDG_CACHE_HOME" # has how little time this device takes to open
call 0 "$BUILD/simt/bicgstab" gen:stencil:n=4
says "$out" 'cpu_csr on CPU' 'device the CPU: solving should take about' '-d cuda uses the GPU'
call 0 "$BUILD/simt/bicgstab" -k csr_warp gen:stencil:n=4
says "$out" 'csr_warp on no card'
call 2 "$BUILD/simt/bicgstab" --max-iterations 1 --verify off gen:stencil:n=4
says "$out" 'cpu_csr on CPU'
in=$work/weights.mtx
call 0 "$BUILD/simt/pagerank" -t 1e-4 -
says "$out" ' on no card: the CPU in its place, epilogue'
in=/dev/null

# How the shim names its device, and what it refuses.
call 0 "$BUILD/simt/bicgstab" -d cuda gen:stencil:n=4
says "$out" ' on no card: the CPU in its place, epilogue fused; one kernel'
call 4 "$BUILD/simt/pagerank" -k cusparse gen:chain:scale=3
says "$err" "NVIDIA's libraries need a GPU"
call 0 "$BUILD/simt/pagerank" --list-backends
says "$out" "NVIDIA's libraries need a GPU"
report
