#!/bin/bash
set -u
. /tests/common.sh
[ -f /app/inventory.tsv ] || fail "/app/inventory.tsv does not exist"
diff /tests/expected-inventory.tsv /app/inventory.tsv || fail "the inventory differs"
old_is_untouched || fail "/app/old was changed"
reward=1
