#!/bin/bash
set -u
. /tests/common.sh
[ -d /app/new ] || fail "/app/new does not exist"
dump /app/new | grep -v '^== MANIFEST$' | grep -v -E '^[0-9a-f]{64}  ' | diff /tests/expected-new.txt - || fail "the new store differs"
(cd /app/new && find . -type f -name '*.txt' -printf '%P\n' | sort | xargs sha256sum | diff - MANIFEST) || fail "MANIFEST differs"
[ -z "$(find /app/new -mindepth 1 -type d -empty)" ] || fail "an empty folder is left"
for gone in old inventory.tsv late-changes.txt; do
  [ ! -e "/app/$gone" ] || fail "/app/$gone is still there"
done
reward=1
