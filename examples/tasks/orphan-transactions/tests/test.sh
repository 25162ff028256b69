#!/bin/bash
# The list must be complete, exact and in order; the logs must still say the same.
set -u
export LC_ALL=C
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }

[ -f /app/orphans.txt ] || fail "/app/orphans.txt does not exist"
cmp -s /tests/expected.txt /app/orphans.txt || fail "the list is wrong: it has $(wc -l < /app/orphans.txt) lines"
cd /app/logs || fail "the logs are gone"
find . -type f | sort | diff /tests/expected-files.txt - || fail "the logs were moved"
[ "$(find . -type f | sort | while read -r file; do zcat -f "$file"; done | sha256sum)" = "$(cat /tests/logs.sha256)" ] || fail "the logs were changed"
reward=1
