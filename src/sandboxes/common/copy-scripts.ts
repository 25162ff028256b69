/**
 * Scripts that run inside a build's machine for COPY, ADD, WORKDIR and VOLUME: there, a link that an earlier layer left
 * can only lead into the sandbox. Each is POSIX shell for `sh -c SCRIPT sh ARGUMENTS`.
 */

/**
 * `find_owner user[:group]` sets uid and gid the way Docker does: a number without a group is also the group. `make`
 * makes a directory and its missing parents with that owner.
 */
const ownerFunctions = `
lookup() {
  while IFS=: read -r name _ id rest; do
    if [ "$name" = "$2" ]; then echo "$id:$rest"; return; fi
  done < "$1"
}
find_owner() {
  user=\${1%%:*} group=
  case $1 in *:*) group=\${1#*:} ;; esac
  case $user in
    *[!0-9]*) found=$(lookup /etc/passwd "$user"); uid=\${found%%:*}; found=\${found#*:}; gid=\${found%%:*} ;;
    *) uid=$user gid=$user ;;
  esac
  case $group in
    '') ;;
    *[!0-9]*) found=$(lookup /etc/group "$group"); gid=\${found%%:*} ;;
    *) gid=$group ;;
  esac
  [ -n "$uid" ] || { echo "there is no user $user" >&2; exit 1; }
  [ -n "$gid" ] || { echo "there is no group $group" >&2; exit 1; }
}
make() {
  if [ -d "$1" ]; then return; fi
  make "$(dirname -- "$1")"
  mkdir -- "$1"
  [ "$uid:$gid" = 0:0 ] || chown "$uid:$gid" -- "$1"
}`

/** $1 path, $2 owner. */
export const directoryScript = `set -eu; umask 022
${ownerFunctions}
find_owner "$2"
make "$1"`

/** $1 directory to make; a tar comes on standard input. */
export const receiveScript = 'set -eu; umask 022; mkdir -p -- "$1"; exec tar -xpf - -C "$1"'

/** $1 staging directory with one directory NUMBER.KIND per item, $2 destination, $3 owner or empty, $4 mode or empty. */
export const placeScript = `set -eu; umask 022
stage=$1 dest=$2 owner=$3 mode=$4
${ownerFunctions}
find_owner "\${owner:-0}"
adjust() {
  find "$1" \\( ! -user "$uid" -o ! -group "$gid" \\) -exec chown -h "$uid:$gid" {} +
  [ -z "$mode" ] || chmod -R "$mode" "$1"
}
put() {
  for entry in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    if [ -e "$entry" ] || [ -L "$entry" ]; then cp -a --remove-destination -- "$entry" "$2"; fi
  done
}
put_contents() { make "$dest"; put "$1" "\${dest%/}/"; }
put_file() {
  adjust "$1"
  if [ -d "$dest" ] || [ "\${dest%/}" != "$dest" ]; then put_contents "$1"
  else make "$(dirname -- "$dest")"; put "$1" "$dest"; fi
}
# A packed file that is no tar is copied as it is; one that cannot be read here is an error.
unpack() {
  archive=$(find "$1" -type f)
  if tar -tf "$archive" > "$stage/list" 2> "$stage/complaint" && [ -s "$stage/list" ]; then
    mkdir "$1.contents"
    tar -xpf "$archive" --numeric-owner -C "$1.contents"
    if [ -n "$owner$mode" ]; then adjust "$1.contents"; fi
    put_contents "$1.contents"
  elif grep -qi 'cannot exec\\|command not found' "$stage/complaint"; then
    cat "$stage/complaint" >&2
    exit 1
  else put_file "$1"; fi
}
for item in "$stage"/*; do
  case $item in
    *.file) put_file "$item" ;;
    *.dir) adjust "$item"; put_contents "$item" ;;
    *.archive) unpack "$item" ;;
  esac
done
rm -rf -- "$stage"`

/** The same, but the staging directory is made of the tar on standard input. */
export const receiveAndPlaceScript = `set -eu; umask 022; mkdir -p -- "$1"; tar -xpf - -C "$1"
${placeScript}`

/** $1 directory whose contents are sent as a tar, without the kernel's own file systems. */
export const sendContentsScript =
  'cd -- "$1" && if [ "$(pwd -P)" = / ]; then exec tar --exclude=./proc --exclude=./dev --exclude=./sys -cf - .; else exec tar -cf - .; fi'

/** $1 file that is sent as a tar; a link is followed to its file, unless it is dangling. */
export const sendFileScript =
  'cd -- "$(dirname -- "$1")" && if [ -e "$1" ]; then exec tar -chf - -- "$(basename -- "$1")"; else exec tar -cf - -- "$(basename -- "$1")"; fi'
