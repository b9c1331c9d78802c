#!/bin/sh
# Both programs with a list of backends on real files and generated matrices, in both precisions: a line each with exit code and
# outcome, all reports in one file of JSON lines. Exit status: 0 if every run ended with 0, 2 or 5 (an honest outcome).
#   WR_MATRICES=DIR  a folder with real/NAME.mtx.gz     BACKENDS=cusparse,cpu_csr     SIZE=full|small
#   usage: solve_all.sh BUILD OUT.jsonl
set -u
build=$1 out=$2
backends=${BACKENDS:-cusparse}
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
: >"$out"
bad=0

solve() { # program, precision, matrix, options...
  program=$1 precision=$2 matrix=$3
  shift 3
  rm -f "$work/report.json"
  "$build/$program" -k "$backends" -p "$precision" --json "$work/report.json" "$@" "$matrix" >"$work/log" 2>&1
  code=$?
  printf '%-9s %s %-44s exit %d  %s\n' "$program" "$precision" "${matrix##*/} $*" $code "$(head -n 1 "$work/log")"
  case $code in 0 | 2 | 5) ;; *)
    bad=1
    sed 's/^/    /' "$work/log"
    ;;
  esac
  [ -f "$work/report.json" ] && tr -d '\n' <"$work/report.json" >>"$out" && echo >>"$out"
}

for precision in f64 f32; do
  for file in "${WR_MATRICES:-none}"/real/*.mtx.gz; do
    [ -f "$file" ] || continue
    case ${file##*/} in
      *_b.mtx.gz | Franz6*) ;;
      cnr-2000* | NotreDame* | wiki-Vote* | polblogs* | luxembourg* | as-22july06*) solve pagerank $precision "$file" ;;
      *)
        solve bicgstab $precision "$file"
        rhs=${file%.mtx.gz}_b.mtx.gz
        [ -f "$rhs" ] && solve bicgstab $precision "$file" -b "$rhs"
        ;;
    esac
  done
  if [ "${SIZE:-full}" = full ]; then
    for graph in gen:road gen:web gen:rmat gen:hubs; do solve pagerank $precision $graph; done
    for system in gen:stencil gen:stencil:n=100,points=5 gen:fem gen:band; do solve bicgstab $precision $system; done
  else
    solve pagerank $precision gen:web:n=100000
    solve bicgstab $precision gen:stencil:n=40
  fi
done
exit $bad
