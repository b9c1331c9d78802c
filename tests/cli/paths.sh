#!/bin/sh
# What a command line names twice: an output that would replace an input or another output is refused with exit 1 before
# anything is read, by whatever name or link it is given. Outputs behind symbolic links.
. tests/cli/lib.sh

folder=$work/folder
mkdir "$folder" "$folder/sub"
ln -s folder "$work/alias"
matrix folder/g.mtx 'coordinate pattern general' '3 3 4' '1 2' '1 3' '2 1' '3 1'
matrix folder/A.mtx 'coordinate real general' '2 2 3' '1 1 2' '1 2 1' '2 2 4'
matrix folder/v.mtx 'array real general' '2 1' 4 8
matrix folder/w.mtx 'array real general' '3 1' 4 8 2
printf '1\t2\n2\t1\n' >"$folder/in.tsv"
echo 'precision = f32' >"$folder/my.conf"
echo "$folder/A.mtx" >"$folder/list.txt"
ln "$folder/g.mtx" "$folder/hard.mtx"
ln -s g.mtx "$folder/soft.mtx"
cp -R "$folder" "$work/before"
# An output that does not exist, for which the tests have several names.
free=$folder/out.mtx

untouched() {
  same 'inputs and outputs' "$work/before/$1" "$folder/$1"
}

# Both names are in the sentence, and the folder is as it was.
conflict() { # text, text, program, arguments...
  first=$1 second=$2
  shift 2
  refuses 1 "$first" "$@"
  says "$err" "$second"
  diff -r "$work/before" "$folder" >"$work/diff"
  held=$?; expect "the folder has changed: $(cat "$work/diff")" "$held"
}

check_outputs_meet() {
  ln -s "$free" "$work/to_free"
  for other in "$free" "$folder/./out.mtx" "$folder/sub/../out.mtx" "$work/alias/out.mtx" "$work/to_free"; do
    conflict "--output $free" "--json $other" pagerank -o "$free" --json "$other" "$folder/g.mtx"
    conflict "--json $other" "--save-binary $free" bicgstab --json "$other" --save-binary "$free" "$folder/A.mtx"
  done
  conflict "--output $folder/g.mtx" "--history $folder/hard.mtx" \
    pagerank -o "$folder/g.mtx" --history "$folder/hard.mtx" gen:chain:scale=1
  conflict '--json' 'is the same file' spmv -k cpu_csr --json "$folder/hard.mtx" "$folder/A.mtx" "$folder/g.mtx"
  command='two outputs by names that are relative'
  (cd "$folder" && "$BUILD/pagerank" -d cpu -o out.mtx --json ./out.mtx g.mtx >"$out" 2>"$err")
  [ $? = 1 ] && [ ! -e "$free" ]
  expect 'out.mtx and ./out.mtx are not refused'
  mkfifo "$work/pipe"
  refuses 1 'are the same file' pagerank -o "$work/pipe" --json "$work/alias/../pipe" "$folder/g.mtx"
}

check_inputs_stay() {
  for name in g.mtx ./g.mtx hard.mtx soft.mtx; do
    conflict "--output $folder/$name" "the matrix $folder/g.mtx" pagerank -o "$folder/$name" "$folder/g.mtx"
  done
  conflict "--save-binary $folder/in.tsv" "the matrix $folder/in.tsv" \
    pagerank --save-binary "$folder/in.tsv" "$folder/in.tsv"
  conflict "--history $folder/v.mtx" "--rhs-file $folder/./v.mtx" \
    bicgstab -b "$folder/./v.mtx" --history "$folder/v.mtx" "$folder/A.mtx"
  conflict "--output $folder/v.mtx" "--guess $folder/v.mtx" \
    bicgstab -x "$folder/v.mtx" -o "$folder/v.mtx" "$folder/A.mtx"
  conflict "--json $folder/w.mtx" "--personalize $folder/w.mtx" \
    pagerank --personalize "$folder/w.mtx" --json "$folder/w.mtx" "$folder/g.mtx"
  conflict "--output $folder/my.conf" "--config $folder/my.conf" \
    pagerank --config "$folder/my.conf" --format mtx -o "$folder/my.conf" "$folder/g.mtx"
  for name in A.mtx list.txt; do
    conflict "--json $folder/$name" "$folder/$name, which is the same file" \
      spmv -k cpu_csr --json "$folder/$name" "@$folder/list.txt"
  done
  conflict "--json $folder/my.conf" "--config $folder/my.conf" \
    spmv --config "$folder/my.conf" -p f64 --json "$folder/my.conf" "$folder/A.mtx"
  in=$folder/g.mtx
  conflict "--output $folder/hard.mtx" 'the matrix -' pagerank -o "$folder/hard.mtx" -
  in=/dev/null
  conflict '--output' 'the matrix' pagerank -o "$folder/none.mtx" "$folder/none.mtx" # neither is there
}

# Standard output that was opened to a file of the command line.
check_standard_output() {
  for arguments in "$folder/g.mtx" "-o - $folder/g.mtx" "--json /dev/stdout $folder/g.mtx" "-q -o - $folder/hard.mtx"; do
    command="pagerank $arguments >>g.mtx"
    # shellcheck disable=SC2086
    "$BUILD/pagerank" -d cpu $arguments >>"$folder/g.mtx" 2>"$err"
    [ $? = 1 ]
    expect 'is not refused'
    says "$err" 'would overwrite the matrix'
    untouched g.mtx
  done
  command='a report to a file that holds the answer too'
  "$BUILD/pagerank" -d cpu -o "$folder/mixed" "$folder/g.mtx" >"$folder/mixed" 2>"$err"
  [ $? = 0 ] && [ "$(values "$folder/mixed" | wc -l)" = 3 ]
  expect 'the answer is not alone in its file'
  says "$err" 'converged in'
  command='an answer and a report to one file'
  "$BUILD/pagerank" -d cpu -o "$folder/mixed" --json - "$folder/g.mtx" >"$folder/mixed" 2>"$err"
  [ $? = 1 ]
  expect 'is not refused'
  says "$err" 'can go to standard output'
  rm "$folder/mixed"
}

check_shared_devices() {
  run 0 pagerank -q -o /dev/null --json /dev/null --history /dev/null "$folder/g.mtx"
  command='a pipe as input and output'
  cat "$folder/g.mtx" | "$BUILD/pagerank" -q -d cpu -o - - 2>"$err" | cat >"$out"
  [ "$(values "$out" | wc -l)" = 3 ]
  expect 'three scores did not come out of the pipe'
}

# What a link leads to is created or replaced, and the link stays a link.
check_links() {
  ln -s "sub/new.mtx" "$folder/dangling.mtx"
  ln -s dangling.mtx "$folder/twice.mtx"
  for round in created replaced; do
    run 0 pagerank -q -o "$folder/twice.mtx" "$folder/g.mtx"
    [ -L "$folder/twice.mtx" ] && [ -L "$folder/dangling.mtx" ] && [ -f "$folder/sub/new.mtx" ] &&
      [ "$(values "$folder/sub/new.mtx" | wc -l)" = 3 ]
    expect "what a link leads to is not $round, or the link is gone"
    echo old >"$folder/sub/new.mtx"
  done
  run 0 bicgstab -q --json "$folder/dangling.mtx" "$folder/A.mtx"
  [ -L "$folder/dangling.mtx" ] && grep -q '"program": "bicgstab"' "$folder/sub/new.mtx"
  expect 'the report is not where the link leads'
  ln -s loop "$folder/loop"
  ln -s "$work/no/folder/x" "$folder/nowhere"
  refuses 8 "$folder/loop: cannot " pagerank -o "$folder/loop" "$folder/g.mtx"
  refuses 8 "$folder/nowhere: cannot create it: No such file or directory" pagerank -o "$folder/nowhere" "$folder/g.mtx"
  [ -L "$folder/loop" ] && [ -L "$folder/nowhere" ]
  expect 'a link is gone'
}

check_outputs_meet
check_inputs_stay
check_standard_output
check_shared_devices
check_links
report
