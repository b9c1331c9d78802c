#!/bin/sh
# Many starts at once, with no option that names a device or a backend: however busy the processors are, each start chooses the
# same device and backend and succeeds.
. tests/cli/lib.sh

cat >"$work/start" <<'end'
"$1" -q "$2" 2>"$3.$4" >/dev/null
code=$?
[ $code = 0 ] || echo "$code: $(head -n 1 "$3.$4")"
end

# The errors of the starts that failed are in $out.
starts() { # program, matrix
  command="$1 $2, 200 starts, 40 at a time"
  seq 200 | xargs -P 40 -n 1 sh "$work/start" "$BUILD/$1" "$2" "$work/said" >"$out" 2>"$err"
  [ ! -s "$out" ]
  held=$?; expect "$(wc -l <"$out") starts failed" "$held"
}

starts bicgstab gen:stencil:n=20
starts pagerank gen:web:n=2000
report
