#!/bin/sh
# How many systems each of a list of bicgstab's command lines solves, at which cost, and whether its claims are true: systems.py,
# which says what it takes and writes.
#   usage: sh tests/bench/systems.sh [options of systems.py] FOLDER|FILE.mtx|gen:NAME ...
command -v python3 >/dev/null || { echo "systems.sh: python3 is missing, which judges the answers" >&2 && exit 1; }
exec python3 "$(dirname "$0")/systems.py" "$@"
