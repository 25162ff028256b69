#!/bin/bash
set -euo pipefail
cat > /app/rotate.sh <<'PROGRAM'
#!/bin/bash
# rotate.sh DIR KEEP: NAME.log -> NAME.log.1 -> NAME.log.2 ..., at most KEEP old copies.
set -euo pipefail
shopt -s nullglob dotglob

complain() {
  echo "rotate: $1" >&2
  exit 2
}

[ $# -eq 2 ] || complain 'expected a folder and a number of copies'
[[ $2 =~ ^[0-9]+$ ]] || complain "not a whole number: $2"
[ -d "$1" ] || complain "not a folder: $1"
keep=$((10#$2))
case $1 in /*) cd "$1" ;; *) cd "./$1" ;; esac

for log in ./*.log; do
  [ -f "$log" ] && [ ! -L "$log" ] && [ -s "$log" ] || continue

  # From the highest number down, so that nothing is overwritten before it has moved.
  numbers=$(for copy in "$log".*; do
    suffix=${copy#"$log".}
    if [[ $suffix =~ ^[1-9][0-9]*$ ]]; then echo "$suffix"; fi
  done | sort -nr)
  for n in $numbers; do
    if [ "$n" -ge "$keep" ]; then rm -f "$log.$n"; else mv "$log.$n" "$log.$((n + 1))"; fi
  done

  mode=$(stat -c %a "$log")
  if [ "$keep" -gt 0 ]; then mv "$log" "$log.1"; else rm "$log"; fi
  : > "$log"
  chmod "$mode" "$log"
done
PROGRAM
chmod 755 /app/rotate.sh
/app/rotate.sh /app/demo 3
