#!/bin/sh
# More threads than the machine, the memory or the user's limits allow: the program says so and takes fewer, where OpenMP's
# runtime by itself would end the process.
. tests/cli/lib.sh

graph=gen:web:n=2000

# Converged with fewer threads, and a sentence why.
takes_fewer() { # sentence, command...
  sentence=$1
  shift
  call 0 "$@" --top 0 "$graph"
  says "$err" "$sentence"
  ! grep -q libgomp "$err"
  expect 'the runtime complains'
  says "$out" 'converged in'
}

check_too_many() {
  takes_fewer 'threads instead of 4096: more do not help on' "$BUILD/pagerank" -d cpu --threads 4096
  takes_fewer 'threads instead of 100000: more do not help on' env OMP_NUM_THREADS=100000 "$BUILD/pagerank" -d cpu
  run 0 pagerank -q --threads 4096 "$graph"
  is_empty "$err"
  run 0 spmv -q -k cpu_csr -p f64 --batches 1 --threads 4096 gen:stencil:n=3
  run 0 bicgstab -v --threads 4096 gen:stencil:n=3
  ! grep -q 'threads = 4096' "$out"
  expect 'the effective options have 4096 threads'
  says "$err" 'bicgstab: ' 'threads instead of 4096'
  run 0 pagerank --top 0 --threads 3 "$graph"
  says "$out" 'CPU, 3 threads'
  is_empty "$err"
}

check_stacks() {
  takes_fewer '1 thread instead of 4: the system does not let this process create more' \
    env OMP_STACKSIZE=100000G "$BUILD/pagerank" -d cpu --threads 4
  if ! sh -c "ulimit -v 400000 && '$BUILD/pagerank' --version" >"$out" 2>&1; then
    skip 12 'this build does not run in 400 MB of address space'
    return
  fi
  for threads in --threads=4096 --threads=60; do
    takes_fewer 'the limit of the address space (ulimit -v) leaves no room' \
      sh -c "ulimit -v 400000; OMP_STACKSIZE=8M exec '$BUILD/pagerank' -d cpu $threads \"\$@\"" sh
  done
  # The address space suffices, or the run ends with an error about memory.
  for room in 40000 60000 80000 100000 150000; do
    if ! sh -c "ulimit -v $room; exec '$BUILD/pagerank' --version" >"$out" 2>&1; then
      skip 2 'this build does not start in so little address space'
      continue
    fi
    sh -c "ulimit -v $room; exec '$BUILD/pagerank' -q -d cpu --threads 64 gen:web:n=100000" >"$out" 2>"$err"
    code=$?
    command="pagerank --threads 64 in $room KiB"
    if [ $code = 0 ]; then is_empty "$err"; else says "$err" 'pagerank: out of memory: '; fi
    [ $code = 0 ] || [ $code = 6 ]
    expect "exit code $code"
  done
}

check_processes() {
  if ! setpriv --reuid=54321 --clear-groups prlimit --nproc=10 "$BUILD/pagerank" --version >"$out" 2>&1; then
    skip 3 'no way to be another user with few processes'
    return
  fi
  takes_fewer 'threads instead of 60: the system does not let this process create more' \
    setpriv --reuid=54321 --clear-groups prlimit --nproc=10 "$BUILD/pagerank" -d cpu --threads 60
}

check_too_many
check_stacks
check_processes
report
