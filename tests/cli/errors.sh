#!/bin/sh
# What is refused, with which exit code and in which words: usage (1), input (3), not available (4).
. tests/cli/lib.sh

matrix graph.mtx 'coordinate pattern general' '3 3 4' '1 2' '1 3' '2 1' '3 1'
matrix wide.mtx 'coordinate real general' '2 3 1' '1 1 1'
matrix negative.mtx 'coordinate real general' '% weights' '3 3 2' '1 2 1' '2 3 -0.5'
matrix repeated.mtx 'coordinate real general' '2 2 2' '1 1 1e308' '1 1 1e308'
matrix no_diagonal.mtx 'coordinate real general' '2 2 2' '1 2 1' '2 1 1'
matrix two.mtx 'array real general' '2 1' 1 2
matrix zeros.mtx 'array real general' '3 1' 0 0 0
matrix minus.mtx 'array real general' '3 1' 1 -2 3
graph=$work/graph.mtx

# The sentence, and the line that points to --help.
misuse() { # text, program, arguments...
  refuses 1 "$@"
  [ $code = 1 ] || return
  grep -qx "$2 --help shows the options" "$err"
  expect 'stderr does not point to --help'
}

check_command_line() { # program
  misuse 'no matrix is given' "$1"
  misuse "one matrix at a time, or a list of them (@LIST): 'more.mtx' is too many" "$1" "$graph" more.mtx
  misuse '--toleranse: unknown option (did you mean --tolerance?)' "$1" --toleranse 1e-3 "$graph"
  misuse '--frobnicate: unknown option (--help lists the options)' "$1" --frobnicate "$graph"
  misuse '-Z: unknown option' "$1" -Z "$graph"
  misuse '--ver: ambiguous, one of --verify, --verbose, --version' "$1" --ver "$graph"
  misuse '--tolerance: needs a value' "$1" "$graph" -t
  misuse '--verbose and --quiet contradict each other' "$1" -v -q "$graph"
  misuse '--verbose: '\''maybe'\'' is neither yes nor no' "$1" --verbose=maybe "$graph"
  misuse '--config: given twice' "$1" --config a.conf --config b.conf "$graph"
}

check_ranges() { # program
  misuse '--tolerance: -1 is not in [0, 1)' "$1" -t -1 "$graph"
  misuse '--tolerance: 1 is not in [0, 1)' "$1" -t 1 "$graph"
  misuse "--tolerance: 'nan' is not a number" "$1" -t nan "$graph"
  misuse "--tolerance: '1e-3x' is not a number" "$1" -t 1e-3x "$graph"
  misuse "--tolerance: '' is not a number" "$1" -t '' "$graph"
  misuse '--tolerance: 1e-400 is too small for a double' "$1" -t 1e-400 "$graph"
  misuse '--max-iterations: 1.5 is not a whole number' "$1" -n 1.5 "$graph"
  misuse '--max-iterations: -3 is not in [0, 1e15]' "$1" -n -3 "$graph"
  misuse '--check-every: -1 is not in [0, 1e6]' "$1" --check-every -1 "$graph"
  misuse '--threads: 4097 is not in [0, 4096]' "$1" --threads 4097 "$graph"
  misuse '--repeat: 0 is not in [1, 1e6]' "$1" --repeat 0 "$graph"
  misuse '--repeat: 99999999999999999999 is not in [1, 1e6]' "$1" --repeat 99999999999999999999 "$graph"
}

check_choices() { # program
  precisions='f32|f64'
  [ "$1" = bicgstab ] || precisions='f32|f64|mixed'
  misuse "--precision: 'f46' is not one of $precisions (did you mean 'f64'?)" "$1" -p f46 "$graph"
  misuse "--precision: 'half' is not one of $precisions" "$1" -p half "$graph"
  for device in gpu cuda: cuda:-1 cuda:x cuda:9999999999 ''; do
    misuse "--device: '$device' is none of cpu, cuda, cuda:N, auto" "$1" -d "$device" "$graph"
  done
  misuse '--verify: ' "$1" --verify sample:0 "$graph"
  for level in none fully sample: sample:-1 sample:x sample:99999999999999999999 ''; do
    misuse "--verify: '$level' is none of full, sample:N, device, off, auto" "$1" --verify "$level" "$graph"
  done
}

check_backends() { # program
  misuse "knob of cpu_bsr: r is given twice in 'r=2:c=2:r=3'; give it once" "$1" -k cpu_csr,cpu_bsr:r=2:c=2:r=3 "$graph"
  misuse "unknown backend 'cpu_scr'; did you mean 'cpu_csr'? (--list-backends)" "$1" -k cpu_scr "$graph"
  misuse "unknown backend 'frobnicate'; --list-backends shows them all" "$1" -k frobnicate "$graph"
  misuse "unknown backend 'CPU_CSR'" "$1" -k CPU_CSR "$graph"
  misuse "an empty name in 'cpu_csr,'" "$1" -k cpu_csr, "$graph"
  misuse "an empty name in ''" "$1" -k '' "$graph"
  misuse "knob of cpu_csr: unknown name 'sigma' (there are none)" "$1" -k cpu_csr:sigma=9 "$graph"
  misuse "knob of reference: unknown name 'x'" "$1" -k cpu_csr,reference:x "$graph"
  misuse 'more than 64 backends' "$1" -k "$(yes reference | head -n 65 | paste -sd ,)" "$graph"
  misuse "is too long" "$1" -k "$(yes x | head -n 300 | paste -sd x)" "$graph"
}

check_option_files() { # program
  conf=$work/options.conf
  refuses 3 "$work/none.conf: cannot be opened" "$1" --config "$work/none.conf" "$graph"
  printf 'precision = f32\n\ntoleranse = 1e-3\n' >"$conf"
  misuse "$conf:3: unknown name 'toleranse' (did you mean 'tolerance'?)" "$1" --config "$conf" "$graph"
  echo 'tolerance = 2' >"$conf"
  misuse "$conf:1: tolerance: 2 is not in [0, 1)" "$1" --config "$conf" "$graph"
  echo 'tolerance 2' >"$conf"
  refuses 3 "$conf:1: the line is not name = value" "$1" --config "$conf" "$graph"
  echo 'help = yes' >"$conf"
  misuse "$conf:1: help: an action is for the command line alone" "$1" --config "$conf" "$graph"
  echo "config = $conf" >"$conf"
  misuse "$conf:1: config: an option file cannot name another" "$1" --config "$conf" "$graph"
  echo 'output = "x' >"$conf"
  refuses 3 "$conf:1: the closing quote is missing" "$1" --config "$conf" "$graph"
}

check_generators() { # program
  misuse "gen:weeb: unknown family (did you mean 'web'?)" "$1" gen:weeb:n=10
  misuse 'gen:: unknown family (there are: road, web, rmat, hubs, stencil,' "$1" gen:
  misuse "gen:uniform: unknown name 'degre' (did you mean 'degree'?)" "$1" gen:uniform:degre=3
  misuse 'gen:uniform: n: 0 is not in [1, 2147483647]' "$1" gen:uniform:n=0
  misuse "gen:uniform: n: 'x' is not a number" "$1" gen:uniform:n=x
  misuse 'gen:uniform: n needs a value' "$1" gen:uniform:n
  misuse 'gen:uniform: n is given twice' "$1" gen:uniform:n=3,n=4
  misuse 'gen:uniform: nothing between two commas' "$1" gen:uniform:n=3,
  misuse "gen:stencil: points: '6' is not one of 5|7|27" "$1" gen:stencil:points=6
}

check_files() { # program
  refuses 3 "$work/none.mtx: cannot be opened: No such file or directory" "$1" "$work/none.mtx"
  refuses 3 "$work: cannot be read: Is a directory" "$1" "$work"
  refuses 3 'needs a square matrix, not 2 x 3' "$1" "$work/wide.mtx"
  refuses 3 "$work/none.mtx: cannot be opened" "$1" -x "$work/none.mtx" "$graph"
  refuses 3 'a vector of 2 values, where 3 are needed' "$1" -x "$work/two.mtx" "$graph"
  refuses 3 'a vector has one column, not a matrix of 3 x 3' "$1" -x "$graph" "$graph"
  refuses 3 'standard input:1: the file is empty' "$1" -
}

check_pagerank() {
  misuse '--damping: 1 is not in [0, 1)' pagerank --damping 1 "$graph"
  misuse "--edges: 'ot' is not one of out|in (did you mean 'out'?)" pagerank --edges ot "$graph"
  misuse "--duplicates: 'both' is not one of auto|sum|once" pagerank --duplicates both "$graph"
  misuse "--stop: 'never' is not one of bound|change" pagerank --stop never "$graph"
  misuse '--top: -1 is not in [0, 1e9]' pagerank --top -1 "$graph"
  misuse '--atol: unknown option' pagerank --atol 3 "$graph"
  refuses 3 "$work/negative.mtx:5: a negative value where none may be (-0.5)" pagerank "$work/negative.mtx"
  refuses 3 'the weight -0.6' pagerank gen:stencil:n=3
  refuses 3 'all elements are 0' pagerank --personalize "$work/zeros.mtx" "$graph"
  refuses 3 'element 2 is -2' pagerank --personalize "$work/minus.mtx" "$graph"
  refuses 3 'all elements are 0' pagerank -x "$work/zeros.mtx" "$graph"
  refuses 3 'element 2 is -2' pagerank -x "$work/minus.mtx" "$graph"
  refuses 3 'a vector of 2 values, where 3 are needed' pagerank --personalize "$work/two.mtx" "$graph"
}

check_bicgstab() {
  misuse "--rhs: 'ons' is neither ones nor random:SEED" bicgstab --rhs ons "$graph"
  misuse "--rhs: the seed in 'random:x' is not a number" bicgstab --rhs random:x "$graph"
  misuse "knob of ilut: unknown name 'fil' (did you mean 'fill'?)" bicgstab --precond ilut:fil=3 "$graph"
  misuse 'knob of ilut: drop: 2 is not in [0, 1]' bicgstab --precond ilut:drop=2 "$graph"
  misuse "knob of jacobi: unknown name 'drop' (there are none)" bicgstab --precond jacobi:drop=1 "$graph"
  misuse "--precond: 'jakobi' is not one of auto|none|jacobi|ilu0|ilut (did you mean 'jacobi'?)" \
    bicgstab --precond jakobi "$graph"
  misuse '--atol: -1 is not at least 0' bicgstab --atol -1 "$graph"
  misuse '--damping: unknown option' bicgstab --damping 0.5 "$graph"
  refuses 3 "$work/none.mtx: cannot be opened" bicgstab -b "$work/none.mtx" "$graph"
  refuses 3 'a vector of 2 values, where 3 are needed' bicgstab -b "$work/two.mtx" "$graph"
  misuse "--scale: 'equilibrated' is not one of auto|none|equilibrate|match (did you mean 'equilibrate'?)" \
    bicgstab --scale equilibrated "$graph"
  refuses 3 'the diagonal element of row 1 is 0; use --precond none, or --scale match' \
    bicgstab --precond jacobi --scale none "$work/no_diagonal.mtx"
  refuses 3 "$work/repeated.mtx" bicgstab "$work/repeated.mtx"
  refuses 1 '--rhs random:3 and --rhs-file (-b) both give b: leave one out' \
    bicgstab --rhs random:3 -b "$work/two.mtx" "$graph"
}

# /dev/zero has no end, and is refused long before memory ends.
check_endless() {
  endless='no text: its first 262144 bytes have NUL bytes and no end of a line'
  refuses 3 "/dev/zero: $endless" bicgstab -b /dev/zero "$graph"
  refuses 3 "/dev/zero: $endless" pagerank --seeds /dev/zero "$graph"
  refuses 3 "/dev/zero: $endless" pagerank --input-format edges /dev/zero
  refuses 3 '/dev/zero:1: ' pagerank /dev/zero
}

# Names of files are printed without control characters, also where a shell or an option file is to read them.
check_control_characters() {
  escape=$(printf '\033')
  odd=$work/${escape}red.mtx
  run 0 bicgstab -q -o "$odd" gen:stencil:n=3
  run 2 bicgstab -v -n 1 -b "$odd" -o "$work/x.mtx" gen:stencil:n=3
  says "$out" "rhs-file = \"$work/\\x1bred.mtx\"" '$'"'$work/\\033red.mtx'"
  ! grep -q "$escape" "$out" "$err"
  expect 'the report has an escape character'
  printf 'rhs-file = "%s"\n' "$work/\\x1bred.mtx" >"$work/odd.conf"
  run 0 bicgstab --config "$work/odd.conf" gen:stencil:n=3
}

# Without a card -d cuda is refused with the reason; without -d the CPU solves a small problem without a warning.
check_no_card() {
  if has_card; then
    skip 22 'this machine has a card'
    return
  fi
  for program in pagerank bicgstab; do
    refuses 4 'CUDA' "$program" -d cuda "$graph"
    refuses 4 'CUDA' "$program" -d cuda:1 "$graph"
    call 0 "$BUILD/$program" --max-iterations 100000 "$work/both.mtx"
    is_empty "$err"
    says "$out" 'converged in'
  done
}

matrix both.mtx 'coordinate real general' '2 2 3' '1 1 1' '2 2 1' '1 2 2'
for program in pagerank bicgstab; do
  check_command_line "$program"
  check_ranges "$program"
  check_choices "$program"
  check_backends "$program"
  check_option_files "$program"
  check_generators "$program"
  check_files "$program"
done
check_pagerank
check_bicgstab
check_endless
check_control_characters
check_no_card
report
