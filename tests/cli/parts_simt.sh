#!/bin/sh
# Two processes of bicgstab, two and three of pagerank over MPI, each with a card of its own, which is the CPU: backends of a
# GPU in parts, which exchange with each other, or by way of their hosts. The answers are checked by one process.
# Needs: programs simt-mpi
. tests/cli/lib.sh

launcher=$(command -v mpirun)
if [ -z "$launcher" ] || [ ! -x "$BUILD/simt/bicgstab-mpi" ]; then
  skip 1 'no mpirun here, or a build without MPI or without kernels on the CPU'
  report
fi
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # as in parts.sh
cards=replay=off,devices=2
export WR_SIMT=$cards

together() { # exit code, arguments of bicgstab...
  wanted=$1
  shift
  call "$wanted" timeout 120 "$launcher" --allow-run-as-root --oversubscribe -n 2 "$BUILD/simt/bicgstab" -d cuda "$@"
}

solves() { # options..., matrix
  rm -f "$work/x.mtx"
  together 0 -q -o "$work/x.mtx" "$@"
  says_nothing bicgstab
}

for backend in csr_thread csr_warp merbit sell_coded; do
  for precision in f64 f32; do
    solves -k $backend -p $precision gen:stencil:n=8
    run 0 bicgstab -q -p $precision --check "$work/x.mtx" gen:stencil:n=8
  done
done
cp "$work/x.mtx" "$work/peers.mtx"
export WR_SIMT=$cards,peers=off,nccl=off
solves -k sell_coded -p f32 gen:stencil:n=8
export WR_SIMT=$cards
same 'the same parts, whose hosts exchange' "$work/x.mtx" "$work/peers.mtx" # sums are added by rank in both
for way in hosts nccl peers; do
  solves -k sell_coded -p f32 --exchange $way gen:stencil:n=8
  same "the same parts, which exchange by $way" "$work/x.mtx" "$work/peers.mtx"
done
for precision in f64 f32; do
  solves -k merbit -p $precision --exchange nccl gen:saddle:n=6 # each part needs most of x
  run 0 bicgstab -q -p $precision --check "$work/x.mtx" gen:saddle:n=6
done
solves -k csr_warp --method idr --precond ilu0 --exchange nccl gen:stencil:n=8,convection=0
run 0 bicgstab -q --check "$work/x.mtx" gen:stencil:n=8,convection=0
together 0 -k csr_warp gen:jump:n=6 # the preconditioner is chosen by all parts together
says "$out" 'jacobi to begin with'
together 0 -k csr_warp --exchange nccl gen:stencil:n=6
says "$out" 'GPUs exchange by NCCL'
export WR_SIMT=$cards,peers=off
together 0 -k csr_warp gen:stencil:n=6
says "$out" 'GPUs exchange by NCCL'
export WR_SIMT=$cards,nccl=off,peers=off
together 4 -k csr_warp --exchange nccl gen:stencil:n=6
says "$err" 'NCCL is not found'
together 4 -k csr_warp --exchange peers gen:stencil:n=6
says "$err" 'CUDA device 0 does not reach the memory of device 1'
export WR_SIMT=$cards
solves --precond ilu0 gen:stencil:n=8,convection=0
run 0 bicgstab -q --check "$work/x.mtx" gen:stencil:n=8,convection=0
solves -k merbit --method idr gen:saddle:n=6
run 0 bicgstab -q --check "$work/x.mtx" gen:saddle:n=6

# Several right-hand sides: where cards exchange with each other, one after the other; where their hosts do, together.
for k in 1 2 3; do awk -v k=$k 'BEGIN { for (i = 1; i <= 512; i++) print sin(i * k) + 0.1 }' >"$work/b$k.txt"; done
matrix sides.mtx 'array real general' '512 3'
cat "$work"/b[123].txt >>"$work/sides.mtx"
solves_sides() { # text of the report, options...
  said=$1
  shift
  rm -f "$work/x.txt"
  together 0 -b "$work/sides.mtx" -o "$work/x.txt" "$@" gen:stencil:n=8
  says "$out" '3: converged in' "$said"
  for k in 1 2 3; do
    cut -d ' ' -f $k "$work/x.txt" >"$work/column.txt"
    run 0 bicgstab -q -b "$work/b$k.txt" --check "$work/column.txt" gen:stencil:n=8
  done
}
solves_sides 'one after the other, as GPUs that exchange with each other' -k lane_csr
export WR_SIMT=$cards,peers=off,nccl=off
for backend in lane_csr merbit; do solves_sides 'iterated together' -k $backend; done
solves_sides 'iterated together' -k lane_csr --precond ilu0
export WR_SIMT=$cards

ranks() { # processes, options of both..., matrix
  processes=$1
  shift
  rm -f "$work/x.mtx"
  call 0 env WR_SIMT="replay=off,devices=$processes" timeout 120 "$launcher" --allow-run-as-root --oversubscribe \
    -n "$processes" "$BUILD/simt/pagerank" -d cuda -q -k $backend -o "$work/x.mtx" "$@"
  says_nothing pagerank
  run 0 pagerank -q --check "$work/x.mtx" "$@"
}
for backend in csr_thread merbit; do ranks 2 gen:web:n=500; done
backend=lane_csr
ranks 2 gen:web:n=3000 # many elements: from the multiply, with flags behind them
ranks 3 gen:web:n=3000 -p f32 --damping 0.9
ranks 3 gen:road:side=30 --method power # few elements: records beside the sum
ranks 3 gen:rmat:scale=7,degree=6 -p f32
ranks 2 gen:road:side=20
ranks 3 gen:web:n=500 --exchange nccl -p f32
ranks 2 gen:road:side=20 --exchange nccl

# Teleport sets: the best scores differ from those of one process on the CPU by no more than both bounds together.
printf '10 20:3\n5\n7:2 8 9:0.5\n' >"$work/sets.txt"
ranks_sets() { # options...
  rm -f "$work/together.tsv"
  call 0 timeout 120 "$launcher" --allow-run-as-root --oversubscribe -n 2 "$BUILD/simt/pagerank" -d cuda -q \
    --seeds "$work/sets.txt" --top 5 -o "$work/together.tsv" "$@" gen:web:n=500
  run 0 pagerank -q --seeds "$work/sets.txt" --top 5 -o "$work/alone.tsv" gen:web:n=500
  paste "$work/alone.tsv" "$work/together.tsv" | awk -F '\t' '{
    d = $4 - $9; most = $5 + $10; lines++
    if (NF != 10 || $1 != $6 || $2 != $7 || d > most || -d > most || $10 > 1e-4) wrong = 1 }
    END { exit wrong || lines != 15 }'
  expect 'the best nodes of sets have other scores'
}
ranks_sets -k lane_csr
export WR_SIMT=$cards,peers=off,nccl=off
ranks_sets -k lane_csr
ranks_sets -k csr_warp -p f32
export WR_SIMT=$cards

together 0 -k csr_warp gen:stencil:n=6
says "$out" 'GPUs exchange with each other'
export WR_SIMT=$cards,peers=off,nccl=off
together 0 -k csr_warp gen:stencil:n=6
says "$out" 'GPUs exchange by way of their hosts'
export WR_SIMT=$cards

# -g starts the processes.
rm -f "$work/x.mtx"
call 0 timeout 120 "$BUILD/simt/bicgstab" -g 2 -q -k csr_warp -o "$work/x.mtx" gen:stencil:n=8
says_nothing bicgstab
run 0 bicgstab -q --check "$work/x.mtx" gen:stencil:n=8
call 0 timeout 120 "$BUILD/simt/bicgstab" -g 1 -q -k csr_warp gen:stencil:n=8
call 1 timeout 120 "$BUILD/simt/bicgstab" -g 2 -d cpu gen:stencil:n=8
says "$err" '-g asks for GPUs and -d cpu for the CPU'
together 1 -g 3 gen:stencil:n=8
says "$err" '-g 3 in 2 processes'
call 4 env PATH=/nowhere "$BUILD/simt/bicgstab" -g 2 gen:stencil:n=8
says "$err" '-g 2 takes mpirun, which does not start'
call 4 env WINDROW_PARTS=1 "$BUILD/simt/bicgstab" -g 2 gen:stencil:n=8
says "$err" 'mpirun has started this process without telling it of the others'

# A process that stops in a solve that would take over 100000 iterations: the card of the other one waits for it no longer than
# asked for.
rm -f "$work/code" "$work"/pid.*
{
  # shellcheck disable=SC2016
  timeout 300 "$launcher" --allow-run-as-root --oversubscribe -n 2 sh -c 'echo >"$0.$$" && exec "$@"' "$work/pid" \
    "$BUILD/simt/bicgstab" --patience 2 -k csr_thread -d cuda --method cg --scale none -n 1e15 gen:jump:n=200 \
    >"$out" 2>"$err"
  echo $? >"$work/code"
} &
until all_catch_signals 2 || [ -e "$work/code" ]; do sleep 0.05; done
sleep 1
kill -s STOP "$last"
wait
command='mpirun, of which a process gets STOP'
[ "$(cat "$work/code")" = 9 ]
held=$?; expect "exit code $(cat "$work/code"), not 9" "$held"
says "$err" 'has waited 2 s for'

# Fewer cards than processes.
export WR_SIMT=replay=off
for backend in '' '-k csr_warp'; do
  # shellcheck disable=SC2086
  together 4 $backend gen:stencil:n=8
  says "$err" 'there is no CUDA device 1: this machine has 1'
  [ "$(grep -c '^bicgstab: ' "$err")" = 1 ]
  expect 'not exactly one process says why'
done

report
