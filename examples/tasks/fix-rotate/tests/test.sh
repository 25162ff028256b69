#!/bin/bash
# Builds folders of its own, runs the script on them and compares a listing of names, modes, times and content.
set -u
export LC_ALL=C TZ=UTC
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }

script=/app/rotate.sh
[ -x "$script" ] || fail "$script is not executable"
work=$(mktemp -d)
put() { # path, mode, content: a file whose time tells it apart from files made now
  printf '%s' "$3" > "$1"
  chmod "$2" "$1"
  touch -d '2020-01-02 03:04:05' -- "$1"
}
listing() { # of a folder: kind, mode, content of each entry; old files are marked
  find "$1" -mindepth 1 -printf '%P\n' | sort | while IFS= read -r path; do
    if [ -L "$1/$path" ]; then echo "$path: link"; continue; fi
    if [ -d "$1/$path" ]; then echo "$path: folder"; continue; fi
    age=new
    [ "$(stat -c %Y "$1/$path")" = 1577934245 ] && age=old
    echo "$path: $age $(stat -c %a "$1/$path") $(cat "$1/$path")"
  done
}
run() { # expected exit code, arguments: silent when it succeeds
  local expected=$1 code
  shift
  timeout 20 "$script" "$@" > "$work/out" 2> "$work/err"
  code=$?
  [ "$code" = "$expected" ] || fail "rotate.sh $* ended with $code, expected $expected: $(head -c 300 "$work/err")"
  [ ! -s "$work/out" ] || fail "rotate.sh $* wrote to standard output"
  if [ "$expected" = 0 ]; then
    [ ! -s "$work/err" ] || fail "rotate.sh $* wrote to standard error: $(head -c 300 "$work/err")"
  else
    [ "$(wc -l < "$work/err")" = 1 ] && grep -q '^rotate:' "$work/err" || fail "rotate.sh $*: no line that starts with rotate:"
  fi
}
same() { listing "$2" | diff "/tests/expected/$1.txt" - || fail "$1: the folder differs"; }

make_logs() {
  mkdir -p "$1/sub.log" "$1/deep"
  put "$1/web server.log" 640 'web now'
  put "$1/web server.log.1" 600 'web one'
  put "$1/web server.log.2" 644 'web two'
  put "$1/web server.log.3" 644 'web three'
  put "$1/web server.log.9" 644 'web nine'
  put "$1/web server.log.10" 644 'web ten'
  put "$1/web server.log.1.gz" 644 'not a copy'
  put "$1/web server.log.bak" 644 'not a copy either'
  put "$1/web server.log.01" 644 'nor this'
  put "$1/gap.log" 644 'gap now'
  put "$1/gap.log.2" 644 'gap two'
  put "$1/-n.log" 644 'dash'
  put "$1/[a]*.log" 644 'magic'
  put "$1/a.log" 604 'plain'
  put "$1/idle.log" 644 ''
  put "$1/idle.log.1" 644 'idle one'
  put "$1/idle.log.7" 644 'idle seven'
  put "$1/deep/inner.log" 644 'inner'
  put "$1/notes.txt" 644 'notes'
  ln -s a.log "$1/link.log"
}

make_logs "$work/three"
cd / && run 0 "$work/three" 3
same three "$work/three"
run 0 "$work/three" 3
same three-again "$work/three"

make_logs "$work/zero"
cd "$work" && run 0 zero 0
same zero "$work/zero"

mkdir "$work/-a folder"
put "$work/-a folder/x.log" 644 'x'
cd "$work" && run 0 '-a folder' 1
same one "$work/-a folder"

mkdir "$work/empty"
run 0 "$work/empty" 5

make_logs "$work/kept"
listing "$work/kept" > "$work/before"
run 2 "$work/kept"
run 2
run 2 "$work/kept" three
run 2 "$work/kept" -1
run 2 "$work/kept" ''
run 2 "$work/kept" 3 4
run 2 "$work/absent" 3
run 2 "$work/kept/a.log" 3
listing "$work/kept" | diff "$work/before" - || fail "a refused command line changed something"
echo "all cases pass"
reward=1
