#!/bin/bash
# Applies one change after the other to the files, then cleans up.
set -euo pipefail
export LC_ALL=C
cd /app/new
place() { echo "$(printf %s "$1" | sha256sum | cut -c 1-2)/$1.txt"; }
without() { if [ -f "$1" ]; then awk -v key="$2=" 'index($0, key) != 1' "$1"; fi; }

while read -r what id key value; do
  file=$(place "$id")
  case $what in
    set)
      mkdir -p "${file%/*}"
      { without "$file" "$key"; echo "$key=$value"; } | sort > /tmp/record
      mv /tmp/record "$file"
      ;;
    unset)
      [ -f "$file" ] || continue
      without "$file" "$key" > /tmp/record
      mv /tmp/record "$file"
      ;;
    drop) rm -f "$file" ;;
  esac
done < /app/late-changes.txt

find . -type f -empty -delete
find . -mindepth 1 -type d -empty -delete
find . -type f -name '*.txt' -printf '%P\n' | sort | xargs sha256sum > /tmp/manifest
mv /tmp/manifest MANIFEST
rm -r /app/old /app/inventory.tsv /app/late-changes.txt
