#!/bin/sh
# Lists the files of the tree, one a line: tracked ones and new ones that git does not ignore, or, where there is no git,
# everything outside build. Arguments are patterns (grep -E) that a path must match one of; none: all files.
set -u
all_files() {
  if git ls-files -co --exclude-standard >/dev/null 2>&1; then
    git ls-files -co --exclude-standard | while IFS= read -r path; do [ -f "$path" ] && echo "$path"; done
  else
    find . -path ./.git -prune -o -path './build*' -prune -o -type f -print | sed 's|^\./||'
  fi
}
pattern=.
[ $# = 0 ] || pattern=$(printf '%s|' "$@" | sed 's/|$//')
all_files | grep -E "$pattern" | sort
