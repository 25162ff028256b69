#!/bin/bash
# Compares the history, commit by commit, with the same history made without the file; then looks through every object.
set -u
export LC_ALL=C HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_COUNT=2
export GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' GIT_CONFIG_KEY_1=core.fsmonitor GIT_CONFIG_VALUE_1=false
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }

repo=/app/shop
[ -d "$repo/.git/objects" ] || fail "$repo is no repository"
git -C "$repo" for-each-ref --format='%(refname)' | diff - <(printf 'refs/%s\n' heads/main heads/refunds tags/v1.0 tags/v1.1) ||
  fail "the refs differ"

# Parents are named by their subject, because commit ids change with the rewrite.
history() {
  for ref in main refunds v1.0 v1.1; do
    echo "== $ref"
    git -C "$repo" log --topo-order --format='%H' "$ref" -- | while read -r id; do
      git -C "$repo" show -s --format='%T %an %ae %aI %cn %ce %cI %s' "$id"
      for parent in $(git -C "$repo" show -s --format='%P' "$id"); do git -C "$repo" show -s --format='  after %s' "$parent"; done
    done
  done
}
history | diff /tests/expected-history.txt - || fail "the history differs"

git -C "$repo" cat-file --batch-all-objects --batch --unordered > /tmp/objects.$$ || fail "the objects cannot be read"
grep -a -q -e PAYMENT_KEY -e REFUND_KEY /tmp/objects.$$ && fail "a secret is still in an object"
grep -r -a -q -e PAYMENT_KEY -e REFUND_KEY "$repo" && fail "a secret is still in a file"

[ "$(cat "$repo/.git/HEAD")" = "ref: refs/heads/main" ] || fail "main is not checked out"
[ -z "$(git -C "$repo" status --porcelain --ignored)" ] || fail "the working tree is not clean"
reward=1
