#!/bin/bash
# Normalises with awk, sorts by endpoint and duration, then picks the ranks in one pass.
set -euo pipefail
export LC_ALL=C
cd /app

good='^[^ ]+ [^ ]+ [^ ]+ [0-9][0-9][0-9] [0-9]+ms$'
grep -E "$good" access.log | awk '
  {
    path = $3
    sub(/\?.*/, "", path)
    if (path != "/") sub(/\/+$/, "", path)
    n = split(path, part, "/")
    path = part[1]
    for (i = 2; i <= n; i++) path = path "/" (part[i] ~ /^[0-9]+$/ ? ":id" : part[i])
    if (path != "/health") printf "%s %s\t%d\t%d\n", $2, path, $5, ($4 >= 500)
  }' | sort -t "$(printf '\t')" -k1,1 -k2,2n | awk -F '\t' '
  function flush() {
    if (n >= 10) printf "%s\t%d\t%d\t%d\n", name, n, errors, ms[int((95 * n + 99) / 100)]
    n = errors = 0
  }
  $1 != name { flush(); name = $1 }
  { ms[++n] = $2; errors += $3 }
  END { flush() }' | sort -t "$(printf '\t')" -k4,4nr -k1,1 > rows.tmp

{ printf 'endpoint\trequests\terrors\tp95_ms\n'; cat rows.tmp; } > report.tsv
rm rows.tmp
