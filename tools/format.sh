#!/bin/sh
# The layout of C and CUDA sources, as .clang-format describes it, except for what is laid out by hand: the column where a
# comment or a line's last backslash stands, tables (initialisers of several lines) and macros of several lines.
#   tools/format.sh able   succeeds when a clang-format is here that lays out as ours does; else prints why not
#   tools/format.sh list   the files that are out of shape, with the first line that differs
#   tools/format.sh fix    brings those lines into shape
set -u
here=$(dirname "$0")
version=14 # others lay out differently in details

find_tool() {
  for tool in ${CLANG_FORMAT:-} clang-format-$version clang-format; do
    if $tool --version 2>/dev/null | grep -q " version $version\."; then
      echo "$tool"
      return
    fi
  done
  return 1
}

# Fences off what is laid out by hand, by marks that clang-format obeys, and shortens comments that pass column 120 to their
# number, so that their length moves no code. unfence undoes both.
fence() {
  awk -v comments="$work/comments" '
    function off() { print "// clang-format off" }
    function on() { print "// clang-format on"; inside = 0 }
    BEGIN { printf "" >comments }
    length > 120 && /[^ ].*\/\*.*\*\/$/ && !/^ *\/?\*/ {
      at = match($0, /\/\*([^*]|\*+[^*\/])*\*+\/$/)
      if (at) {
        print substr($0, at) >comments
        $0 = substr($0, 1, at - 1) "/*@" ++count "*/"
      }
    }
    inside == 0 {
      if (/^ *# *define.*\\$/) inside = 1
      else if (/= (\([a-z_0-9 ]*\))?\{/ && !/\};/) inside = 2
      else if (/^(typedef )?enum( [a-z_]+)? \{/ && !/\}/) inside = 3
      else if (/^ *# *define/ || /WR_SHARED(_DYNAMIC)?\(/) inside = 4
      if (inside) off()
    }
    { print }
    inside == 1 && !/\\$/ || inside == 2 && /\};/ || inside == 3 && /^ *\}/ || inside == 4 { on() }'
}

unfence() {
  awk -v comments="$work/comments" '
    BEGIN { while ((getline line <comments) > 0) text[++n] = line }
    /^ *\/\/ clang-format o/ { next }
    match($0, /\/\*@[0-9]+\*\//) {
      $0 = substr($0, 1, RSTART - 1) text[substr($0, RSTART + 3, RLENGTH - 5) + 0] substr($0, RSTART + RLENGTH)
    }
    { print }'
}

without_columns() {
  sed -E 's/[ ]+(\/\*|\/\/)/ \1/g; s/[ ]+\*\/$/ *\//; s/[ ]+\\$/ \\/; s/^[ ]+(\/\*|\/\/)/\1/'
}

# $work/should := how clang-format lays the file out; $work/plan := for each line of the result, where it is from: "old LINE"
# when the file's own line is as good, else "new LINE".
compare() { # file
  fence <"$1" >"$work/fenced" # whole before unfence begins, which reads the comments
  $tool --style=file --assume-filename="$1" <"$work/fenced" | unfence >"$work/should"
  without_columns <"$1" >"$work/old"
  without_columns <"$work/should" >"$work/new"
  diff --old-line-format='' --unchanged-line-format='old %dn
' --new-line-format='new %dn
' "$work/old" "$work/new" >"$work/plan"
}

merge() { # file
  awk -v old="$1" -v new="$work/should" '
    BEGIN {
      while ((getline line <old) > 0) text["old", ++n] = line
      while ((getline line <new) > 0) text["new", ++m] = line
    }
    { print text[$1, $2] }' "$work/plan"
}

same_but_for_blanks() { # two files
  tr -d ' \n' <"$1" >"$work/first"
  tr -d ' \n' <"$2" | cmp -s "$work/first" -
}

if ! tool=$(find_tool); then
  echo "no clang-format $version here: $(sh "$here/deps.sh" --hint clang-format)"
  exit 1
fi
[ "${1:-}" != able ] || exit 0
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
sh "$here/sources.sh" '\.(c|h|cu|cuh|cpp)$' | while IFS= read -r path; do
  compare "$path" && continue
  if [ "${1:-}" = fix ]; then
    merge "$path" >"$work/merged"
    if same_but_for_blanks "$path" "$work/merged"; then
      cat "$work/merged" >"$path"
      echo "formatted $path"
    else
      echo "$path: clang-format would change more than blanks; left alone"
    fi
  else
    line=$(diff "$work/old" "$work/new" | sed -n '1s/^\([0-9]*\).*/\1/p')
    echo "$path:$line: not as clang-format lays it out"
  fi
done
