#!/bin/bash
# Picks for each archive a copy that matches its checksum, then applies them in order.
set -euo pipefail
export LC_ALL=C
out=/app/restored
mkdir -p "$out"
: > /app/damaged.txt

for name in full inc-1 inc-2 inc-3; do
  good=
  for place in /app/backups /app/mirror; do
    want=$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$place/SHA256SUMS")
    have=$(sha256sum < "$place/$name.tar.gz" | cut -d ' ' -f 1)
    if [ "$want" = "$have" ]; then
      good=$place/$name.tar.gz
    else
      echo "$place/$name.tar.gz" >> /app/damaged.txt
    fi
  done
  list=$(tar -xzOf "$good" ./DELETED 2> /dev/null || true)
  if [ -n "$list" ]; then
    while IFS= read -r path; do rm -rf -- "${out:?}/$path"; done <<< "$list"
  fi
  tar -C "$out" --exclude=./DELETED -xpzf "$good"
done

find "$out" -mindepth 1 -type d -empty -delete
sort -o /app/damaged.txt /app/damaged.txt
