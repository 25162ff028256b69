#!/bin/bash
# Copies the script into sites of its own making, with set modification times, and watches what each build does.
set -u
export LC_ALL=C TZ=UTC
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }

script=/app/site/build.sh
[ -x "$script" ] || fail "$script is not executable"
sha256sum -c --status /tests/render.sha256 || fail "render was changed"
site=$(mktemp -d)/'my site'
mkdir -p "$site/pages" "$site/parts"
cp "$script" "$site/build.sh"
cp /tests/render "$site/render"
chmod 755 "$site/build.sh" "$site/render"

put() { # file, minute of its time, lines
  local file=$site/$1 minute=$2
  shift 2
  printf '%s\n' "$@" > "$file"
  touch -d "2020-01-01 00:$minute:00" "$file"
}
age() { touch -d "2020-01-01 00:$2:00" "$site/$1"; }
build() { # what it should print, exit code, what it should complain about
  local out code
  out=$(cd / && timeout 30 "$site/build.sh" 2> "$site/../err")
  code=$?
  [ "$out" = "$1" ] || fail "$step: printed '$out', expected '$1'"
  [ "$code" = "$2" ] || fail "$step: exit code $code, expected $2"
  [ "$(cat "$site/../err")" = "${3:-}" ] || fail "$step: complained '$(cat "$site/../err")', expected '${3:-}'"
}
rendered() { # pages whose output must be what render makes
  local name
  for name in "$@"; do
    (cd "$site" && bash /tests/render "pages/$name.page" ../wanted) || fail "$step: $name cannot be rendered"
    cmp "$site/../wanted" "$site/out/$name.html" || fail "$step: out/$name.html differs"
  done
}
files() { (cd "$site" && find . -type f | sort | tr '\n' ' '); }

put pages/home.page 01 '@include top' 'hello' '@include end'
put pages/Zoo.page 01 'no parts, but the word @include top in a line'
put pages/two-parts.page 01 '@include end'
put parts/top.part 01 '@include logo' 'top'
put parts/logo.part 01 '* site *'
put parts/end.part 01 'the end'
age render 01

step='first build'
build $'built Zoo\nbuilt home\nbuilt two-parts' 0
rendered home Zoo two-parts
step='second build'
build 'nothing to do' 0

for name in home Zoo two-parts; do age "out/$name.html" 10; done
step='nothing is newer'
build 'nothing to do' 0
[ "$(stat -c %Y "$site/out/home.html")" = "$(date -d '2020-01-01 00:10:00' +%s)" ] || fail "$step: an output was touched"
step='equal times'
age parts/logo.part 10
build 'nothing to do' 0
step='a part of a part'
put parts/logo.part 11 '** site **'
build 'built home' 0
rendered home
step='a shared part'
age out/home.html 12
put parts/end.part 13 'the very end'
build $'built home\nbuilt two-parts' 0
rendered home two-parts
step='a page'
for name in home Zoo two-parts; do age "out/$name.html" 20; done
put pages/Zoo.page 21 'lions'
build 'built Zoo' 0
rendered Zoo
step='the program'
for name in home Zoo two-parts; do age "out/$name.html" 22; done
age render 23
build $'built Zoo\nbuilt home\nbuilt two-parts' 0

step='left-overs'
rm "$site/pages/Zoo.page"
put out/notes.txt 24 'mine'
put out/old_news.html 24 'gone'
put pages/new.page 24 'new'
build $'built new\nremoved Zoo\nremoved old_news' 0
rendered new home
[ -f "$site/out/notes.txt" ] || fail "$step: out/notes.txt was removed"

step='missing parts'
put pages/bad.page 25 '@include nope' '@include top' '@include also-nope'
put parts/top.part 25 '@include logo' '@include gone' 'top'
put pages/very-new.page 25 'x'
build $'built very-new' 1 $'bad: missing part also-nope\nbad: missing part gone\nbad: missing part nope\nhome: missing part gone'
[ ! -e "$site/out/bad.html" ] && [ ! -e "$site/out/home.html" ] || fail "$step: a page without its parts has an output"
step='repaired'
put parts/gone.part 26 'back'
rm "$site/pages/bad.page"
build 'built home' 0
rendered home new two-parts very-new

step='files'
[ "$(files)" = './build.sh ./out/home.html ./out/new.html ./out/notes.txt ./out/two-parts.html ./out/very-new.html ./pages/home.page ./pages/new.page ./pages/two-parts.page ./pages/very-new.page ./parts/end.part ./parts/gone.part ./parts/logo.part ./parts/top.part ./render ' ] ||
  fail "$step: unexpected files: $(files)"

step='the site itself'
for name in index about plain; do
  (cd /app/site && bash /tests/render "pages/$name.page" /dev/stdout) | cmp - "/app/site/out/$name.html" || fail "$step: out/$name.html is not built"
done
echo "all steps pass"
reward=1
