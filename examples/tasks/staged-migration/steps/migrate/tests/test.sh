#!/bin/bash
set -u
. /tests/common.sh
[ -d /app/new ] || fail "/app/new does not exist"
dump /app/new | diff /tests/expected-new.txt - || fail "the new store differs"
cmp /tests/expected-inventory.tsv /app/inventory.tsv || fail "the inventory was changed"
old_is_untouched || fail "/app/old was changed"
reward=1
