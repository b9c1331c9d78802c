#!/bin/sh
# The demo: a web-like graph is ranked and a convection-diffusion system is solved, with every backend that this machine runs.
# BUILD: the folder of the programs.
set -u
build=${BUILD:-build}
work=$(mktemp -d "${TMPDIR:-/tmp}/windrow.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
code=0

# All backends that can run here, separated by commas: the names in the first section of --list-backends.
backends() {
  "$build/pagerank" --list-backends | awk '
    /^[A-Z]/ { available = /^Available/ }
    /^[a-z]/ && available { print $1 }' | paste -sd, -
}

show() { # heading, command...
  printf '\n=== %s\n    %s\n\n' "$1" "$2"
  sh -c "$2" || code=1
}

list=$(backends)
echo "windrow demo: backends on this machine: $list"
show 'A web of 300000 pages: which are the most important?' \
  "$build/pagerank -k $list --top 5 gen:web:n=300000"
show 'Heat carried by wind through a cube of 60^3 cells: a nonsymmetric linear system' \
  "$build/bicgstab -k $list gen:stencil:n=60,points=7,convection=0.4"
cat <<TXT

Next: $build/pagerank YOUR.mtx, $build/bicgstab YOUR.mtx, and --help for the options of each.
TXT
exit $code
