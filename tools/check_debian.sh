#!/bin/sh
# Checks that windrow builds and passes its tests on a newly installed Debian. For each release named, an empty system is made
# with debootstrap, a clone of HEAD is put into it, and in it
#   1. gcc, g++, make and git are installed, which is all that README asks for, and an ordinary user runs `make demo`;
#   2. root runs `make deps`;
#   3. the user builds everything with gcc and runs `make check`;
#   4. the user builds everything with clang and runs a selection of the tests.
# A step fails if its command fails or if a compiler warns. There is no CUDA in these systems: kernels are compiled for the CPU
# alone, by `make simt`. Needs root, debootstrap, git, a network and 3 GB of disk a release.
#   tools/check_debian.sh RELEASE...        such as: tools/check_debian.sh bookworm trixie
# In the environment:
#   ROOM          folder for the systems and the logs (/var/tmp/windrow-debian); RELEASE.base there is kept and used again
#   MIRROR        where packages come from (the mirror that this machine's apt uses)
#   CHECK         arguments for `make check` with gcc, such as TESTS='lint test_option' (none: every test)
#   CLANG_CHECK   the same with clang
set -u
ROOM=${ROOM:-/var/tmp/windrow-debian} MIRROR=${MIRROR:-} CHECK=${CHECK:-}
CLANG_CHECK=${CLANG_CHECK:-"TESTS=test_vec test_option test_cpu_bsr test_csr_assemble test_bicgstab_real test_pagerank_real \
test_compare outcomes options examples install simt_vec simt_bsr_kernels simt_merbit_build simt_cb_spmv_kernels"}
home=home/visitor
everything='programs libraries manuals examples tests simt'

refuse() {
  echo "check_debian: $*" >&2
  exit 1
}

[ $# != 0 ] || refuse 'no release is named; for example: tools/check_debian.sh bookworm trixie'
[ "$(id -u)" = 0 ] || refuse 'only root can make a Debian system in a folder'
command -v debootstrap >/dev/null || refuse 'debootstrap is missing: apt-get install debootstrap'
# shellcheck disable=SC2016
[ -n "$MIRROR" ] || MIRROR=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 2>/dev/null |
  sed -n 's/^Debian Debian //p' | head -n 1)
[ -n "$MIRROR" ] || refuse 'this machine has no apt source of Debian: set MIRROR to the address of a Debian mirror'

# Runs a command in the system $root, with a /proc, a /dev and process numbers of its own, and nothing of this environment.
# What the command leaves running ends with it.
enter() { # user and group as numbers, folder, command
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child sh -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
      exec chroot --userspec="$2" "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="/$5" LC_ALL=C.UTF-8 \
        ${http_proxy:+http_proxy="$http_proxy"} sh -c "cd \"\$1\" && eval \"\$2\"" sh "$3" "$4"' \
    sh "$root" "$1" "$2" "$3" "$home" </dev/null
}

make_base() { # release
  [ ! -d "$root.base" ] || return 0
  rm -rf "$root.new"
  debootstrap --variant=minbase "$1" "$root.new" "$MIRROR" && mv "$root.new" "$root.base"
}

copy_in() { # release
  rm -rf "$root"
  cp -a --reflink=auto "$root.base" "$root" && cp -L /etc/resolv.conf "$root/etc/resolv.conf" &&
    mkdir -p "$root/$home" && git clone --quiet --no-local . "$root/$home/windrow" && chown -R 1000:1000 "$root/$home"
}

# Runs one step, its output into the log, and prints how it ended. Sets failed.
step() { # name, command...
  name=$1
  shift
  began=$(date +%s)
  "$@" >"$log.step" 2>&1
  code=$? remark=
  warnings=$(grep -cE ':[0-9]+: warning:' "$log.step")
  counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log.step" | tail -n 1)
  { echo "=== $name"; cat "$log.step"; } >>"$log"
  [ $code = 0 ] || remark="exit status $code"
  [ "$warnings" = 0 ] || remark="${remark:+$remark, }$warnings warnings"
  printf '  %-4s  %-30s %5d s  %s\n' "$([ -z "$remark" ] && echo ok || echo FAIL)" "$name" $(($(date +%s) - began)) "$counts"
  if [ -n "$remark" ]; then
    echo "        $remark; the end of $log:"
    { grep -E ':[0-9]+: warning:' "$log.step" | head -n 5; tail -n 20 "$log.step"; } | cut -c 1-200 | sed 's/^/        | /'
    failed=1
  fi
  rm -f "$log.step"
  return $code
}

as_root() { enter 0:0 "$1" "$2"; }
as_user() { enter 1000:1000 "/$home/windrow" "$1"; }
version() { as_user "$1 --version" 2>/dev/null | head -n 1; }

check_release() { # release
  root=$ROOM/$1 log=$ROOM/$1.log
  : >"$log"
  echo "$1, windrow at $(git rev-parse --short HEAD)"
  step 'empty system' make_base "$1" && step 'clone' copy_in "$1" || return
  step 'gcc, g++, make, git' as_root / 'export DEBIAN_FRONTEND=noninteractive
    apt-get -q update && apt-get -q install -y --no-install-recommends gcc g++ make git' || return
  step 'make demo' as_user 'make demo'
  step 'make deps' as_root "/$home/windrow" 'make deps' || return
  compiler=$(version gcc)
  step "build: gcc ${compiler##* }" as_user "make $everything" &&
    step "make check, gcc" as_user "make check $(quoted "$CHECK")"
  clang="CC=clang CXX=clang++ BUILD=build/clang"
  compiler=$(version clang | grep -o "version [0-9.]*")
  step "build: clang ${compiler##* }" as_user "make $clang $everything" &&
    step "make check, clang" as_user "make check $clang $(quoted "$CLANG_CHECK")"
}

# NAME=VALUE with blanks in the value as one word of a shell.
quoted() { [ -z "$1" ] || printf "'%s'" "$1"; }

cd "$(dirname "$0")/.." || exit 1
mkdir -p "$ROOM" || exit 1
failed=0
for release in "$@"; do check_release "$release"; done
[ $failed = 0 ]
