#!/bin/sh
# The Python of docs/wrm.md reads what --save-binary writes, and finds damage.
. tests/cli/lib.sh

python=$(python_with 'numpy, xxhash')
$python -c 'import numpy, xxhash' 2>/dev/null || python=$(python_with 'numpy')

# reads.py FILE tells what it holds, and ||A x||^2 for x = 1 2 3 4 5 6 7 1 2 ...; reads.py FILE OTHER succeeds if each of some
# changed bytes is found, with the changed file as OTHER.
write_reader() {
  awk '/^```/ { inside = $0 == "```python"; next } inside' docs/wrm.md >"$work/read_wrm.py"
  cat >"$work/reads.py" <<'TXT'
import sys
import numpy as np
from read_wrm import read_wrm

def told(path):
    shape, row_ptr, col, val, ids, checked = read_wrm(path)
    x = np.arange(shape[1]) % 7 + 1.0
    y = np.zeros(shape[0])
    np.add.at(y, np.repeat(np.arange(shape[0]), np.diff(row_ptr)), (1 if val is None else val) * x[col])
    print(shape[0], shape[1], len(col), "pattern" if val is None else "real", *(["-"] if ids is None else [ids[0], ids[-1]]),
          "sum", float(y @ y), "checked" if checked else "unchecked")

if len(sys.argv) == 2:
    told(sys.argv[1])
else:
    raw = bytearray(open(sys.argv[1], "rb").read())
    used = [8, 20, 24, 40, 56, 70, 80, 168, 4095, 4096, 4104] + list(range(8192, len(raw), 4096))
    for at in used:
        changed = bytearray(raw)
        changed[at] ^= 1
        open(sys.argv[2], "wb").write(changed)
        try:
            read_wrm(sys.argv[2])
        except ValueError:
            continue
        sys.exit("byte %d is damaged, and the file is read" % at)
TXT
}

test_file() { # saved, what it holds, whether its checksums are compared
  command="read_wrm $1"
  PYTHONPATH=$work $python "$work/reads.py" "$1" >"$out" 2>"$err"
  grep -q "^$2 $3\$" "$out"
  expect "what it holds is not '$2 $3'"
}

write_reader
if ! $python -c 'import numpy' 2>/dev/null; then
  skip 7 "docs/wrm.md needs numpy: $(sh tools/deps.sh --hint numpy)"
  report
  exit
fi
checked=checked
$python -c 'import xxhash' 2>/dev/null || checked=unchecked
matrix graph.mtx 'coordinate pattern general' '3 3 3' '1 2' '2 3' '3 3'
run 0 pagerank -q --save-binary "$work/graph.wrm" "$work/graph.mtx"
test_file "$work/graph.wrm" '3 3 3 pattern - sum 22.0' "$checked"
printf '30 7 0.5\n7 1000 2\n' >"$work/list.txt"
run 0 pagerank -q --save-binary "$work/list.wrm" "$work/list.txt"
test_file "$work/list.wrm" '3 3 2 real 7 1000 sum 36.25' "$checked"
# Of a stencil of 64^3 with constant coefficients: several pieces of each section.
run 2 bicgstab -q -n 1 --save-binary "$work/large.wrm" gen:stencil:n=64
test_file "$work/large.wrm" '262144 262144 1810432 real - sum .*' "$checked"
test_file tests/data/binary/version_1.wrm '4 4 5 real 2 4000000000000 sum 185.0' unchecked
if [ $checked = unchecked ]; then
  skip 2 "no xxhash for Python here: damage is not found by sums"
else
  for name in list graph; do PYTHONPATH=$work call 0 $python "$work/reads.py" "$work/$name.wrm" "$work/changed.wrm"; done
fi
report
