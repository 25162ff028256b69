#!/bin/bash
# Walks the inbox in byte order and lets `date` decide which timestamps exist.
set -euo pipefail
export LC_ALL=C
cd /app/inbox
mkdir -p /app/photos
index=$(mktemp)
declare -A seen

find . -type f -printf '%P\n' | sort | while IFS= read -r path; do
  name=${path##*/}
  [[ $name =~ ([0-9]{8})_([0-9]{6}) ]] || continue
  day=${BASH_REMATCH[1]} time=${BASH_REMATCH[2]}
  ext=${name##*.}
  ext=${ext,,}
  case $ext in jpg | png) ;; jpeg) ext=jpg ;; *) continue ;; esac
  stamp="${day:0:4}-${day:4:2}-${day:6:2} ${time:0:2}:${time:2:2}:${time:4:2}"
  [ "$(date -u -d "$stamp" '+%Y-%m-%d %H:%M:%S' 2>/dev/null || true)" = "$stamp" ] || continue

  sum=$(sha256sum < "$path")
  if [ -n "${seen[$sum]:-}" ]; then
    rm -- "$path"
    continue
  fi
  seen[$sum]=1
  stem="${day:0:4}/${day:4:2}/${stamp//[ ]/T}"
  stem=${stem//:/-}
  target=$stem.$ext
  n=2
  while [ -e "/app/photos/$target" ]; do
    target=$stem-$n.$ext
    n=$((n + 1))
  done
  mkdir -p "/app/photos/${target%/*}"
  mv -- "$path" "/app/photos/$target"
  printf '%s\t%s\n' "$target" "$path" >> "$index"
done

sort "$index" > /app/photos/index.tsv
find /app/inbox -mindepth 1 -type d -empty -delete
