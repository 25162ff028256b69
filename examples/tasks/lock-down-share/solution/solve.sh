#!/bin/bash
# find never follows links here, so nothing outside the folder is touched.
set -euo pipefail
export LC_ALL=C
cd /app
find /app/share ! -type l -perm -o+w | sort > world-writable.txt

find share -type f | while IFS= read -r path; do
  case $path in
    */keys/*) mode=600 ;;
    *) if [ "$(head -c 2 "$path")" = '#!' ]; then mode=750; else mode=640; fi ;;
  esac
  chmod "$mode" "$path"
done
find share -type d -exec chmod u=rwx,g=rxs,o=,-t {} +
chmod 3770 share/incoming
