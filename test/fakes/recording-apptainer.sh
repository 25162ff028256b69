#!/bin/sh
# A stand-in for apptainer that runs no container: it records how it was called, one line per call with tab-separated
# words, and the variables it was given. `instance start` starts a process that waits, as an instance does, and records
# its process ID; `build` makes a file.
log="$(dirname "$0")/calls"
{ for word in "$@"; do printf '%s\t' "$word"; done; printf '\n'; } >> "$log"
env | sort > "$(dirname "$0")/env-of-last-call"
case "$1 $2" in
  "instance start")
    while [ $# -gt 1 ]; do [ "$1" = --pid-file ] && file=$2; shift; done
    sleep 600 > /dev/null 2>&1 < /dev/null & echo $! > "$file"
    echo $! >> "$(dirname "$0")/started" ;;
  "build --force")
    for word in "$@"; do case "$word" in *.tmp) echo image > "$word" ;; esac; done ;;
esac
