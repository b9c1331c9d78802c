#!/bin/sh
# -d auto with a device that opens slowly, on the CPU in place of a card: a solve that would not end goes over to it, and a signal
# then ends it; one that ends before is not kept waiting. What is kept of the time of opening, and what is said of files that are
# none.
# Needs: programs simt-programs
. tests/cli/lib.sh

if [ ! -x "$BUILD/simt/pagerank" ]; then
  skip 1 'this build has no programs with kernels that run on the CPU'
  report
fi
kept=$XDG_CACHE_HOME/windrow/opening
system='gen:stencil:n=12,points=5'

# Ranks that go back and forth within pairs of pages.
awk 'BEGIN { for (k = 0; k < 20000; k++) print k "\t" (k % 2 ? k - 1 : k + 1) }' >"$work/pairs.tsv"
awk 'BEGIN { for (k = 0; k < 20000; k++) print k % 2 }' >"$work/first.txt"
endless="--method power -x $work/first.txt --damping 0.9999999999 -n 1e15 $work/pairs.tsv"

# Waits until the program has caught signals, and then so many seconds.
interrupt() { # seconds
  tries=0
  until catches_signals "$(cat "$work/pid" 2>"$work/none")" || [ $tries -ge 600 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
  sleep "$1"
  kill -s TERM "$(cat "$work/pid")"
}

# A busy machine may take long, so the signal comes later each time until the solve has moved.
for seconds in 1 4 16 64; do
  rm -f "$work/pid"
  interrupt $seconds &
  # shellcheck disable=SC2016,SC2086
  call 130 env WR_SIMT=open=300,replay=off sh -c 'echo $$ >"$0"; exec "$@"' "$work/pid" "$BUILD/simt/pagerank" $endless \
    --json "$work/report.json" --history "$work/history.csv" -o "$work/scores.txt"
  wait
  grep -q '"from": "cpu_csr"' "$work/report.json" && break
done
says "$out" 'not converged (interrupted) after' 'of the iterations on the CPU by cpu_csr, in' '; the rest on the GPU'
says "$work/report.json" '"outcome": "interrupted"' '"place": "cuda"' '"from": "cpu_csr"' '"failure": ""'
awk -F, 'NR > 1 { if ($(NF - 1) <= last) exit 1; last = $(NF - 1) }' "$work/history.csv"
expect 'iterations of the history do not ascend'
awk '!/^%/ { sum += $1; count++ } END { exit !(count >= 20000 && sum > 0.999 && sum < 20003) }' "$work/scores.txt"
expect 'the scores of the last iterate are not written'
[ "$(head -n 1 "$kept")" = 'windrow tuning cache 1' ] &&
  awk -F 'seconds=' '/^opening of device 0 of / { seconds = $2 } END { exit !(seconds >= 0.3) }' "$kept"
held=$?; expect "the time of opening is not kept: $(cat "$kept" 2>&1)" "$held"

# By what is kept, and by the sizes, a device is worth opening. If that takes ten minutes, it is not waited for.
sed 's/seconds=.*/seconds=0.06/' "$kept" >"$work/quick"
cp "$work/quick" "$kept"
call 0 env WR_SIMT=open=600000 timeout 100 "$BUILD/simt/bicgstab" --threads 2 gen:stencil:n=300,points=5
says "$out" 'the CPU: it had the answer before the GPU was open; -d cuda would have waited for that' 'backend cpu_csr'
sed 's/seconds=.*/seconds=1e-06/' "$kept" >"$work/quick"
cp "$work/quick" "$kept"
call 0 env WR_SIMT=open=600000 timeout 100 "$BUILD/simt/pagerank" -q --damping 0.9999 -o "$work/list.txt" \
  "$work/pairs.tsv"
[ "$(grep -vc '^%' "$work/list.txt")" -ge 20000 ]
expect 'the answer is not written in full'
same 'what is kept' "$work/quick" "$kept"

# Sizes alone decide with --deterministic, by a time that is no measured one.
call 0 "$BUILD/simt/bicgstab" --deterministic $system
says "$out" 'the CPU: solving should take about' 'opening and closing a GPU takes 300 ms'

# A device that does not open.
call 0 env WR_SIMT=open=200,devices=0 "$BUILD/simt/bicgstab" $system
says "$out" 'backend cpu_csr'

# A file that is none: a warning, and the answer as without it.
ignored() { # text of the warning
  call 0 "$BUILD/simt/bicgstab" $system
  says "$err" "bicgstab: $XDG_CACHE_HOME" "$1"
  [ "$(grep -c '^bicgstab: ' "$err")" = 1 ]
  expect 'not one warning'
  says "$out" 'the CPU: solving should take about'
  call 0 "$BUILD/simt/bicgstab" -q $system
  is_empty "$err"
}
sed 's/seconds=.*/seconds=-1/' "$work/quick" >"$kept"
ignored 'the time of opening a GPU is damaged; remove the file'
printf 'windrow tuning cache 1\ncut' >"$kept"
ignored 'has 1 damaged line, left out'
echo 'another file' >"$kept"
ignored 'is no tuning cache'
rm -r "$XDG_CACHE_HOME" && echo x >"$XDG_CACHE_HOME"
call 0 "$BUILD/simt/bicgstab" -d cuda $system
says "$err" "$XDG_CACHE_HOME" 'cannot be'
report
