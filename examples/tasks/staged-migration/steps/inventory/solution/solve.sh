#!/bin/bash
# Reads all records once, remembers the highest version of each id, and classifies at the end.
set -euo pipefail
export LC_ALL=C
cd /app/old
awk -F ': *' '
  FNR == 1 { file[++n] = FILENAME; id[n] = "-" }
  { lines[n] = FNR }
  $1 == "Id" { id[n] = $2 }
  $1 == "Version" { version[n] = $2 }
  END {
    for (i = 1; i <= n; i++) if (version[i] + 0 > best[id[i]] + 0) best[id[i]] = version[i]
    for (i = 1; i <= n; i++) {
      state = id[i] == "-" ? "orphan" : version[i] == best[id[i]] ? "current" : "superseded"
      printf "%s\t%s\t%s\t%d\t%s\n", file[i], id[i], version[i], lines[i], state
    }
  }' *.rec > /app/inventory.tsv
