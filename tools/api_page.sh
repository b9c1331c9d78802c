#!/bin/sh
# docs/api.md: what is above its marker is written by hand, the rest is made of the public headers.
#   tools/api_page.sh          prints the page as it should be
#   tools/api_page.sh check    succeeds if docs/api.md is that page; else says what to do
#   tools/api_page.sh fix      writes it
# It is run from the root of the tree.
set -u
marker='<!-- From here on made by tools/api_page.sh of the headers. -->'

# Comments at the begin of a line become prose, what is between them code; /* ---- Title ---- */ a heading.
headers() {
  awk '
    function close_code() { if (in_code) print "```"; in_code = 0; blank = 0 }
    function open_code() { if (!in_code) print "\n```c"; else for (; blank > 0; blank--) print ""; in_code = 1; blank = 0 }
    function prose(line) {
      if (line ~ /^   ?[^ ]/ || (line ~ /^    / && is_sample)) {
        is_sample = 1
        print "    " substr(line, 3)
        return
      }
      is_sample = 0
      gsub(/[*<]/, "\\\\&", line)
      print line
    }
    FNR == 1 { close_code(); skipped = 0; print "\n## " titles[++file] }
    /^#ifndef WR_[A-Z]*_H$/ || /^#define WR_[A-Z]*_H$/ || /^#include/ || /^WR_C_(BEGIN|END)$/ { next }
    /^#if/ { skipped++ }
    /^#endif/ { if (skipped > 0) skipped--; next }
    skipped > 0 { next }
    /^\/\* ---- .* ---- \*\/$/ {
      close_code()
      sub(/^\/\* ---- /, "")
      sub(/ ---- \*\/$/, "")
      print "\n### " $0
      next
    }
    /^\/\*/ { close_code(); print ""; in_comment = 1; is_sample = 0; sub(/^\/\* /, "") }
    in_comment {
      ends = sub(/ \*\/$/, "")
      sub(/^ \* ?/, "")
      prose($0)
      if (ends) in_comment = 0
      next
    }
    /^$/ { if (in_code) blank++; next }
    { open_code(); print }
    END { close_code() }
    BEGIN { split("windrow.h|errors.h|outcome.h|version.h", titles, "|") }
  ' solvers/api/windrow.h config/errors.h solvers/outcome.h config/version.h
}

page() {
  sed "/^<!-- From here on made by/q" docs/api.md
  headers
}

if ! grep -qxF "$marker" docs/api.md; then
  echo "api_page: docs/api.md lacks the line $marker" >&2
  exit 1
fi
case ${1:-print} in
  print) page ;;
  check)
    page | cmp -s - docs/api.md && exit 0
    echo 'docs/api.md: not what the headers say; sh tools/api_page.sh fix writes it' >&2
    exit 1
    ;;
  fix) made=$(page) && printf '%s\n' "$made" >docs/api.md ;;
  *) echo 'usage: api_page.sh [print|check|fix]' >&2 && exit 1 ;;
esac
