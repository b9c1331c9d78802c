# shellcheck shell=sh
# For scripts that stop a program at a certain point, known by its open files in /proc; after `. tests/cli/lib.sh`. The
# program runs in the foreground, since a shell has others ignore SIGINT, and is held from the background.
folder=$work/folder
mkdir "$folder"
if [ ! -e /proc/self/fdinfo/0 ]; then
  skip 1 'no /proc, which shows the open files of a program'
  report
fi

# Whether the process has this file open to read it: reading its first bytes alone opens it without waiting (O_NONBLOCK, octal 4000)
# and does not count. is_writing: whether it has written to an open file with a name of this pattern.
is_open() { # process, file
  for link in "/proc/$1/fd"/*; do
    [ "$link" -ef "$2" ] || continue
    case $(sed -n 's/^flags:[[:blank:]]*//p' "/proc/$1/fdinfo/${link##*/}" 2>/dev/null) in
      *[4567][0-7][0-7][0-7]) ;;
      *) return ;;
    esac
  done
  return 1
}

is_writing() { # process, pattern
  for link in "/proc/$1/fd"/[3-9]*; do
    # shellcheck disable=SC2254
    case $(readlink "$link") in
      $2) [ "$(sed -n 's/^pos:[[:blank:]]*//p' "/proc/$1/fdinfo/${link##*/}" 2>/dev/null)" != 0 ] && return ;;
    esac
  done 2>/dev/null
  return 1
}

# Waits, at most 300 s, until the program has reached that point, and stops it; sets process. Fails if it has ended before.
hold() { # is_open or is_writing, file or pattern
  until_when=$(($(date +%s) + 300)) tries=0
  until [ -s "$work/pid" ]; do :; done
  read -r process <"$work/pid"
  while [ -e "/proc/$process" ]; do
    tries=$((tries + 1))
    [ $((tries % 1000)) != 0 ] || [ "$(date +%s)" -le $until_when ] || return 1
    "$1" "$process" "$2" || continue
    kill -s STOP "$process"
    until grep -q '^State:.*[TZX]' "/proc/$process/status" || [ ! -e "/proc/$process" ]; do :; done
    "$1" "$process" "$2" && return # it may have gone on before it stopped
    kill -s CONT "$process"
  done 2>/dev/null
  return 1
}

# The program with its process number in $work/pid; sets code.
known() { # program, arguments...
  program=$1
  shift
  command="$program $*"
  rm -f "$work/pid"
  # shellcheck disable=SC2016
  sh -c 'echo $$ >"$0"; exec "$@"' "$work/pid" "$BUILD/$program" -d cpu "$@" <"$in" >"$out" 2>"$err"
  code=$?
}
