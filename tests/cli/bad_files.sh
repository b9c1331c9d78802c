#!/bin/sh
# Each file of tests/data/bad through both programs: refused with exit code 3 and the line that EXPECTED.tsv names, or
# accepted with the sizes that it states. An accepted file may still be no graph and no solvable system.
. tests/cli/lib.sh

bad=tests/data/bad
negative='a negative value,* where none may be'
tab=$(printf '\t')

# No line is known where the stream itself breaks. A graph may have a negative weight on an earlier line.
check_refused() { # program, file, line
  run 3 "$1" "$bad/$2"
  is_empty "$out"
  place="$bad/$2:$3: "
  [ "$3" != - ] || place="$bad/$2: "
  grep -qF "$1: $place" "$err" || { [ "$1" = pagerank ] && grep -q "$negative" "$err"; }
  expect "stderr does not begin with '$1: $place'"
  [ "$(wc -l <"$err")" = 1 ]
  expect 'stderr has not one line'
}

check_accepted() { # program, file, rows, columns, nonzeros
  command="$1 $bad/$2"
  timeout 60 "$BUILD/$1" -d cpu "$bad/$2" <"$in" >"$out" 2>"$err"
  code=$?
  if [ "$3" != "$4" ]; then
    [ $code = 3 ] && grep -qF "$bad/$2: " "$err" && grep -qF "needs a square matrix, not $3 x $4" "$err"
    expect "exit code $code; it is not refused as a matrix of $3 x $4"
  elif [ "$1" = pagerank ] && grep -q "$negative" "$err"; then
    [ $code = 3 ] && grep -v '^%' "$bad/$2" | grep -q -e -
    expect "exit code $code; refused for a negative value that it does not have"
  else
    says "$out" "$3 x $4, $5 nonzero$([ "$5" = 1 ] || echo s)"
    echo "$code" | grep -qxE '0|2|5'
    expect "exit code $code, not 0, 2 or 5"
  fi
}

check_file() { # file, verdict, line, facts
  for program in bicgstab pagerank; do
    if [ "$2" = refuse ]; then
      check_refused "$program" "$1" "$3"
    else
      # shellcheck disable=SC2086
      check_accepted "$program" "$1" $4
    fi
  done
}

[ "$(find $bad -name '*.mtx*' | wc -l)" = "$(($(wc -l <$bad/EXPECTED.tsv) - 1))" ]
expect "not every file of $bad is in EXPECTED.tsv"
has_zlib && zlib=yes || zlib=
tail -n +2 $bad/EXPECTED.tsv >"$work/expected"
while IFS=$tab read -r file verdict line facts; do
  case $file in
    truncated.mtx.gz | gzip_content.mtx)
      if [ -z "$zlib" ]; then
        skip 2 'this build has no zlib'
        continue
      fi
      ;;
  esac
  check_file "$file" "$verdict" "$line" "${facts%% ;*}"
done <"$work/expected"
report
