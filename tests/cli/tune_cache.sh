#!/bin/sh
# --tune-cache of all programs, with kernels that run on the CPU: the first run tunes and writes, the second reads; what is said
# of files that are none, and the conflicts with other options.
# Needs: programs simt-programs
. tests/cli/lib.sh
export WR_SIMT=replay=off # conformance runs everything twice

# A backend that tunes and is not there: the reason is not that none tunes.
run 4 spmv -k yaspmv:tune=quick --tune-cache "$work/tuned" gen:fem:n=3
says "$err" 'spmv: yaspmv: '
[ "$(grep -c 'is not used' "$err")" = 0 ]
expect 'it says that no backend tunes'

if [ ! -x "$BUILD/simt/pagerank" ]; then
  skip 1 'this build has no programs with kernels that run on the CPU'
  report
fi

cache=$work/tuned json=$work/report.json
tab=$(printf '\t')
system=gen:stencil:n=6,convection=0.4 graph=gen:web:n=200

entries() { # how many the cache has
  [ "$(head -n 1 "$cache")" = 'windrow tuning cache 1' ] && [ "$(tail -n +2 "$cache" | wc -l)" = "$1" ]
  held=$?; expect "the cache has not $1 entries: $(cat "$cache" 2>&1)" "$held"
}

solve() { # program, arguments...
  program=$1
  shift
  call 0 "$BUILD/simt/$program" -k yaspmv:tune=quick --json "$json" "$@"
}

# Tuned and kept, then found: the same configuration, and nothing is timed.
tuned() { # entries, program, arguments...
  count=$1
  shift
  solve "$@" --tune-cache "$cache"
  is_empty "$err"
  says "$out" 'tuner width=' 'timed in '
  says "$json" '"tuner": {' '"from": null' '"warning": ""'
  knobs=$(sed -n 's/.*"knobs": "\(width=[^0][^"]*\)".*/\1/p' "$json" | tail -n 1)
  grep -qF "$tab$knobs" "$cache"
  expect "the cache lacks '$knobs'"
  entries "$count"
  cp "$cache" "$work/kept"
  solve "$@" --tune-cache "$cache"
  is_empty "$err"
  says "$out" 'tuner width=' "; from $cache"
  says "$json" "\"knobs\": \"$knobs\"" "\"from\": \"$cache\"" '"configurations": 0' '"multiplies": 0'
  same 'the cache before and after it was read' "$work/kept" "$cache"
  call 0 "$BUILD/simt/$1" -k "yaspmv:$knobs" -v "$2" # what is said can be given
  says "$out" "$knobs"
}

export COLUMNS=400
tuned 1 bicgstab $system
tuned 2 pagerank $graph
tuned 3 bicgstab $system -p f32

# One multiply by both, the break-even of tuning, and that a warm cache takes no tuning.
rm "$cache"
call 0 "$BUILD/simt/spmv" -p f64 --batches 7 --seconds 0 -k yaspmv,yaspmv:tune=quick,yaspmv:tune=full:threads=64:width=1 \
  --tune-cache "$cache" --json "$json" $system
says "$out" 'pays at' 'tuner: yaspmv:tune=quick: width=' 'tuner: yaspmv:width=1:threads=64:tune=full: width='
entries 2
[ "$(grep -c '"tuner": null' "$json")" = 1 ] && [ "$(grep -c '"preparations": 1,' "$json")" = 2 ]
expect 'a preparation that tunes and one that reads the cache were mixed'
call 0 "$BUILD/simt/spmv" -p f64 --batches 7 --seconds 0 -k yaspmv:tune=quick --tune-cache "$cache" --json "$json" $system
says "$out" "from $cache"

# Files that cannot be used: a sentence, and the solve goes on.
warned() { # sentence
  solve bicgstab $system --tune-cache "$file"
  says "$out" 'tuner width=' 'timed in '
  says "$err" 'bicgstab: yaspmv:tune=quick: ' "$1"
  says "$json" '"met_tolerance": true' "$1"
  solve bicgstab $system --tune-cache "$file" -q
  is_empty "$err"
}
file=$work/foreign
echo 'no cache' >"$file"
warned "$file is no tuning cache"
[ "$(cat "$file")" = 'no cache' ]
expect 'a foreign file has changed'
file=$work/no/folder/cache
warned "$file cannot be written: No such file or directory"
file=$work
warned "$file is no regular file"
file=$work/other
echo 'windrow tuning cache 9' >"$file"
warned 'a tuning cache of another version'
call 0 "$BUILD/simt/spmv" -p f64 --batches 1 --seconds 0 -k yaspmv:tune=quick --tune-cache "$file" $system
says "$err" 'spmv: yaspmv:tune=quick: ' 'a tuning cache of another version'

# A damaged line is left out, and gone after the next entry.
rm -f "$cache"
solve bicgstab $system --tune-cache "$cache"
printf 'yaspmv, cut o' >>"$cache"
solve bicgstab $system --tune-cache "$cache"
says "$out" "from $cache"
says "$err" '1 damaged line, left out'
solve pagerank $graph --tune-cache "$cache"
entries 2
sed -i "s/${tab}width=[0-9]*/${tab}width=9/" "$cache"
solve bicgstab $system --tune-cache "$cache"
says "$err" "$cache: what it has for this matrix is left out: knob of yaspmv: width: 9 is not in [0, 4]"
solve bicgstab $system --tune-cache "$cache"
is_empty "$err"
says "$out" "from $cache"

# A list of matrices, one of them twice.
rm -f "$cache"
printf '%s\n%s\n%s\n' $system gen:stencil:n=5 $system >"$work/list.txt"
call 0 "$BUILD/simt/bicgstab" -k yaspmv:tune=quick --tune-cache "$cache" "@$work/list.txt"
[ "$(grep -c 'timed in' "$out")" = 2 ] && [ "$(grep -c "; from $cache" "$out")" = 1 ]
expect 'not two of three are tuned'
entries 2

# Nothing tunes.
rm -f "$cache"
for options in '-k yaspmv' '-k cpu_csr -d cpu' '-k yaspmv:tune=none'; do
  # shellcheck disable=SC2086
  call 0 "$BUILD/simt/bicgstab" $options --tune-cache "$cache" $system
  says "$err" 'bicgstab: --tune-cache is not used: no backend of -k tunes'
done
call 0 "$BUILD/simt/bicgstab" -k csr_warp --tune-cache "$cache" "@$work/list.txt"
[ "$(grep -c 'is not used' "$err")" = 1 ]
expect 'the reason is not given once'
solve pagerank $graph --tune-cache "$cache" --deterministic
says "$err" 'pagerank: --tune-cache is not used: --deterministic tunes nothing'
says "$json" '"tuner": null'
call 0 "$BUILD/simt/spmv" -p f64 --batches 1 --seconds 0 -k cpu_csr --tune-cache "$cache" $system
says "$err" 'spmv: --tune-cache is not used: no backend of -k tunes'
[ ! -e "$cache" ]
expect 'a cache was written'

# What is refused before anything is read.
matrix A.mtx 'coordinate real general' '2 2 3' '1 1 2' '1 2 1' '2 2 4'
for program in pagerank bicgstab spmv; do
  refuses 1 "--tune-cache: '-' is no file" $program --tune-cache - "$work/A.mtx"
  refuses 1 "--tune-cache: '' is no file" $program --tune-cache '' "$work/A.mtx"
  refuses 1 "--tune-cache $work/A.mtx would overwrite the matrix" $program --tune-cache "$work/A.mtx" "$work/A.mtx"
  refuses 1 'are the same file' $program --json "$cache" --tune-cache "$cache" "$work/A.mtx"
done
report
