#!/bin/sh
# Looks for what the tree must not contain. Every rule is one check; a finding is `file:line: what: the line`.
# A rule: name, where it applies, the rooms where it is allowed (both patterns of paths), the pattern in code.
# Needs: nothing
set -u
here=$(dirname "$0")
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

sh "$here/sources.sh" '\.(c|h|cu|cuh|cpp|def)$' >"$work/c_files"
sh "$here/sources.sh" '\.(c|h|cu|cuh|cpp|def|sh|awk|py|mk|md|conf)$' '^Makefile$' '^\.ci/run$' | grep -v '^tests/data/[a-z]*/' \
  >"$work/text_files"
xargs awk -f "$here/code_only.awk" <"$work/c_files" >"$work/code"

verdict() { # rule; findings in $work/found
  if [ -s "$work/found" ]; then
    failed=$((failed + 1))
    sed "s|^|lint: $1: |" "$work/found" >&2
  else
    passed=$((passed + 1))
  fi
}

code_rule() { # name, where, allowed in, pattern
  WHERE=$2 ROOM=$3 PATTERN=$4 awk -F'\t' '$1 ~ ENVIRON["WHERE"] && $1 !~ ENVIRON["ROOM"] && $3 ~ ENVIRON["PATTERN"] {
    print $1, $2 }' "$work/code" >"$work/places" || echo 'this-rule-does-not-work 0' >>"$work/places"
  while read -r path line; do
    echo "$path:$line: $(sed -n "${line}s/^ *//p" "$path")"
  done <"$work/places" >"$work/found"
  verdict "$1"
}

call() { echo "(^|[^A-Za-z0-9_.>])($1) *[(]"; } # a call of one of these names
word() { echo "(^|[^A-Za-z0-9_])($1)([^A-Za-z0-9_]|\$)"; }

ours='^(config|spmv|io|data|solvers)/'
# Where comments, messages and pages are held to the rule of plain words; . for everywhere.
plain_rooms='.'
mains='(_main|solvers/program/(program|process))[.]c$'
nowhere='^$'

code_rules() {
  code_rule 'memory is had from wr_alloc' "$ours" '^config/memory[.]c$' \
    "$(call 'malloc|calloc|realloc|reallocarray|free|strdup|strndup|asprintf|vasprintf|posix_memalign|aligned_alloc|alloca')"
  code_rule 'device memory is had in spmv/device' "$ours" '^spmv/device/' \
    "$(call 'cuda(Malloc|Free|Host|MemPool)[A-Za-z0-9]*')"
  code_rule 'errors are returned; main files alone exit' "$ours" "$mains" "$(call 'exit|_exit|quick_exit|abort|assert')"
  code_rule 'text becomes a number in io and option.c' "$ours" '^(io/|config/option)' \
    "$(call 'strto(d|f|ld|l|ll|ul|ull|imax|umax)|ato(i|l|ll|f)|v?f?s?scanf')"
  code_rule 'main files and reports alone print' "$ours" "$mains|^solvers/(report|progress)" \
    "$(call 'printf|vprintf|puts|putchar|perror')|$(word 'f(printf|puts|putc|write)').*$(word 'stdout|stderr')"
  code_rule 'calls that cannot be bounded' . "$nowhere" \
    "$(call 'gets|strcpy|strcat|sprintf|vsprintf|stpcpy|strtok|tmpnam|mktemp|system|popen')"
  code_rule 'numbers do not depend on the locale' . "$nowhere" "$(call 'setlocale|uselocale')"
  code_rule 'chance comes from our own generator' "$ours" "$nowhere" "$(call 'rand|srand|random|srandom|drand48')"
  code_rule 'launches go through launch.cuh' . '^spmv/kernel/launch[.]cuh$' '<<<'
  code_rule 'shared arrays are made by launch.cuh' . '^spmv/kernel/launch[.]cuh$' '__shared__'
  code_rule 'assembly stays in spmv/kernel' . '^spmv/kernel/|^spmv/steps/step_math[.]h$|^tests/simt/simt_switch[.]h$' "$(word 'asm|__asm__|__asm')"
  code_rule 'no queries of active lanes, no grid-wide groups' . "$nowhere" \
    "__activemask|cooperative_groups|$(word 'cudaLaunchCooperativeKernel|__cluster_dims__')"
  code_rule 'tensor-core calls stay in spmv/kernel' . '^spmv/kernel/' "$(word 'wmma|nvcuda')"
  code_rule 'no global state' "$ours" "$mains" '^(static )?(volatile )?[a-z_0-9]+_t [*]*[a-z_0-9]+(\[.*\])?( = .*)?;$'
  code_rule 'no global state' "$ours" "$mains" \
    '^(static )?(volatile )?(wr_[a-z_0-9]+|int|char|long|float|double|void) [*]*[a-z_0-9]+(\[.*\])?( = .*)?;$'
}

text_rule() { # name, pattern
  xargs grep -nE "$2" /dev/null <"$work/text_files" >"$work/found"
  verdict "$1"
}

# Code ends by column 120; comments, which tables of members push to the right, by 128.
line_rules() {
  text_rule 'work left over' '(^|[^A-Za-z])([T]ODO|[F]IXME)([^A-Za-z]|$)|not implement[e]d'
  text_rule 'blanks at the end of a line' '[[:space:]]$'
  grep -v '^Makefile$' "$work/text_files" | xargs grep -n "$(printf '\t')" /dev/null >"$work/found"
  verdict 'tabs'
  xargs awk 'length > 128 { print FILENAME ":" FNR ": " length " columns" }' <"$work/c_files" >"$work/found"
  awk -F'\t' '{ sub(/ +(\\)?$/, "", $3) } length($3) > 120 { print $1 ":" $2 ": code beyond column 120" }' "$work/code" \
    >>"$work/found"
  verdict 'long lines'
  while IFS= read -r path; do
    [ -z "$(tail -c 1 "$path")" ] || echo "$path: no newline at the end"
  done <"$work/text_files" >"$work/found"
  verdict 'last line'
}

name_rules() {
  sh "$here/sources.sh" | grep -vE '^tests/data/[a-z]*/|(^|/)(README[.]md|\.[^/]*)$' | awk -F/ '{ if ($NF in first) {
    print $0 ": the name of " first[$NF] }; first[$NF] = $0 }' >"$work/found"
  verdict 'file names are unique'
}

# A function with the label done frees something there, past which PASS would return.
exit_rule() {
  WHERE=$ours awk -F'\t' '$1 ~ ENVIRON["WHERE"] {
    if ($3 ~ /^}/) place = ""
    if ($3 ~ /(^|[^A-Za-z0-9_])PASS *[(]/ && place == "") place = $1 ":" $2
    if ($3 ~ /^ *done:/ && place != "") print place ": PASS returns past the label done" }' "$work/code" >"$work/found"
  verdict 'one exit where something is freed'
}

# Headers of one name for two types cannot be included together.
type_rule() {
  WHERE=$ours awk -F'\t' '$1 ~ ENVIRON["WHERE"] && match($3, /(struct|enum|union) +wr_[a-z_0-9]+ *[{]/) {
    split(substr($3, RSTART, RLENGTH), part, / +|[{]/)
    if (part[2] in first) print $1 ":" $2 ": " part[2] " is the name of a type of " first[part[2]]
    else first[part[2]] = $1 }' "$work/code" >"$work/found"
  verdict 'type names are unique'
}

layout_rule() {
  if reason=$(sh "$here/format.sh" able); then
    sh "$here/format.sh" list >"$work/found"
    verdict 'layout (make format)'
  else
    skipped=$((skipped + 1))
    echo "[layout] skipped: $reason" >&2
  fi
}

# A sentence has a function, a thread, an array, a kernel or a user as its subject, and can be understood alone.
word_rule() {
  words='[w]ho(ever|m)?|([n]o|[s]ome|[e]very|[a]ny)body|[w]ish(es|ed)?|[o]n (its|their) way|[n]ot there yet'
  grep -E "$plain_rooms" "$work/text_files" | xargs grep -niE "(^|[^a-z0-9_.>*-])($words|[b]ehind (our|its|their) back)([^a-z0-9_]|\$)" \
    /dev/null >"$work/found"
  verdict 'plain words'
}

page_rule() {
  : >"$work/found"
  [ ! -e docs/api.md ] || sh "$here/api_page.sh" check 2>"$work/found"
  verdict 'made of the headers'
}

code_rules
line_rules
word_rule
name_rules
exit_rule
type_rule
layout_rule
page_rule
echo "lint: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
