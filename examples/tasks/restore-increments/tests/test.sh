#!/bin/bash
# Lists what was restored (kind, executable or not, link target, content) and compares it with the known listing.
set -u
export LC_ALL=C
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }

describe() {
  find . -mindepth 1 -printf '%y %P\n' | sort -k2 | while read -r kind path; do
    case $kind in
      d) echo "dir $path" ;;
      l) echo "link $path -> $(readlink "$path")" ;;
      f) echo "file $(stat -c %A "./$path" | cut -c 4) $(sha256sum < "./$path" | cut -c 1-64) $path" ;;
      *) echo "other $path" ;;
    esac
  done
}

cd /app/restored || fail "/app/restored does not exist"
describe | diff /tests/expected.txt - || fail "the restored folder differs"
printf '%s\n' /app/backups/inc-2.tar.gz /app/mirror/full.tar.gz /app/mirror/inc-3.tar.gz |
  diff - /app/damaged.txt || fail "damaged.txt differs"
for name in full inc-1 inc-3; do
  grep " $name.tar.gz\$" /app/backups/SHA256SUMS | (cd /app/backups && sha256sum -c --status) || fail "a good backup was changed"
done
echo "restored"
reward=1
