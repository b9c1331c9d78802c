#!/bin/sh
# A file that is changed while it is read: grown, cut short, written over, moved away. The error names it, the exit code is 3 and
# there is no output; an opened file is read to its end although another one takes its name.
. tests/cli/lib.sh
. tests/cli/common.sh

grow() { echo '1 1' >>"$1"; }
cut_short() { dd if=/dev/null of="$1" bs=1000 seek=3000; }
cut_to_nothing() { : >"$1"; }
write_over() { printf x | dd of="$1" bs=1 seek=2999999 conv=notrunc; }
write_same() { head -c 1 "$1" | dd of="$1" bs=1 conv=notrunc; } # the time of writing alone
replace() { echo 'something else' >"$1.new" && mv "$1.new" "$1"; }
remove() { rm "$1"; }

# Holds the program while it has the file open, and changes it.
meddle() { # change, file
  hold is_open "$2" || return
  "$1" "$2"
  echo "$1" >"$work/met"
  kill -s CONT "$process"
} 2>/dev/null

# Whether the run was that of a whole file.
was_whole() {
  [ "$code" = 2 ] && cmp -s "$folder/saved.wrm" "$file.whole"
}

# Changes the file while pagerank reads it. Tried again if pagerank has closed the file before it is held. Sets code.
meet() { # change, name of the file, options...
  change=$1 file=$work/$2
  shift 2
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    rm -rf "$folder" "$work/pid" "$work/met" && mkdir "$folder" && cp "$file.kept" "$file"
    meddle "$change" "$file" &
    known pagerank -n 2 -o "$folder/x.mtx" --save-binary "$folder/saved.wrm" "$@" "$file"
    wait
    if [ -e "$work/met" ]; then
      case $change in replace | remove) break ;; *) was_whole || break ;; esac
    fi
  done
  [ -e "$work/met" ] && return
  skip 1 "$change: this machine is too busy to meet the program while it reads"
  return 1
}

# The error begins with the file's name; most say that it was changed, some tell a defect of the new contents.
refused() { # change, file, text, options...
  sentence=$3
  change=$1 name=$2
  shift 3
  meet "$change" "$name" "$@" || return
  [ $code = 3 ]
  expect "$change: exit code $code, not 3"
  is_empty "$out"
  [ "$(wc -l <"$err")" = 1 ] && grep -q "^pagerank: $work/$name:.*$sentence" "$err"
  expect "$change: stderr is not one line that says '$sentence'"
  [ -z "$(ls -A "$folder")" ]
  expect "$change: something was written"
}

# The opened file is read, whatever its name leads to now.
unharmed() { # change, file
  meet "$1" "$2" || return
  was_whole
  expect "$1: exit code $code, or another matrix than that of the whole file"
}

awk 'BEGIN { print "%%MatrixMarket matrix coordinate pattern general\n1000000 1000000 1500000"
  for (k = 1; k <= 1500000; k++) print k % 1000000 + 1, 1000000 - k % 999983 }' >"$work/text.mtx.kept"
tail -n +3 "$work/text.mtx.kept" >"$work/list.tsv.kept"
run 2 pagerank -q -n 2 --save-binary "$work/text.mtx.whole" "$work/text.mtx.kept"
run 2 pagerank -q -n 2 --input-format edges --save-binary "$work/list.tsv.whole" "$work/list.tsv.kept"
run 2 pagerank -q -n 2 --save-binary "$work/saved.wrm.kept" gen:uniform:n=1000000,degree=12
cp "$work/saved.wrm.kept" "$work/saved.wrm.whole"

for name in text.mtx list.tsv; do
  for change in grow cut_short cut_to_nothing write_same; do
    refused $change $name 'changed while it was being read'
  done
  refused write_over $name ''
  refused cut_short $name 'changed while it was being read' --threads 2
done
for change in grow write_same; do refused $change saved.wrm 'changed while it was being read'; done
for change in cut_short cut_to_nothing; do refused $change saved.wrm 'while it was being read'; done
refused write_over saved.wrm ''
unharmed replace text.mtx
unharmed remove text.mtx
report
