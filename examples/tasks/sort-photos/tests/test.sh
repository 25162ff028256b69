#!/bin/bash
# Compares every file that is left, by path and content, with what the rules give.
set -u
export LC_ALL=C
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }

cd /app || fail "/app is gone"
[ -d inbox ] && [ -d photos ] || fail "inbox or photos is not a folder"
[ -z "$(find inbox photos ! -type f ! -type d)" ] || fail "something is neither a file nor a folder"
find inbox photos -type f ! -path photos/index.tsv -print0 | sort -z | xargs -0 sha256sum |
  diff /tests/expected.sha256 - || fail "files are not where they belong"
diff /tests/expected-index.tsv photos/index.tsv || fail "index.tsv differs"
[ -z "$(find inbox -mindepth 1 -type d -empty)" ] || fail "empty folders are left in inbox"
echo "all files are in place"
reward=1
