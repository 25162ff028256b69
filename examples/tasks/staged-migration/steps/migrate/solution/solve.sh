#!/bin/bash
# Follows the inventory of stage 1.
set -euo pipefail
export LC_ALL=C
awk -F '\t' '$5 == "current" { print $1, $2 }' /app/inventory.tsv | while read -r file id; do
  dir=/app/new/$(printf %s "$id" | sha256sum | cut -c 1-2)
  mkdir -p "$dir"
  sed -E 's/^([^:]*):[ ]*/\1=/; s/ +$//' "/app/old/$file" | awk '
    { at = index($0, "="); key = tolower(substr($0, 1, at - 1)); value = substr($0, at + 1) }
    key != "id" && value != "" { print key "=" value }' | sort > "$dir/$id.txt"
done
