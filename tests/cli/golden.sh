#!/bin/sh
# What the programs print, word by word, with numbers, times and names of machines blanked. After a wanted change
# make && UPDATE=1 sh tests/cli/golden.sh writes the texts anew, from the programs as they were built last: read the
# difference before it is committed.
. tests/cli/lib.sh

golden=tests/cli/golden

# One line for what the report has wrapped, blanks squeezed, every number a #, every unit its kind's first.
blanked() {
  awk '
    function flush() { if (have) print text; have = 0 }
    /^  (problem|residual|change|backend|advice|plan|bytes|verified|times|memory|why|broke off|seen|try|or|order) +/ { flush(); text = $0; have = 1; next }
    have && (match($0, /[^ ]/) == 3 || RSTART > 10) { text = text " " $0; next }
    { flush(); text = $0; have = 1 }
    END { flush() }' "$out" |
    sed -E 's/^  (residual|change) +[^ ]+  from/\1 SPARKLINE from/; s/^ +//; s/ +/ /g; s/ $//
      s/(^|[^a-z0-9_])[0-9]+(\.[0-9]+)?(e-?[0-9]+)?/\1#/g
      s/# (ns|us|ms|s)([,;:). !*]|$)/# s\2/g; s/# (k|M|G)?B([/,;:). ]|$)/# B\2/g
      s/ on .*, # threads?,/ on DEVICE,/
      s/ \((<?#%|from cache); the memory/ (#%; the memory/
      s/not available: ([a-z_, ]*): .*/not available: \1: WHY/
      s/ (-|<?#%|from cache) #x (-|never|# of #)$/ #% #x WHEN/
      s/^or a direct solver: .*--fallback direct.*/or a direct solver: --fallback direct/
      s/^.* gave its verified answer first: .*/FIRST BACKEND/
      s/^(no backend gave an answer that meets the tolerance); the multipl.*/\1; FASTEST MULTIPLY/'
}

compare() { # name; the text is in $work/text
  text=$golden/$1.txt
  [ -z "${UPDATE:-}" ] || cp "$work/text" "$text"
  diff "$text" "$work/text" >"$work/difference" 2>&1
  held=$?; expect "differs from $text: $(printf '\n' && cat "$work/difference")" "$held"
}

report_of() { # name, exit code, program, arguments...
  text=$1
  shift
  run "$@"
  blanked >"$work/text"
  compare "$text"
}

[ -z "${UPDATE:-}" ] || mkdir -p $golden
export COLUMNS=9999 # each paragraph is a line; tests/cli/width.sh looks at other widths
graph=gen:web:n=2000,dmax=50 system=gen:stencil:n=8
report_of pagerank_run 0 pagerank --verify full --top 3 -o "$work/scores.mtx" $graph
report_of bicgstab_run 0 bicgstab --verify full --repeat 2 --precond jacobi $system
report_of bicgstab_failed 2 bicgstab --verify sample:10 -n 2 tests/data/bad/array_symmetric.mtx
report_of pagerank_unverified 0 pagerank --verify off --top 0 $graph
report_of bicgstab_verbose 0 bicgstab --verify device -v $system
report_of pagerank_table 0 pagerank --verify full --top 2 -k cpu_csr,merbit,reference $graph
report_of bicgstab_table_failed 2 bicgstab --verify off -n 2 -k cpu_csr,reference,cusparse $system

report_of spmv_advise 0 spmv --advise --solves 3 gen:fem:n=8

run 0 pagerank --list-backends # what a backend needs, and why it is not available, depends on the machine
grep '^[a-z]' "$out" | sort >"$work/text"
compare list_backends
unset COLUMNS
for program in pagerank bicgstab spmv; do
  run 0 "$program" --help
  cp "$out" "$work/text"
  compare "${program}_help"
done
report
