#!/bin/sh
# Begins a backend as a copy of another one: sh tools/new_backend.sh FROM NAME, from the repository root. Copies the files of
# FROM to spmv/backends/NAME, renames what is named after it, and adds a row to spmv/backends.def. All is checked before anything is
# written. docs/adding-a-backend.md says what comes next.
set -u
export LC_ALL=C
here=$(dirname "$0")
from=${1:-} name=${2:-}
table=spmv/backends.def
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
undo=
trap 'rm -rf "$work" $undo' EXIT
trap 'exit 1' HUP INT PIPE TERM

fail() {
  echo "new-backend: $*" >&2
  exit 1
}

rows() { sed -n 's/^WR_BACKEND(\([a-z0-9_]*\), *\([A-Z]*\),.*/\1 \2/p' $table; } # "name state" of every backend
state_of() { rows | awk -v name="$1" '$1 == name { print $2 }'; }
copyable() { # those with a file of their own
  rows | awk '$2 == "HOST" || $2 == "CUDA" { print $1 }' | while read -r one; do find spmv/backends -name "$one.c"; done |
    sed 's|.*/||; s|[.]c$||' | paste -s -d , | sed 's/,/, /g'
}

# The name takes part in names of files, functions and kernels.
check_name() {
  case $name in
    [!a-z]* | *[!a-z0-9_]*) fail "'$name' cannot be a backend's name: small letters, digits and _, a letter first" ;;
  esac
  case $name in
    *_format | *_build | *_kernel) fail "'$name' ends as the files of a backend do; choose another name" ;;
  esac
  [ ${#name} -le 24 ] || fail "'$name' has ${#name} letters; a backend's name has at most 24"
  [ -z "$(state_of "$name")" ] || fail "$table has a backend '$name' already"
  [ ! -e "spmv/backends/$name" ] || fail "spmv/backends/$name exists already; choose another name"
}

check_from() {
  state=$(state_of "$from")
  case $state in
    HOST | CUDA) ;;
    VENDOR) fail "$from runs kernels of a library; what can be copied: $(copyable)" ;;
    *) fail "there is no backend '$from'; what can be copied: $(copyable)" ;;
  esac
  source=$(find spmv -name "$from.c")
  [ -f "$source" ] || fail "$from shares its file with other backends; what can be copied: $(copyable)"
  family=$(dirname "$source")
}

# $work/files: the names of FROM's files. csr_warp_shared.c is of csr_warp_shared and not of csr_warp.
list_files() {
  rows | awk -v from="$from" 'index($1, from "_") == 1 { print $1 }' >"$work/others"
  find "$family" -type f \( -name "$from.*" -o -name "${from}_*.*" \) | sed 's|.*/||' | sort >"$work/alike"
  while read -r file; do
    while read -r other; do
      case $file in
        "$other".* | "${other}"_*) continue 2 ;;
      esac
    done <"$work/others"
    echo "$file"
  done <"$work/alike" >"$work/files"
}

# Renames what is named after FROM, whole words only: FROM, wr_FROM, wr_backend_FROM, WR_FROM_KERNEL_H and those with more
# behind them, unless they are another backend's. A word without _ may be one of English: in comments it stays, and in
# strings, unless the string begins with it.
rename_words() { # file
  awk -v from="$from" -v name="$name" -v family="$family" -v others="$work/others" -v files="$work/files" \
    -v changed="$work/changed" '
    BEGIN {
      while ((getline line <others) > 0) other[line] = 1
      while ((getline line <files) > 0) moved[family "/" line] = "spmv/backends/" name "/" name substr(line, length(from) + 1)
    }
    function is_named(word, after) { return word == after || index(word, after "_") == 1 }
    function renamed(word,   prefix, rest, small, o) {
      prefix = match(word, /^(wr_backend_|wr_|WR_)/) ? substr(word, 1, RLENGTH) : ""
      rest = substr(word, length(prefix) + 1)
      small = rest == toupper(rest) ? tolower(rest) : rest
      if (!is_named(small, from)) return word
      for (o in other) if (is_named(small, o)) return word
      if (word == from && from !~ /_/ && where != "code" && !first) return word
      small = name substr(small, length(from) + 1)
      rest = rest == toupper(rest) ? toupper(small) : small
      if (where == "code") print prefix rest >>changed
      return prefix rest
    }
    function step(   mark) { # takes from line what is no word, minds where a comment or a string begins or ends
      mark = substr(line, 1, 2)
      if (where == "code" && mark == "//") {
        where = "comment"
        to_end = 1
      } else if (where == "code" && mark == "/*") where = "comment"
      else if (where == "comment" && !to_end && mark == "*/") where = "code"
      else if (where == "code" && match(line, /^\047([^\047\\]|\\.)*\047/)) mark = substr(line, 1, RLENGTH)
      else if (where != "string" || mark !~ /^\\/) {
        mark = substr(mark, 1, 1)
        if (mark == "\"" && where != "comment") where = where == "string" ? "code" : "string"
      }
      line = substr(line, length(mark) + 1)
      first = mark == "\"" && where == "string"
      return mark
    }
    FNR == 1 { where = "code" }
    /^#include "/ {
      split($0, part, "\"")
      if (part[2] in moved) part[2] = moved[part[2]]
      print part[1] "\"" part[2] "\"" part[3]
      next
    }
    /^ *\.summary = ".*",$/ { sub(/".*"/, "\"begun as a copy of " from "\""); print; next }
    {
      line = $0
      text = ""
      while (line != "")
        if (match(line, /^[A-Za-z0-9_]+/)) {
          word = substr(line, 1, RLENGTH)
          line = substr(line, RLENGTH + 1)
          text = text renamed(word)
          first = 0
        } else text = text step()
      if (where == "string" || to_end) where = "code"
      to_end = 0
      print text
    }' "$1"
}

make_copies() {
  mkdir "$work/new"
  : >"$work/changed"
  sh "$here/sources.sh" >"$work/tree"
  while read -r file; do
    new=$name${file#"$from"}
    taken=$(grep -E "(^|/)$new\$" "$work/tree")
    [ -z "$taken" ] || fail "the name '$name' would need a file $new, and there is $taken"
    rename_words "$family/$file" >"$work/new/$new" || fail "$family/$file cannot be read"
  done <"$work/files"
}

words_of() { awk -f "$here/code_only.awk" "$@" | cut -f 3 | grep -v '^ *#include' | tr -cs 'A-Za-z0-9_' '\n' | sort -u; }

reserved='alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const constexpr
  continue decltype default delete do double else enum errno explicit export extern false float for friend goto if inline
  int long main mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
  requires restrict return short signed sizeof static stderr stdin stdout struct switch template this throw true try
  typedef typeid typename union unsigned using virtual void volatile while xor xor_eq'

# A name that the copy gets must not be one that it, or what it includes, has already; a public one must be new everywhere.
check_words() {
  sort -u "$work/changed" >"$work/new_words"
  # shellcheck disable=SC2046
  { # names of functions, and all that a file may see
    echo "$reserved" | tr -s ' ' '\n'
    (cd "$family" && cat $(cat "$work/files")) >"$work/own.c"
    words_of "$work/own.c" $(find config spmv tests/simt/include tests/simt/simt.h -name '*.h' -o -name '*.cuh')
    words_of $(find config spmv io data solvers tests -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh') | grep -i '^wr_'
  } | sort -u | comm -12 - "$work/new_words" >"$work/clash"
  [ ! -s "$work/clash" ] || fail "the name '$name' would give '$(head -n 1 "$work/clash")' a second meaning; choose another"
}

make_row() {
  awk -v from="$from" -v name="$name" -v state="$state" '
    { print }
    index($0, "WR_BACKEND(" from ",") == 1 { inside = 1; place = /WR_HOST/ ? "WR_HOST" : "WR_CUDA" }
    inside && /\)$/ {
      printf "WR_BACKEND(%s, %s, %s, \"begun as a copy of %s\")\n", name, state, place, from
      inside = 0
    }' $table >"$work/table"
  grep -q "^WR_BACKEND($name, " "$work/table" || fail "$table has no row of $from that ends with )"
}

write_all() {
  undo="spmv/backends/$name $table.new"
  if ! { mkdir "spmv/backends/$name" && cp "$work/new"/* "spmv/backends/$name" && cp "$work/table" $table.new && mv $table.new $table; }; then
    fail "spmv/backends/$name could not be written; nothing was changed"
  fi
  undo=
}

# Headers that a family shares are no backend's own, and no backend includes another folder's.
say_shared() {
  grep -n "#include \"$family/" "spmv/backends/$name"/* /dev/null | sed "s|^|  to be moved to spmv or copied: |"
}

say_next() {
  echo "$name is a copy of $from:"
  for file in "spmv/backends/$name"/*; do echo "  $file"; done
  echo "  $table: a row after that of $from"
  say_shared
  echo 'Next: change the kernel, the summary and the source, in the .c file and in the row, and now and then'
  if [ "$state" = CUDA ]; then
    echo "  make check TESTS='simt_conformance_small:$name simt_conformance_large:$name'"
    echo "  make && build/spmv -d cuda -k $name,$from gen:web    (on a card)"
  else
    echo "  make tests && build/tests/test_conformance_small $name && build/tests/test_conformance_large $name"
    echo "  make && build/spmv -k $name,$from gen:web:n=100000"
  fi
  echo '  make format lint check-deps'
  echo 'docs/adding-a-backend.md says what each function has to do.'
}

if [ -z "$from" ] || [ -z "$name" ]; then
  fail 'say what to copy and what to call it: make new-backend FROM=csr_warp NAME=mine'
fi
[ -f $table ] || fail "there is no $table here; run it from the repository root"
check_name
check_from
list_files
make_copies
check_words
make_row
write_all
say_next
