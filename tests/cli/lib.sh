# shellcheck shell=sh
# What the scripts here share. Each is run from the repository root with BUILD in the environment, begins with
# `. tests/cli/lib.sh` and ends with `report`.
set -u
BUILD=${BUILD:-build}
case $BUILD in
  /*) ;;
  *) BUILD=$PWD/$BUILD ;;
esac
script=$(basename "$0" .sh)
if [ ! -x "$BUILD/pagerank" ] || [ ! -x "$BUILD/bicgstab" ]; then
  echo "$script: 0 passed, 1 failed, 0 skipped (no programs in $BUILD)"
  exit 1
fi
# Scripts go to other folders, and have names of files in lists of words.
case ${TMPDIR:-} in
  /*[!A-Za-z0-9/._+-]* | [!/]*) export TMPDIR=/tmp ;;
esac
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
# Two mpirun at the same time may each find that the other has just made, or removed, the folder that they share.
export OMPI_MCA_orte_tmpdir_base="$work" PRTE_MCA_prte_tmpdir_base="$work"
out=$work/out err=$work/err # of the last command
in=/dev/null                # of the next ones
passed=0 failed=0 skipped=0 command=
unset COLUMNS POSIXLY_CORRECT CDPATH # reports are then 80 columns wide, and options may follow the matrix
export LC_ALL=C OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 # the inputs are tiny
export XDG_CACHE_HOME="$work/cache" # not what was measured on this machine

# The status of the last command is the result of a check, or `code`: where the text runs a command, some shells have its status
# in $?.
expect() { # what is wrong when it failed, code
  if [ "${2:-$?}" = 0 ]; then
    passed=$((passed + 1))
    return
  fi
  failed=$((failed + 1))
  echo "$script: $command: $1" >&2
  for shown in "$out" "$err"; do
    [ ! -s "$shown" ] || { echo "  $(basename "$shown"):" && head -n 30 "$shown" | cut -c 1-200 | sed 's/^/  | /'; } >&2
  done
}

skip() { # how many checks, why
  skipped=$((skipped + $1))
  echo "[$script] skipped: $2" >&2
}

call() { # exit code, command...
  wanted=$1
  shift
  command=$*
  "$@" <"$in" >"$out" 2>"$err"
  code=$?
  [ $code = "$wanted" ]
  expect "exit code $code, not $wanted"
}

# On the CPU, so that the same holds on a machine with a card; a -d among the arguments wins.
run() { # exit code, program, arguments...
  wanted=$1 program=$2
  shift 2
  call "$wanted" "$BUILD/$program" -d cpu "$@"
}

# A text as one line, wherever the report has broken it.
flat() { # file
  tr '\n' ' ' <"$1" | tr -s ' '
}

says() { # file, texts...
  where=$1
  shift
  for text in "$@"; do
    flat "$where" | grep -qF -- "$text"
    expect "${where##*/} does not say '$text'"
  done
}

is_empty() { # file
  [ ! -s "$1" ]
  expect "${1##*/} is not empty"
}

# The last command's standard error has nothing of a program, whatever others say there: MPI itself has messages where a machine
# shows neither its processors nor a network.
says_nothing() { # program
  ! grep -q "^$1" "$err"
  expect "$1 says something"
}

same() { # what they are, file, file
  cmp -s "$2" "$3"
  expect "$1: ${2##*/} and ${3##*/} differ"
}

# The program ends with this code, prints nothing, and says why in a line that begins with its name.
refuses() { # exit code, text, program, arguments...
  wanted=$1 sentence=$2
  shift 2
  run "$wanted" "$@"
  [ $code = "$wanted" ] || return
  is_empty "$out"
  grep -qF -- "$sentence" "$err"
  expect "stderr does not say '$sentence'"
  head -n 1 "$err" | grep -q "^$1: "
  expect "stderr does not begin with '$1: '"
}

# A Matrix Market file: $work/NAME.
matrix() { # name, kind such as 'coordinate real general', lines...
  path=$work/$1
  echo "%%MatrixMarket matrix $2" >"$path"
  shift 2
  printf '%s\n' "$@" >>"$path"
}

# The values of a written vector, one a line.
values() { # file
  grep -v '^%' "$1" | tail -n +2
}

# Element i of a written vector is within eps of the value of an awk expression.
element() { # file, i, expression, eps
  value=$(values "$1" | sed -n "$2p")
  awk "BEGIN { d = ${value:-1e99} - ($3); exit !(d <= $4 && d >= -($4)) }"
  held=$?; expect "element $2 of $(basename "$1") is ${value:-missing}, not within $4 of $3" "$held"
}

# The python3 that has these modules, else any; another one leaves out what it lacks. Empty: there is none.
python_with() { # modules, with commas
  for python in python3 /usr/bin/python3; do
    if $python -c "import $1" 2>/dev/null; then
      echo $python
      return
    fi
  done
  command -v python3
}

has_zlib() {
  ! "$BUILD/pagerank" -q -d cpu tests/data/bad/gzip_content.mtx 2>&1 | grep -q zlib
}

has_klu() {
  "$BUILD/bicgstab" -q -d cpu --fallback direct gen:stencil:n=2 >/dev/null 2>&1
}

has_card() {
  "$BUILD/pagerank" -q -d cuda gen:chain:scale=1 >"$work/card" 2>&1
}

# Whether the process catches SIGTERM (bit 14), as the programs do shortly before they iterate.
catches_signals() { # process
  grep -qs '^SigCgt:.*[4567cdef][0-9a-f]\{3\}$' "/proc/$1/status"
}

# Whether so many of the processes that have left a file $work/pid.NUMBER catch signals. Sets last to the number of one.
all_catch_signals() { # count
  catching=0
  for file in "$work"/pid.*; do
    last=${file##*.}
    ! catches_signals "$last" || catching=$((catching + 1))
  done
  [ $catching = "$1" ]
}

# Whether SIGINT is ignored, as in the background of a shell, which no script can change.
ignores_interrupts() { grep -qs '^SigIgn:.*[2367abef]$' /proc/self/status; }

# Runs a page of docs/ from top to bottom in $work/page. A block ```sh has to succeed. A block ```text behind it is an excerpt of
# what it has printed, of which ... leaves something out; in ```text about, numbers and ns, us, ms for s may differ. A block of
# another language is a source, with the name of its file in its first line.
page() { # file
  rm -rf "$work/page" "$work/blocks"
  mkdir "$work/page" "$work/blocks"
  awk -v folder="$work/blocks" '
    /^```/ && file { close(file); file = ""; next }
    /^```/ { file = sprintf("%s/%04d.%s", folder, NR + 1, substr($1, 4) $2); next }
    file { print >file }' "$1"
  ulimited=$(sh -c "ulimit -v 3000000 && '$BUILD/pagerank' --version" 2>/dev/null) # "": as with a sanitizer
  is_run=
  for block in "$work"/blocks/*; do
    name=${block##*/}
    case $name in
      *.text*)
        [ -z "$is_run" ] || excerpt "$block" "$1:${name%%.*}"
        ;;
      *.sh)
        is_run=
        if [ -z "$ulimited" ] && grep -q ulimit "$block"; then
          skip 1 'this build does not run in 3 GB of address space'
          continue
        fi
        if ignores_interrupts && grep -q 'timeout .*-s INT' "$block"; then
          skip 1 'SIGINT is ignored here, as in the background of a shell'
          continue
        fi
        is_run=1
        # shellcheck disable=SC2016
        call 0 sh -c 'cd "$1" && exec 2>&1 && set -e && . "$2"' "$1:${name%%.*}" "$work/page" "$block"
        ;;
      *) cp "$block" "$work/page/$(sed -n '1s/^[^A-Za-z]*\([A-Za-z_]*[.]*[a-z0-9]*\).*/\1/p' "$block")" ;;
    esac
  done
}

# The parts of an excerpt are in $out, in that order, wherever lines were broken.
excerpt() { # file of the excerpt, where it is in the page
  command=$2
  flat "$out" >"$work/said"
  flat "$1" | awk -v about="${1##*.text}" -v said="$work/said" '
    function plain(text) {
      if (!about) return text
      gsub(/[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?/, "#", text)
      gsub(/# [nmu]s/, "# s", text)
      return text
    }
    BEGIN { getline text <said; text = plain(text) }
    { parts = split(plain($0), part, /[.][.][.]/)
      for (k = 1; k <= parts; k++) {
        gsub(/^ +| +$/, "", part[k])
        at = index(text, part[k])
        if (part[k] != "" && at == 0) { print "not printed: " part[k]; exit 1 }
        text = substr(text, at + length(part[k]))
      } }' >"$work/lost"
  held=$?; expect "the excerpt is not what is printed: $(cat "$work/lost")" "$held"
}

report() {
  echo "$script: $passed passed, $failed failed, $skipped skipped"
  [ $failed = 0 ] && [ $((passed + skipped)) != 0 ]
  exit
}
