#!/bin/bash
# The report must match row by row; the log must be untouched.
set -u
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }

[ -f /app/report.tsv ] || fail "/app/report.tsv does not exist"
diff /tests/expected.tsv /app/report.tsv || fail "the report differs"
(cd /app && sha256sum -c /tests/access-log.sha256) || fail "the log was changed"
reward=1
