#!/bin/sh
# Verifies which folder includes which: solvers/program -> solvers/api -> solvers/report -> solvers -> spmv -> config; io and
# data know the matrices of spmv/matrix. Inside spmv a family of backends sees the interface, matrix, blocks, device, kernel,
# what lies in spmv/backends for all families, and itself, never another family; every quoted include starts at the root and
# exists.
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
  function room(path) { # its folder; a family of backends is one room
    if (path ~ /^(tests|tools|examples)\//) return substr(path, 1, index(path, "/") - 1)
    sub(/\/[^\/]*$/, "", path)
    return path
  }
  function is_backend(place) { return place ~ /^spmv\/backends\// }
  function allowed(from, to) {
    if (from == to || from == "tests" || from == "tools" || to == "config") return 1
    if (from ~ /^solvers\/(report|api|program)$/ && (to == "io" || to == "spmv/choose")) return 1
    if (from == "solvers/program" && to == "solvers/api") return 1
    if (from ~ /^solvers\/(api|program)$/ && (to == "data" || to == "solvers/report")) return 1
    if (to == "spmv/parts") return from ~ /^spmv(\/(device|matrix))?$/ || from ~ /^solvers(\/(system|scaling|precond|krylov|rank|report|api|program))?$/
    if (from == "solvers/scaling") return to == "spmv/matrix"
    if (from ~ /^solvers(\/system)?$/ && to == "solvers/scaling") return 1
    if (from ~ /^solvers\// && to == "solvers") return 1
    if (from == "solvers/precond") return to ~ /^spmv(\/(device|matrix|precond))?$/
    if (from == "solvers/rank" && to == "solvers/krylov") return 1
    if (to == "solvers/rank") return from ~ /^solvers(\/(api|program))?$/
    if (from == "spmv/precond") return to ~ /^spmv\/(device|kernel|matrix|steps)$/
    if (from ~ /^solvers(\/(krylov|rank))?$/) return to ~ /^spmv(\/(device|matrix|steps|loop))?$/
    if (from ~ /^solvers\//) return to ~ /^spmv(\/(device|matrix))?$/
    if (from == "io" || from == "data") return to == "spmv/matrix"
    if (is_backend(from)) return to ~ /^spmv(\/(matrix|blocks|device|kernel|backends))?$/
    if (from == "spmv/backends") return to == "spmv"
    if (from == "spmv/blocks") return to ~ /^spmv(\/(matrix|device|kernel))?$/
    if (from == "spmv/choose") return to ~ /^spmv(\/(matrix|device|kernel))?$/
    if (from == "spmv/parts") return to ~ /^spmv\/(device|matrix)$/
    if (from == "spmv") return to ~ /^spmv\/(matrix|device)$/
    if (from ~ /^spmv\/(device|kernel|loop)$/) return to ~ /^spmv\/(device|kernel|loop|matrix|steps)$/
    if (from == "spmv/matrix") return to ~ /^spmv\/(device|kernel)$/
    return 0
  }
  function system_allowed(file, name) {
    if (file ~ /^tests\//) return 1
    if (name ~ /^(cub|thrust)\//) return file ~ /^spmv\/device\/(sort|scan)\.cu$/
    if (name ~ /^(cuda|cusparse|cublas|nvtx|cuda_)/) return file ~ /^spmv\//
    if (name == "zlib.h" || name == "zstd.h" || name == "lzma.h") return file ~ /^io\//
    if (name ~ /(^|\/)(klu|SuiteSparse_config)\.h$/) return file == "solvers/direct/klu_factors.c"
    if (name == "metis.h") return file == "solvers/program/metis_parts.c"
    if (name == "mpi.h") return file == "solvers/program/comm_mpi.c"
    if (name == "getopt.h") return file ~ /^config\/option/
    return 1
  }
  NR == FNR { exists[$0] = 1; next }
  {
    name = substr($3, 2, length($3) - 2)
    if (substr($3, 1, 1) == "<") {
      wrong = system_allowed($1, name) ? "" : "may not include " $3
    } else if (!(name in exists)) {
      wrong = $3 " is not a file, counted from the root"
    } else {
      wrong = allowed(room($1), room(name)) ? "" : room($1) " may not include " $3
    }
    if (wrong != "") { print "check_deps: " $1 ":" $2 ": " wrong >"/dev/stderr"; failed++ } else passed++
  }
  END { printf "check_deps: %d passed, %d failed, 0 skipped\n", passed, failed; exit failed != 0 }
' "$work/files" "$work/includes"
