import { shellQuote } from '../../lib/shell.ts'

/** Where our own files are inside. */
export const home = '/var/lib/ot-agent'

/** A script's text and its arguments as one shell line. */
export function scriptWith(text: string, args: readonly (string | number)[]): string {
  return ['sh', '-c', text, 'sh', ...args.map(String)].map(shellQuote).join(' ')
}

/** The processes of a command carry this variable, so that they can be found wherever they moved. */
const mark = 'OT_AGENT_COMMAND'

/**
 * Kills everything that carries the mark of command $id until nothing is left. Root without the right to trace cannot
 * read the variables of another user's processes; that user can.
 */
const killAll = `slay() {
  n=0
  while [ $n -lt 60 ]; do
    found=$(grep -ls "${mark}=$id" /proc/[0-9]*/environ 2>/dev/null)
    [ -z "$become" ] || found="$found $($become grep -ls "${mark}=$id" /proc/[0-9]*/environ 2>/dev/null)"
    [ -n "\${found# }" ] || return 0
    for f in $found; do p=\${f#/proc/}; kill -9 "\${p%/environ}" 2>/dev/null; done
    n=$((n + 1)); [ $n -gt 2 ] && sleep 0.02
  done
}`

/** Kills until the command has ended: a command that is just starting carries its mark only once its program runs. */
const killUntilEnded = `slay_until_ended() {
  tries=0
  while [ $tries -lt 600 ] && [ ! -e "$d/code" ]; do slay; tries=$((tries + 1)); sleep 0.05; done
}`

/**
 * Sets up what a user's program starts with: $become before its words, and HOME. $user is a name or number, optionally
 * with a group.
 */
const become = `as() {
  uid=0; dir=/root; become=
  case "$user" in ''|root|0) ;; *)
    name=\${user%%:*}; group=; case "$user" in *:*) group=\${user#*:};; esac
    line=$(getent passwd "$name" 2>/dev/null || grep "^$name:" /etc/passwd)
    case "$line$name" in *[!0-9]*) [ -n "$line" ] || return 1;; esac
    uid=$(printf %s "$line" | cut -d: -f3); gid=$(printf %s "$line" | cut -d: -f4); dir=$(printf %s "$line" | cut -d: -f6)
    groups=--init-groups; [ -n "$line" ] || groups=--clear-groups
    become="setpriv --reuid \${uid:-$name} --regid \${group:-\${gid:-$name}} $groups --";;
  esac
  HOME=\${OT_HOME:-\${dir:-/}}; export HOME
  if [ -n "\${OT_PATH-}" ]; then PATH=$OT_PATH; export PATH; fi
  unset OT_HOME OT_PATH
}`

/**
 * Runs a command to its end and keeps the beginning of its output in files, so that the result can be requested again
 * if the connection breaks. The last line on stderr says how it ended.
 */
const execText = `id=$1 limit=$2 sec=$3 user=$4 cwd=$5 input=$6 old=$7; shift 7
d=${home}/$id
for o in $old; do rm -rf "${home}/$o" "${home}/$o".*; done
mkdir -p -m 700 ${home} && mkdir -m 700 "$d" && mkfifo "$d/o" "$d/e" || exit 125
${killAll}
${killUntilEnded}
${become}
flush=; command -v stdbuf > /dev/null && flush='stdbuf -o0'
keep() { $flush head -c $((limit + 1)) > "$d/$1.kept"; cat > /dev/null; : > "$d/$1.done"; }
( exec < "$d/o" > /dev/null 2>&1; keep o ) &
( exec < "$d/e" > /dev/null 2>&1; keep e ) &
as || : > "$d/nouser"
watch=
if [ "$sec" != 0 ]; then { sleep "$sec"; : > "$d/late"; slay_until_ended; } < /dev/null > /dev/null 2>&1 & watch=$!; fi
{ (
  exec < "$input" > "$d/o" 2> "$d/e"
  [ -e "$d/nouser" ] && exit 126
  { [ -e "$d.stop" ] || [ -e "$d/late" ]; } && exit 137
  cd "$cwd" || exit 126
  ${mark}=$id; export ${mark}
  unset id limit sec user cwd input old d watch uid gid dir name group line groups
  exec $become "$@"
); code=$?; } 2> /dev/null
if [ -e "$d/late" ] || [ -e "$d.stop" ]; then slay; fi
[ -n "$watch" ] && kill -9 $watch 2> /dev/null
n=0
while [ $n -lt 20 ] && ! { [ -e "$d/o.done" ] && [ -e "$d/e.done" ]; }; do sleep 0.01; n=$((n + 1)); done
echo "$code" > "$d/code"`

/** Prints a command's result: its output, then one line on stderr about its end. */
const tellText = `tell() {
  cut=0; late=0
  for f in o e; do [ "$(wc -c < "$d/$f.kept")" -gt "$limit" ] && cut=1; done
  [ -e "$d/late" ] && late=1
  [ -e "$d/nouser" ] && late=nouser
  head -c "$limit" "$d/o.kept"
  head -c "$limit" "$d/e.kept" >&2
  printf '\\n%s %s %s %s' "$id" "$(cat "$d/code" 2> /dev/null || echo 137)" $late $cut >&2
}`

export interface ExecScript {
  readonly id: string
  readonly limitBytes: number
  readonly timeoutSec: number
  readonly user: string
  readonly cwd: string
  /** A file inside that becomes stdin. */
  readonly input: string
  /** Commands whose files are no longer needed. */
  readonly forget: readonly string[]
  readonly argv: readonly string[]
}

export function execScript(script: ExecScript): string {
  const { id, limitBytes, timeoutSec, user, cwd, input, forget, argv } = script
  const args = [id, limitBytes, timeoutSec, user, cwd, input, forget.join(' '), ...argv]
  return scriptWith(`${execText}\n${tellText}\ntell`, args)
}

/**
 * Gets the result of a command whose connection broke; waits a limited number of seconds for its end. 3: the command is
 * unknown, 4: it is still running. A command whose own script was killed counts as ended: 128 + 9.
 */
export function collectScript(id: string, limitBytes: number, waitSec: number, isKilled: boolean): string {
  // A command whose request got no answer may be about to start: it gets some time to do so.
  const text = `id=$1 limit=$2 d=${home}/$1 n=0
while [ ! -d "$d" ]; do
  if [ $n -ge 5 ]; then exit 3; fi
  sleep 1; n=$((n + 1))
done
${tellText}
n=0
while [ ! -e "$d/code" ]; do
  if [ $n -ge "$3" ]; then [ "$4" = killed ] && break; exit 4; fi
  sleep 1; n=$((n + 1))
done
tell`
  return scriptWith(text, [id, limitBytes, waitSec, isKilled ? 'killed' : 'lost'])
}

/** Stops a command, even one that is only about to start. */
export function stopScript(id: string, user: string): string {
  const text = `id=$1 user=$2 d=${home}/$1
${killAll}
${become}
as
mkdir -p -m 700 ${home}; : > "$d.stop"
slay
n=0
while [ -d "$d" ] && [ ! -e "$d/code" ] && [ $n -lt 100 ]; do slay; sleep 0.02; n=$((n + 1)); done
slay`
  return scriptWith(text, [id, user])
}

/** Becomes a program on the terminal it is started on; keeps its pid for \`resizeScript\`. */
export function terminalScript(id: string, user: string, cwd: string, argv: readonly string[]): string {
  const text = `id=$1 user=$2 cwd=$3; shift 3
mkdir -p -m 700 ${home}; echo $$ > "${home}/$id.pid"
${become}
as || { echo "there is no user $user"; exit 126; }
cd "$cwd" || exit 126
${mark}=$id; export ${mark}
unset id user cwd uid gid dir name group line groups
exec $become "$@"`
  return scriptWith(text, [id, user, cwd, ...argv])
}

export function resizeScript(id: string, cols: number, rows: number): string {
  return scriptWith(`stty cols "$2" rows "$3" < "/proc/$(cat "${home}/$1.pid")/fd/0"`, [id, cols, rows])
}

/** Prints every existing process, so that later ones can be told apart. */
export const listProcesses = `for f in /proc/[0-9]*/stat; do read -r s < $f || continue; p=\${s%% *}; s=\${s##*) }; set -- $s; echo "$p:\${20}"; done 2> /dev/null`

/** Kills every process except those listed (pid:start) and the script's own parents. */
export function killScript(spared: readonly string[]): string {
  const text = `spared=" $1 "; mine=" $$ "; p=$$
while [ "$p" -gt 1 ]; do
  read -r s < /proc/$p/stat || break; s=\${s##*) }; set -- $s; p=$2; mine="$mine$p "
done
round=0
while [ $round -lt 50 ]; do
  left=0
  for f in /proc/[0-9]*/stat; do
    { read -r s < $f; } 2> /dev/null || continue
    p=\${s%% *}; s=\${s##*) }; set -- $s
    case "$1" in Z|X) continue;; esac
    case "$spared" in *" $p:\${20} "*) continue;; esac
    case "$mine" in *" $p "*) continue;; esac
    kill -9 "$p" 2> /dev/null && left=1
  done
  [ $left = 0 ] && exit 0
  round=$((round + 1)); [ $round -gt 2 ] && sleep 0.05
done
exit 1`
  return scriptWith(text, [spared.join(' ')])
}

/** Makes the log directories, writable by everyone, whatever was in their place. */
const logsText = `for p in /logs /logs/agent /logs/verifier /logs/artifacts; do
  if [ -L $p ] || [ ! -d $p ]; then rm -rf $p; mkdir $p || exit 1; fi
done
chmod 755 /logs; chmod 777 /logs/agent /logs/verifier /logs/artifacts`

export const startScript = `mkdir -p -m 700 ${home} && ${logsText}`

export const cleanScript = `rm -rf /tests /logs/verifier; find /dev/shm -mindepth 1 -delete 2> /dev/null
${logsText}`

/** Runs a build command as a user, in a directory, with variables. */
export function buildScript(
  user: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
  argv: readonly string[],
): string {
  const exports = Object.entries(env).map(([name, value]) => `export ${name}=${shellQuote(value)}`)
  const text = `user=$1 cwd=$2; shift 2
${become}
as || { echo "there is no user $user" >&2; exit 126; }
${exports.join('\n')}
cd "$cwd" || exit 126
exec $become "$@"`
  return scriptWith(text, [user, cwd, ...argv])
}
