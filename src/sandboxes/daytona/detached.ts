import { randomBytes } from 'node:crypto'
import { sleep } from '../../lib/deadline.ts'
import { shellQuote } from '../../lib/shell.ts'
import { cloudFailure } from '../cloud/failures.ts'
import type { ScriptOptions, ScriptResult } from '../cloud/machine.ts'

/** Runs a script in one request and returns its output, stdout and stderr together. */
export type Call = (script: string, timeoutSec: number, env: Readonly<Record<string, string>>) => Promise<string>

/**
 * How long one request waits for a script before another takes over: nothing on the way may consider the connection
 * dead.
 */
const waitSec = 20
/** Where scripts leave their records; separate from our other files, because it exists before they do. */
const home = '/var/tmp/ot-agent-calls'

/**
 * Runs scripts to their end by short requests that may be lost and sent again. A script is detached from the request
 * that starts it and leaves a record under an id: starting it twice only waits for it.
 */
export class Detached {
  /** Records that have been read; the next request removes them. */
  private read: string[] = []

  constructor(private readonly call: Call) {}

  async run(script: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    const id = randomBytes(8).toString('hex')
    const env = options.env ?? {}
    const sweep = this.read.splice(0).map((old) => `rm -rf ${home}/${old}`)
    const start = renderStart(id, script, options.cwd === undefined ? '/' : options.cwd, Object.keys(env))
    const values = Object.fromEntries(Object.values(env).map((value, i) => [`OT_V${i}`, value]))
    const wait = renderWait(id)
    let text = await this.call([...sweep, start, wait].join('\n'), waitSec + 30, values)
    for (let garbled = 0; garbled < 8; ) {
      const report = parseReport(text)
      if (report === 'lost') break
      // The script's commands may have killed the shell that was to report; asking again will tell.
      if (report === null) await sleep(50 * 2 ** garbled++)
      else if (report !== 'running') {
        this.read.push(id)
        return report
      }
      text = await this.call(wait, waitSec + 30, {})
    }
    throw cloudFailure('SandboxLostError', 'the sandbox lost the record of a running script')
  }
}

/**
 * Values of variables are sent separately from the script, under names of ours, so that no argument list shows them.
 */
function renderStart(id: string, script: string, cwd: string | null, names: readonly string[]): string {
  const variables = names.map((name, i) => `export ${name}="$OT_V${i}"; unset OT_V${i}; `).join('')
  const enter = cwd === null ? '' : `cd ${shellQuote(cwd)} || exit 126; `
  const body = [
    'd=$1',
    'echo $$ > $d/pid',
    'exec 9<>$d/done',
    `( ${variables}${enter}exec 9>&-; exec sh -c "$2" ) > $d/out 2> $d/err < /dev/null`,
    'echo $? > $d/code.new; mv $d/code.new $d/code',
    'for i in 1 2 3 4 5 6; do echo done >&9; done',
  ].join('\n')
  const detached = `sh -c ${shellQuote(body)} ot-agent $d ${shellQuote(script)} < /dev/null > /dev/null 2>&1`
  return [
    'umask 022',
    `d=${home}/${id}`,
    `mkdir -p -m 700 ${home}`,
    'if mkdir $d 2> /dev/null; then',
    'mkfifo $d/done',
    // A process that a shell starts in the background ignores interrupts, and so would its children; `setsid -f` avoids
    // that.
    `if setsid --help 2>&1 | grep -q -e --fork; then setsid -f ${detached}; else setsid ${detached} & fi`,
    'fi',
  ].join('\n')
}

/**
 * Waits for the line that marks the end; a timer writes one too. Each reader checks the record first, so none waits in
 * vain.
 */
function renderWait(id: string): string {
  return `cd ${home}/${id} 2> /dev/null || { echo lost; exit 0; }
exec 8<>done
ended() {
  [ -e code ] && return 0
  p=$(cat pid 2> /dev/null)
  [ -z "$p" ] || kill -0 $p 2> /dev/null || [ -e code ] || echo 137 > code
  [ -e code ]
}
if ! ended; then
  ( trap 'kill $s 2> /dev/null; exit' TERM; sleep ${waitSec} & s=$!; wait $s; echo late >&8 ) > /dev/null 2>&1 < /dev/null & t=$!
  [ -e code ] || read x <&8
  kill $t 2> /dev/null
fi
if ! ended; then echo running; exit 0; fi
echo "ended $(cat code)"
[ -e out ] && base64 < out
echo --
[ -e err ] && base64 < err
echo .`
}

/** Parses the output of a wait; null when the report is incomplete. */
function parseReport(text: string): ScriptResult | 'lost' | 'running' | null {
  const lines = text.split('\n').map((line) => line.trim())
  const [first = ''] = lines
  if (first === 'lost' || first === 'running') return first
  const code = /^ended (\d+)$/.exec(first)?.[1]
  const [middle, end] = [lines.indexOf('--'), lines.indexOf('.')]
  if (code === undefined || middle < 0 || end < middle) return null
  const decode = (part: readonly string[]) => Buffer.from(part.join(''), 'base64').toString('utf8')
  return {
    exitCode: Number(code),
    stdout: decode(lines.slice(1, middle)),
    stderr: decode(lines.slice(middle + 1, end)),
  }
}
