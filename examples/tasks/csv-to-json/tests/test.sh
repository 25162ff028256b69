#!/bin/bash
# The output is specified to the byte, so it is compared byte by byte.
set -u
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }

[ -f /app/customers.jsonl ] && [ ! -L /app/customers.jsonl ] || fail "/app/customers.jsonl is not a file"
cmp /tests/expected.jsonl /app/customers.jsonl || fail "the output differs: $(diff /tests/expected.jsonl /app/customers.jsonl | head -n 6)"
(cd /app && sha256sum -c --status /tests/customers.sha256) || fail "customers.csv was changed"
reward=1
