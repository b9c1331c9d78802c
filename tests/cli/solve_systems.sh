#!/bin/sh
# tests/bench/systems.sh: what it finds out about systems, how it judges answers, and programs that lie, crash, hang or refuse.
. tests/cli/lib.sh

if ! command -v python3 >/dev/null; then
  skip 1 'python3 is missing, which solves and judges systems'
  report
fi

solves() { # exit code, arguments of the script
  wanted=$1
  shift
  rm -f "$work/lines" "$work/page"
  call "$wanted" sh tests/bench/systems.sh --json "$work/lines" --markdown "$work/page" "$@"
}

# An expression of Python over s, the systems by name as the lines have them, and v, a function: system, command line -> solve.
holds() {
  python3 - "$work/lines" "$1" <<'end'
import json, sys
s = {r["system"]: r for r in map(json.loads, open(sys.argv[1]))}
def v(system, options):
    return next(f for f in s[system]["solves"] if f["options"] == options)
sys.exit(not eval("(" + sys.argv[2] + ")"))
end
  expect "not so: $1"
}

folder=$work/some
mkdir "$folder"
printf '%%%%MatrixMarket matrix coordinate real general\n%% a comment\n2 2 3\n1 1 4\n1 2 -1\n2 2 0.5\n' >"$folder/plain.mtx"
printf '%%%%MatrixMarket matrix coordinate integer symmetric\n3 3 4\n1 1 2\n2 1 1\n3 2 1\n3 3 200\n' | gzip >"$folder/mirror.mtx.gz"
printf '%%%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n' >"$folder/skew.mtx"
printf '%%%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n' >"$folder/graph.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n' >"$folder/wide.mtx"
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n1\n' >"$folder/vector.mtx"
printf 'no matrix\n' >"$folder/text.txt"

# ---- what is found ----

solves 0 --program "$BUILD/bicgstab" "$folder" gen:aniso:n=20,ratio=8 gen:saddle:n=3
holds 'sorted(s) == ["gen:aniso:n=20,ratio=8", "gen:saddle:n=3", "mirror", "plain", "skew"]'
holds '[(s[k]["n"], s[k]["nnz"], s[k]["symmetric"], s[k]["zero_diagonals"]) for k in ("plain", "mirror", "skew")] ==
  [(2, 3, False, 0), (3, 6, True, 1), (2, 2, False, 2)]'
holds 's["plain"]["row_spread"] == 8 and s["mirror"]["row_spread"] == 200 and s["plain"]["set"] == "some"'
holds '[(s[k]["n"], s[k]["nnz"], s[k]["symmetric"], s[k]["zero_diagonals"], s[k]["set"]) for k in s if k[:4] == "gen:"] ==
  [(400, 1920, True, 0, "generated"), (27, 126, True, 9, "generated")]'
holds 'all(len(r["solves"]) == 3 and not any(f["false_claim"] for f in r["solves"]) for r in s.values())'
holds 'all(f["solved"] and f["exit"] == 0 and f["residual"] <= 1e-8 and f["time_s"] > 0 for k in ("plain", "gen:aniso:n=20,ratio=8")
  for f in s[k]["solves"])'
# the residual is what the program verified, to two digits; for [4 -1; 0 1/2], ||A^-1|| < 2.1 and ||b|| < 3.05
holds 'all(abs(f["residual"] - f["reported_residual"]) <= 0.01 * f["residual"] for f in s["gen:aniso:n=20,ratio=8"]["solves"])'
holds 'all(f["forward_error"] <= 2.1 * 3.05e-8 for f in s["plain"]["solves"])'
says "$work/page" 'solved of 5' 'some, 3' 'generated, 2' '`--precond jacobi`' '`default`' 'any of them' 'graph (no values)' \
  'wide (2 x 3)' 'vector (an array)' '| mirror | 3 | 6 | symmetric | 1 | 200 |'
says "$out" 'solved of 5'
! grep -qF "$work" "$work/page" "$work/lines"
expect 'a path of this machine is in what was written'

solves 0 --program "$BUILD/bicgstab" --patterns --precision f32 --runs 3 --variant '-t 1e-3' --variant '--precond jacobi -t 1e-4' \
  "$folder/plain.mtx" "$folder/graph.mtx"
holds 'list(s) == ["plain", "graph"] and [f["tolerance"] for f in s["plain"]["solves"]] == [1e-3, 1e-4]'
holds 'all(f["solved"] for r in s.values() for f in r["solves"])'

# ---- programs that are not what they should be ----

fake() { # name, text after the arguments' meaning
  {
    echo '#!/bin/sh'
    echo 'all="$*"; while [ $# -gt 0 ]; do case $1 in --json) json=$2 ;; -o) x=$2 ;; esac; shift; done'
    echo "$2"
  } >"$work/$1"
  chmod +x "$work/$1"
}

fake liar "'$BUILD/bicgstab' \$all -t 0.5 || exit; sed -i 's/\"tolerance\": 0.5/\"tolerance\": 1e-8/' \"\$json\""
solves 1 --program "$work/liar" --variant '' "$folder/plain.mtx" gen:aniso:n=20
holds 'v("gen:aniso:n=20", "")["false_claim"] and not v("gen:aniso:n=20", "")["solved"]'
holds 'v("gen:aniso:n=20", "")["outcome"] == "false claim" and v("gen:aniso:n=20", "")["residual"] > 1e-8'
says "$work/page" 'answers with exit 0' '2 false claim'

fake mute "'$BUILD/bicgstab' \$all && rm -f \"\$x\""
solves 1 --program "$work/mute" --variant '' "$folder/plain.mtx"
holds 'v("plain", "")["false_claim"]'

fake crash 'kill -SEGV $$'
solves 1 --program "$work/crash" --variant '' "$folder/plain.mtx"
holds 'v("plain", "")["outcome"] == "signal 11"'

fake refuse 'echo "refuse: the diagonal element of row 1 is 0" >&2; exit 3'
solves 0 --program "$work/refuse" --variant '' "$folder/plain.mtx"
holds 'v("plain", "")["outcome"] == "refused" and v("plain", "")["exit"] == 3 and "row 1 is 0" in v("plain", "")["message"]'

fake hang 'exec sleep 100'
solves 0 --program "$work/hang" --limit 0.2 --variant '' "$folder/plain.mtx"
holds 'v("plain", "")["outcome"] == "time limit" and not v("plain", "")["solved"]'

solves 1 --program "$BUILD/bicgstab" --variant '--precnd none' "$folder/plain.mtx"
says "$err" 'precond'
solves 1 --program "$BUILD/bicgstab" gen:anso
says "$err" 'aniso'
solves 1 --program "$BUILD/bicgstab" "$folder/vector.mtx"
says "$err" 'nothing to solve' 'vector: an array'

# ---- the judge, on numbers where rounding would decide ----

cat >"$work/judge.py" <<'end'
import math, sys
sys.path.insert(0, "tests/bench")
from systems import Matrix, judge, norm
three = Matrix(1, [([0], [3.0])], True)
x = [1 - 2.0**-53]  # the residual is 3 * 2^-53, and 3 x is no double
checks = [
    judge(three, [3.0], x, 2.0**-53)["met"], not judge(three, [3.0], x, 0.999 * 2.0**-53)["met"],
    judge(three, [3.0], [1.0], 0.0)["met"], not judge(three, [3.0], [math.nan], 1.0)["met"],
    not judge(three, [3.0], [], 1.0)["met"], not judge(three, [3.0], [1e308], 0.5)["met"],
    judge(three, [3.0], [2.0], 1.0) == {"residual": 1.0, "backward_error": 3 / 9, "forward_error": 1.0, "met": True},
    judge(Matrix(2, [([0, 1], [1e16, -1e16]), ([1], [1.0])], False), [0.0, 1.0], [1.0, 1.0], 0.0)["met"],
    norm([3e300, 4e300]) == 5e300 and norm([3e-300, 4e-300]) == 5e-300 and norm([]) == 0 and math.isnan(norm([math.inf])),
]
print([k for k, right in enumerate(checks) if not right])
sys.exit(not all(checks))
end
call 0 env PYTHONDONTWRITEBYTECODE=1 python3 "$work/judge.py"

report
