#!/bin/sh
# The read bandwidth is measured where a table or a report shows a share of it, and nowhere else.
. tests/cli/lib.sh

measured() { # null or a digit, options...
  value=$1
  shift
  run 0 bicgstab --json "$work/report.json" "$@" gen:stencil:n=6
  grep -q "\"read_bandwidth\": $value" "$work/report.json"
  expect "read_bandwidth is not $value"
  grep -q "\"read_share\": $value" "$work/report.json"
  expect "read_share is not $value"
}

measured null
measured null -q
measured null -q -k cpu_csr,reference
measured '[0-9]' -v
grep -qE '\(<?[0-9]+%;|from cache' "$out"
expect 'the report shows no share'
measured '[0-9]' -k cpu_csr,reference
grep -qE '^cpu_csr .*(%|from cache)' "$out"
expect 'the table shows no share'
report
