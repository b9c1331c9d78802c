#!/bin/sh
# The longest functions (from the line that opens the body to the closing brace in column 1) and files.
set -u
here=$(dirname "$0")
files=$(sh "$here/sources.sh" '\.(c|h|cu|cuh|cpp)$')
# shellcheck disable=SC2086
functions=$(awk '
  FNR == 1 { open = 0 }
  /^[A-Za-z_].*[(]/ { name = $0; sub(/[(].*/, "", name); sub(/.*[ *]/, "", name); head = FNR }
  /^[^ #}].*[{]$|^[{]$|^ .*[)] [{]$/ { if (!open && name != "" && FNR - head < 6) { open = head } }
  /^}/ { if (open) print FNR - open + 1, name, FILENAME ":" open; open = 0; name = "" }
  /^[A-Za-z_].*[)] [{].*}$/ { print 1, name, FILENAME ":" FNR; name = ""; open = 0 }
  /;$/ { if (!open) name = "" }
' $files | sort -rn)
echo 'longest functions (none should pass 60 lines without a reason)'
echo "$functions" | head -n 15 | awk '{ printf "  %4d  %-36s %s\n", $1, $2, $3 }'
echo "$functions" | awk '{ lines[NR] = $1; if ($1 > 45) over45++; if ($1 > 60) over60++ }
  END { if (NR) printf "  %d functions, median %d lines, %.0f%% under 46, %d over 60\n",
        NR, lines[int((NR + 1) / 2)], 100 * (NR - over45) / NR, over60 }'
echo 'longest files'
# shellcheck disable=SC2086
wc -l $files | grep -v ' total$' | sort -rn | head -n 10 | sed 's/^/  /'
