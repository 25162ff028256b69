#!/bin/bash
set -euo pipefail
cat > /app/site/build.sh <<'PROGRAM'
#!/bin/bash
# Builds out/NAME.html for every pages/NAME.page that is older than something it depends on.
set -euo pipefail
export LC_ALL=C
shopt -s nullglob
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p out

# All parts a file includes, directly or not, each once: a walk over the include lines.
parts_of() {
  local queue=("$1") names name
  declare -A seen=()
  while [ ${#queue[@]} -gt 0 ]; do
    names=$(sed -n 's/^@include //p' "${queue[0]}")
    queue=("${queue[@]:1}")
    for name in $names; do
      [ -z "${seen[$name]:-}" ] || continue
      seen[$name]=1
      echo "$name"
      if [ -f "parts/$name.part" ]; then queue+=("parts/$name.part"); fi
    done
  done
}

stale() { # output, page, parts...
  local out=$1 file
  shift
  [ -e "$out" ] || return 0
  for file in "$@"; do
    if [ "$file" -nt "$out" ]; then return 0; fi
  done
  return 1
}

status=0 quiet=1
for page in pages/*.page; do
  name=${page#pages/}
  name=${name%.page}
  out=out/$name.html
  parts=$(parts_of "$page" | sort)
  needs=() missing=0
  for part in $parts; do
    if [ -f "parts/$part.part" ]; then
      needs+=("parts/$part.part")
    else
      echo "$name: missing part $part" >&2
      missing=1
    fi
  done
  if [ "$missing" = 1 ]; then
    rm -f "$out"
    status=1 quiet=0
  elif stale "$out" "$page" render "${needs[@]}"; then
    ./render "$page" "$out"
    echo "built $name"
    quiet=0
  fi
done

for out in out/*.html; do
  name=${out#out/}
  name=${name%.html}
  if [ ! -e "pages/$name.page" ]; then
    rm "$out"
    echo "removed $name"
    quiet=0
  fi
done
if [ "$quiet" = 1 ]; then echo 'nothing to do'; fi
exit $status
PROGRAM
chmod 755 /app/site/build.sh
/app/site/build.sh
