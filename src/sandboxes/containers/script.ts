import { BoundaryError } from '../../core/errors.ts'
import { shellQuote } from '../../lib/shell.ts'

/** One command for a shell inside to run. */
export interface ScriptRequest {
  readonly argv: readonly string[]
  readonly cwd?: string | undefined
  readonly env: Readonly<Record<string, string>>
  /**
   * Printed on stderr before the command starts, and on both streams after it; on stdout, the exit code and a verdict
   * follow.
   */
  readonly mark: string
  /** Sent to the command through a pipe; `own`: the shell's own stdin is the command's. */
  readonly stdin: Uint8Array | 'none' | 'own'
}

/** The variable by which a command's processes are found again. */
export const commandVariable = 'OT_AGENT_COMMAND'

/**
 * What a shell runs before the first command. Its own messages, for example about a killed child, belong to no
 * command's output. A session of its own distinguishes a command's processes from everything else.
 */
export const prelude =
  'exec 4>&2 2>/dev/null; s=; for p in /usr/bin/setsid /bin/setsid; do [ -x $p ] && s=$p && break; done\n'

/** Where our own commands are looked up: the image's PATH may begin with a directory that an agent can write to. */
export const ownPath = '/usr/sbin:/usr/bin:/sbin:/bin'

/** A pipe takes this much without a reader. */
export const pipeBytes = 60_000

/** The text that makes a shell run one command and report its end. Needs no program besides the command itself. */
export function renderCommand(request: ScriptRequest): string {
  const { argv, cwd, env, mark, stdin } = request
  const plain = Object.entries(env).filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
  const odd = Object.entries(env).filter(([name]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
  const words = [
    ...(odd.length > 0 ? ['/usr/bin/env', ...odd.map(([name, value]) => `${name}=${value}`)] : []),
    ...argv,
  ]
  const steps = [
    ...(cwd === undefined ? [] : [`cd ${quote(cwd)} || exit 126`]),
    ...plain.map(([name, value]) => `export ${name}=${quote(value)}`),
    `exec $s ${words.map(quote).join(' ')}`,
  ]
  const body = `(${steps.join('; ')})`
  const run =
    stdin === 'own'
      ? `${body} 2>&4 4>&-`
      : stdin === 'none'
        ? `${body} </dev/null 2>&4 4>&-`
        : `printf ${printfFormat(stdin)} | ${body} 2>&4 4>&-`
  return `printf %s ${mark} >&4; ${run}\nc=$?; ${stdin === 'own' ? 'k=0' : leftovers}; printf %s ${mark} >&4; printf '%s:%s:%s.' ${mark} $c $k\n${stdin === 'own' ? drain : ''}`
}

/** The format with which printf writes exactly these bytes. */
export function printfFormat(data: Uint8Array): string {
  let text = ''
  for (const byte of data) {
    // A leading dash would be an option.
    const plain = byte >= 32 && byte < 127 && byte !== 37 && byte !== 39 && byte !== 92 && (byte !== 45 || text !== '')
    text += plain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`
  }
  return `'${text}'`
}

/**
 * Reads what the command left unread: an engine that cannot deliver it would close the connection and lose our report.
 */
const drain = '/bin/cat >/dev/null\n'

/**
 * Sets k to 1 when the shell may serve another command: no other process holds its streams, except process 1, which is
 * ours and may have given them to the shell. A process whose descriptors cannot be examined may hold them.
 */
const leftovers = [
  'k=1',
  'for f in /proc/[0-9]*/fd/*; do case $f in /proc/$$/*|/proc/1/*) continue;; esac',
  'if [ $f -ef /proc/$$/fd/1 ] || [ $f -ef /proc/$$/fd/4 ] || { [ -h $f ] && [ ! -e $f ]; }; then k=0; break; fi',
  'done',
].join('; ')

/**
 * Kills every process that carries a command's mark, its descendants and whatever shares a session with one of them,
 * until none is left; `known` are pids already found, and all pids found are printed before `done`. Uses only the shell
 * itself, so it works even when no further process can be started.
 */
export function renderKill(mark: string, known: string, done: string): string {
  return `printf %s ${done} >&4
m() { while IFS= read -r e || [ -n "$e" ]; do case $e in *${commandVariable}=${mark}*) return 0;; esac; done; return 1; }
l='${known}'; n=0
while [ $n -lt 200 ]; do n=$((n+1)); y=
for d in /proc/[0-9]*; do p=\${d#/proc/}; t=
{ IFS= read -r t <$d/stat; } 2>/dev/null; [ -n "$t" ] || continue
t=\${t##*) }; set -- $t
[ "$1" = Z ] && continue
h=
[ $p = $$ ] && continue
case "$l" in *" $p "*|*" $2 "*|*" $4 "*) h=1;; esac
[ -n "$h" ] || { m <$d/environ && h=1; } 2>/dev/null
[ -n "$h" ] && { kill -9 $p; l="$l$p "; y=1; }
done
[ -n "$y" ] || break
done
printf %s ${done} >&4; printf '%s%s:0:1.' "$l" ${done}
`
}

/** The text that makes a shell answer at once; `mark` as for a command. */
export function renderPing(mark: string): string {
  return `printf %s ${mark} >&4; printf %s ${mark} >&4; printf '%s:0:1.' ${mark}\n`
}

function quote(word: string): string {
  if (word.includes('\0')) {
    throw new BoundaryError('task', 'a command, a variable or a directory holds a NUL character', { retryable: false })
  }
  return shellQuote(word)
}
