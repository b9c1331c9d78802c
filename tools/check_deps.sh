#!/bin/sh
# Verifies who includes whom: solvers -> data, io -> spmv -> config; inside spmv a backend's folder sees the interface, device,
# kernel and itself, never another backend; every quoted include starts at the root and exists.
# Needs: nothing
set -u
here=$(dirname "$0")
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

sh "$here/sources.sh" '\.(c|h|cu|cuh|cpp|def)$' >"$work/files"
xargs awk '/^[ \t]*#[ \t]*include[ \t]*["<]/ {
  target = $0
  sub(/^[^"<]*/, "", target)
  match(target, /^("[^"]*"|<[^>]*>)/)
  print FILENAME "\t" FNR "\t" substr(target, 1, RLENGTH)
}' <"$work/files" >"$work/includes"

awk -F'\t' '
  function room(path) { # the folder that counts: spmv itself, spmv/FAMILY, else the first part
    if (path ~ /^spmv\/[^\/]+$/) return "spmv"
    if (path ~ /^spmv\//) { split(path, part, "/"); return "spmv/" part[2] }
    sub(/\/.*/, "", path)
    return path
  }
  function backend(place) { return place ~ /^spmv\// && place != "spmv/device" && place != "spmv/kernel" }
  function allowed(from, to) {
    if (from == to || from == "tests" || from == "tools" || to == "config") return 1
    if (to == "spmv" || to == "spmv/device") return from != "config"
    if (to == "spmv/kernel") return from ~ /^spmv\//
    if (to == "spmv/bsr") return backend(from) # a format that three families share, and others advise
    if (backend(to) || to == "solvers" || to == "tests") return 0
    return from == "solvers" && (to == "io" || to == "data")
  }
  function system_allowed(file, name) {
    if (file ~ /^tests\//) return 1
    if (name ~ /^(cub|thrust)\//) return file == "spmv/device/sort.cu"
    if (name ~ /^(cuda|cusparse|cublas|nvtx|cuda_)/) return file ~ /^spmv\//
    if (name == "zlib.h") return file ~ /^io\//
    if (name == "getopt.h") return file ~ /^config\/option/
    return 1
  }
  NR == FNR { exists[$0] = 1; next }
  {
    name = substr($3, 2, length($3) - 2)
    if (substr($3, 1, 1) == "<") {
      wrong = system_allowed($1, name) ? "" : "has no business with " $3
    } else if (!(name in exists)) {
      wrong = $3 " is not a file, counted from the root"
    } else {
      wrong = allowed(room($1), room(name)) ? "" : room($1) " may not include " $3
    }
    if (wrong != "") { print "check_deps: " $1 ":" $2 ": " wrong >"/dev/stderr"; failed++ } else passed++
  }
  END { printf "check_deps: %d passed, %d failed, 0 skipped\n", passed, failed; exit failed != 0 }
' "$work/files" "$work/includes"
