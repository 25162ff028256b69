#!/bin/bash
# Packs the parts, then damages three archives, never both copies of one.
set -euo pipefail
mkdir -p /app/backups /app/mirror
ln -s north.csv /build/parts/full/data/current.csv
ln -s west.csv /build/parts/inc-2/data/current.csv
pack() { tar -C "/build/parts/$1" --owner=0 --group=0 -czf "$2" .; }
cd /app/backups
for name in full inc-1 inc-2 inc-3; do pack "$name" "$name.tar.gz"; done
sha256sum full.tar.gz inc-1.tar.gz inc-2.tar.gz inc-3.tar.gz > SHA256SUMS
cp full.tar.gz inc-1.tar.gz inc-2.tar.gz inc-3.tar.gz SHA256SUMS /app/mirror
pack inc-1 inc-2.tar.gz
truncate -s -40 /app/mirror/inc-3.tar.gz
truncate -s 0 /app/mirror/full.tar.gz
