#!/bin/bash
# Compares kind, mode, link target and content of everything in the folder, and of what the links point to.
set -u
export LC_ALL=C
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }

cd /app || fail "/app is gone"
find share outside -printf '%y %04m %p %l\n' | sed 's/^l [0-9]* /l - /; s/ $//' | sort -k3 |
  diff /tests/expected-modes.txt - || fail "permissions differ"
find share outside -type f -print0 | sort -z | xargs -0 sha256sum |
  diff /tests/expected.sha256 - || fail "content differs"
diff /tests/expected-world-writable.txt world-writable.txt || fail "world-writable.txt differs"
reward=1
