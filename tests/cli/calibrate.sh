#!/bin/sh
# spmv --calibrate: what it keeps in the user's cache folder, what -k auto and spmv --advise make of it, and what they say of files
# that are none, which change nothing else.
# Needs: programs
. tests/cli/lib.sh

export XDG_CACHE_HOME="$work/cache"
kept=$work/cache/windrow/calibration
system=gen:fem:n=8

export COLUMNS=400
call 0 "$BUILD/spmv" -d cpu --calibrate
is_empty "$err"
says "$out" 'times by those that the model expects' "kept in $kept, for -k auto and spmv --advise"
[ "$(head -n 1 "$kept")" = 'windrow tuning cache 1' ] &&
  [ "$(tr '\t' ' ' <"$kept" | grep -c 'calibration of model [0-9a-f]*, CPU, 1 thread, cpu_[cb]sr, f[36][24], [vp][a-z]* multiply=.*:prepare=')" = 8 ]
held=$?; expect "not an entry for two backends, two types, with and without values: $(cat "$kept" 2>&1)" "$held"
[ "$(grep -c '^cpu_[bc]sr  *f[36][24] [vp][a-z]* ' "$out")" = 8 ]
expect 'not a line for each entry'

# With factors that leave no doubt: blocks take a thousandth of the time, or a thousand times as long.
factors() { # multiply's of cpu_csr, of cpu_bsr
  cp "$kept" "$work/measured"
  sed "s/\\(cpu_csr.*multiply=\\)[^:]*/\\1$1/; s/\\(cpu_bsr.*multiply=\\)[^:]*/\\1$2/; s/prepare=.*/prepare=1/" "$work/measured" >"$kept"
}
factors 1 0.001
run 0 bicgstab -k auto -v $system
is_empty "$err"
says "$out" 'choice cpu_bsr has the least' '; calibrated on this device'
factors 0.001 1000
run 0 bicgstab -k auto -v $system
says "$out" 'choice cpu_csr has the least' '; calibrated on this device'
call 0 "$BUILD/spmv" -d cpu --advise -p f64 $system
says "$out" 'least time: cpu_csr for any number of multiplies' 'by bytes and a usual memory, calibrated on this device: nothing'
run 0 bicgstab -k auto -v --deterministic $system # by the matrix alone
says "$out" 'choice cpu_bsr has the least'
! grep -q 'calibrated' "$out"
expect 'a measured time decides in spite of --deterministic'

# Blocks that take as long to make as some 230 multiplies by rows: too long for the 200 that are expected, and not for a solve that
# takes as many and is far from its end. The options that exclude a change leave the choice as it is.
long='--method cg --precond none gen:stencil:n=500,points=5,convection=0'
factors 1 0.001
sed 's/\(cpu_bsr.*prepare=\).*/\120/' "$kept" >"$work/dear" && cp "$work/dear" "$kept"
# shellcheck disable=SC2086
run 0 bicgstab -k auto -v --json "$work/changed.json" $long
says "$out" 'choice cpu_csr has the least' 'changed from cpu_csr to cpu_bsr after' 'had been taken where 200 were expected' \
  'backend cpu_bsr' 'since the change'
says "$work/changed.json" '"backend": "cpu_bsr"' '"from": "cpu_csr"' '"to": "cpu_bsr"' '"took_prepare_s"' '"failure": ""'
for option in --deterministic '-k cpu_csr'; do
  # shellcheck disable=SC2086
  run 0 bicgstab -v --json "$work/changed.json" $option $long
  says "$work/changed.json" '"changed": null' '"backend": "cpu_csr"'
done

# A file that is none is left as it is, and the choice is that without it.
ignored() { # text of the warning
  cp "$kept" "$work/before"
  run 0 bicgstab -k auto -v $system
  says "$out" 'choice cpu_bsr has the least'
  says "$err" "bicgstab: -k auto: $kept" "$1"
  call 0 "$BUILD/spmv" -d cpu --advise -p f64 $system
  says "$err" "$1"
  run 0 bicgstab -k auto -q $system
  is_empty "$err"
  same 'the file before and after' "$work/before" "$kept"
}
sed 's/multiply=[^:]*/multiply=x/' "$work/measured" >"$kept"
ignored 'the calibration of cpu_csr is damaged; spmv --calibrate makes it anew'
printf 'windrow tuning cache 1\ncut' >"$kept"
ignored 'has 1 damaged line, left out'
head -c 3000 /dev/urandom >"$kept"
ignored 'is no tuning cache'
call 3 "$BUILD/spmv" -d cpu --calibrate # at once, and the file stays
is_empty "$out"
says "$err" 'is no tuning cache'
same 'the file before and after' "$work/before" "$kept"

XDG_CACHE_HOME=$work/before/none # below a file
refuses 8 "$XDG_CACHE_HOME cannot be made: " spmv --calibrate
run 0 bicgstab -k auto $system
says "$err" "bicgstab: -k auto: $XDG_CACHE_HOME/windrow/calibration cannot be read: "
XDG_CACHE_HOME=none HOME=none
refuses 4 'there is no cache folder for this user' spmv --calibrate
run 0 bicgstab -k auto $system
is_empty "$err"
for other in $system '-k cpu_csr' --standard --advise "--json $work/x.json"; do
  # shellcheck disable=SC2086
  refuses 1 '--calibrate has matrices and backends of its own and writes no report' spmv --calibrate $other
done
report
