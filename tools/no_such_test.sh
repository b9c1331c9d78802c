#!/bin/sh
# Says for each name of TESTS= that no test has, which test's name is closest; always fails.
#   no_such_test.sh 'NAMES ASKED FOR' NAMES OF ALL TESTS...
asked=$1
shift
printf '%s\n' "$@" | awk -v asked="$asked" '
  # How many letters are put in, left out or replaced to make one word the other.
  function distance(a, b,   i, j, row, before, above) {
    for (j = 0; j <= length(b); j++) row[j] = j
    for (i = 1; i <= length(a); i++) {
      before = row[0]
      row[0] = i
      for (j = 1; j <= length(b); j++) {
        above = row[j]
        before += substr(a, i, 1) != substr(b, j, 1)
        if (above + 1 < before) before = above + 1
        if (row[j - 1] + 1 < before) before = row[j - 1] + 1
        row[j] = before
        before = above
      }
    }
    return row[length(b)]
  }
  { tests[NR] = $0 }
  END {
    count = split(asked, names, " ")
    for (n = 1; n <= count; n++) {
      least = names[n] ~ /%/ ? 0 : length(names[n]) # as far as from no letters at all; a pattern is close to nothing
      closest = ""
      for (k = 1; k <= NR; k++)
        if ((d = distance(names[n], tests[k])) < least) {
          least = d
          closest = tests[k]
        }
      printf "no such test: %s%s\n", names[n], closest == "" ? "" : " (the closest name is " closest ")"
    }
  }' >&2
echo "make list-tests lists the names for this build; without CUDA or with SHIM=0 there are fewer" >&2
exit 1
