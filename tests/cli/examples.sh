#!/bin/sh
# The programs of examples/, against what formulas and a second method say. EXAMPLES: the folder they are in.
# Needs: programs examples
. tests/cli/lib.sh
EXAMPLES=${EXAMPLES:-$BUILD/examples}

example() { # name, arguments...
  name=$1
  shift
  call 0 "$EXAMPLES/$name" "$@"
}

agrees() { # awk program that exits 1 where the output is wrong
  awk "$1" "$out"
  expect 'the output is wrong'
}

# Rows are dominated by their diagonal by 1/2 at least, so the error is at most 2 ||b - A x|| <= 2e-12 ||b||.
solve_system() {
  example solve_system "$@"
  agrees '
    { for (i = 0; i < 1000; i++) {
        b = 2.5 * (i + 1) - (i > 0 ? 1.5 * i : 0) - (i < 999 ? 0.5 * (i + 2) : 0)
        sum += b * b
      }
      found = $1 == "converged" && $7 != "" && $7 < 2.1e-12 * sqrt(sum) }
    END { exit !found }'
}

# The power method once more, long enough to leave no more than rounding; what is printed is within 1e-12 of the scores.
rank_graph() {
  example rank_graph "$@"
  agrees '
    BEGIN {
      n = 6
      links = split("0 1,3 2,0 2,2 0,1 2,4 2,3 5,2 3", link, ",")
      for (k = 1; k <= links; k++) { split(link[k], end, " "); from[k] = end[1]; to[k] = end[2]; out[end[1]]++ }
      for (i = 0; i < n; i++) r[i] = 1 / n
      for (step = 0; step < 400; step++) {
        lost = 0
        for (i = 0; i < n; i++) if (!out[i]) lost += r[i]
        for (i = 0; i < n; i++) next_r[i] = (0.15 + 0.85 * lost) / n
        for (k = 1; k <= links; k++) next_r[to[k]] += 0.85 * r[from[k]] / out[from[k]]
        for (i = 0; i < n; i++) r[i] = next_r[i]
      }
    }
    { d = $3 - r[$2]; if ($1 != "page" || d > 2e-12 || d < -2e-12) wrong = 1 }
    END { exit NR != n || wrong }'
}

# Two sines, each an eigenvector, each step dividing it by 1 + 4 c sin^2(pi m / 400); in the middle they are 1 and -1. A step
# adds at most 1e-12 ||u before|| <= 1.5e-11 to the error, and ten digits are printed.
new_values() {
  example new_values "$@"
  agrees '
    BEGIN { pi = atan2(0, -1); one = 1; three = 1 }
    { one /= 1 + 4 * $2 * sin(pi / 400) ^ 2
      three /= 1 + 4 * $2 * sin(3 * pi / 400) ^ 2
      d = $5 - (one - three)
      allowed = 6e-11 + 1e-9 * (one - three)
      if ($3 != "converged" || d > allowed || d < -allowed) wrong = 1 }
    END { exit NR != 4 || wrong }'
}

# As many lines as sides, each with a residual that the host has verified.
several_sides() {
  example several_sides gen:convect:n=12 "$@"
  agrees '$1 != "side" || $2 != NR - 1 || $3 != "converged" || $5 > 1e-8 || $6 != "verified" { wrong = 1 }
    END { exit NR != 3 || wrong }'
  call 3 "$EXAMPLES/several_sides" /nonexistent/A.mtx
  says "$err" 'several_sides: /nonexistent/A.mtx'
}

own_backend() {
  example own_backend
  [ "$(cat "$out")" = "mine: y = $((2 * (1 * 5 + 2 * 6) + 10 * 1)) $((2 * (3 * 5) + 10 * 2))" ]
  expect 'the product is wrong'
}

for source in examples/*.c; do
  command=$source
  [ "$(wc -l <"$source")" -lt 60 ]
  expect 'it has 60 lines or more'
  grep -q "^$(basename "$source" .c)()" "$0"
  expect 'no test runs it'
done
solve_system
rank_graph
new_values
own_backend
several_sides
if has_card; then
  several_sides cuda
  solve_system cuda
  rank_graph cuda
  new_values cuda
else
  skip 4 'no GPU here'
fi
report
