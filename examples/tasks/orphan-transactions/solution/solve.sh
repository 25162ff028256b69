#!/bin/bash
# One pass over all logs, plain or compressed; only the fields count, never the rest of a line.
set -euo pipefail
export LC_ALL=C
find /app/logs -type f \( -name '*.log' -o -name '*.gz' \) -exec zcat -f {} + | awk '
  $3 == "event=begin" { began[$2] = $1; service[$2] = substr($4, 9) }
  ($3 == "event=commit" || $3 == "event=rollback") && $4 == "status=ok" { closed[$2] = 1 }
  END { for (txn in began) if (!(txn in closed)) print began[txn], substr(txn, 5), service[txn] }
' | sort > /app/orphans.txt
