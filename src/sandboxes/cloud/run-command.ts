import { BoundaryError } from '../../core/errors.ts'
import type { ExecOptions, ExecResult } from '../../core/sandbox.ts'
import { sleep } from '../../lib/deadline.ts'
import { shellQuote } from '../../lib/shell.ts'
import { cloudFailure } from './failures.ts'
import type { CloudMachine, ScriptResult } from './machine.ts'
import { collectScript, execScript, home, stopScript } from './scripts.ts'

const defaultLimitBytes = 1024 * 1024
/** Longer words are sent as a file, because the size of a request is limited. */
const wordsLimitBytes = 24 << 10
/** How long we wait for a command whose connection broke, if it has no time limit. */
const patienceSec = 24 * 3600

export interface CloudCommand {
  readonly id: string
  readonly cwd: string
  readonly user: string
  readonly env: Readonly<Record<string, string>>
  readonly forget: readonly string[]
}

/**
 * Runs a command to its end. A broken connection is re-established; a time limit or an abort kills all its processes.
 */
export async function runCommand(
  machine: CloudMachine,
  argv: readonly string[],
  command: CloudCommand,
  options: ExecOptions,
): Promise<ExecResult> {
  options.signal?.throwIfAborted()
  const { id, user } = command
  const limitBytes = options.outputLimitBytes ?? defaultLimitBytes
  const timeoutSec = options.timeoutSec ?? 0
  const words = await carriedWords(machine, id, argv)
  const input = await carriedInput(machine, id, options.stdin)
  options.signal?.throwIfAborted()
  const script = execScript({ ...command, limitBytes, timeoutSec, input, argv: words })
  const ended = machine
    .run(script, { env: command.env })
    .catch((error: unknown) => collect(machine, { id, limitBytes, timeoutSec }, error))
  ended.catch(() => {})
  const result = await orAborted(ended, options.signal, () => machine.run(stopScript(id, user)))
  const report =
    parseReport(result, id) ?? parseReport(await collect(machine, { id, limitBytes, timeoutSec }, null), id)
  if (report === null) throw cloudFailure('SandboxLostError', 'the sandbox ended a command without an exit status')
  if (report.noUser)
    throw new BoundaryError('task', `the sandbox has no user ${JSON.stringify(user)}`, { retryable: false })
  return report.result
}

const mostStops = 20

/** Waits for the command, or stops it and everything it started as soon as the signal aborts. */
async function orAborted(
  ended: Promise<ScriptResult>,
  signal: AbortSignal | undefined,
  stop: () => Promise<unknown>,
): Promise<ScriptResult> {
  if (!signal) return ended
  let onAbort: (() => void) | undefined
  const aborted = new Promise<'aborted'>((resolve) => {
    onAbort = () => resolve('aborted')
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    const first = await Promise.race([ended, aborted])
    if (first !== 'aborted') return first
    // A command whose request is still on its way cannot be stopped yet, so we keep stopping it until it has ended.
    const over = ended.then(
      () => true,
      () => true,
    )
    for (let attempt = 0; attempt < mostStops; attempt++) {
      await stop().catch(() => {})
      if (await Promise.race([over, sleep(100).then(() => false)])) break
    }
    throw signal.reason
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort)
  }
}

async function carriedInput(machine: CloudMachine, id: string, stdin: ExecOptions['stdin']): Promise<string> {
  if (stdin === undefined) return '/dev/null'
  const path = `${home}/${id}.in`
  await machine.put(path, Buffer.from(stdin))
  return path
}

async function carriedWords(machine: CloudMachine, id: string, argv: readonly string[]): Promise<readonly string[]> {
  if (argv.some((word) => word.includes('\0')))
    throw new BoundaryError('task', 'a word of a command holds a NUL character', { retryable: false })
  if (argv.reduce((sum, word) => sum + Buffer.byteLength(word), 0) <= wordsLimitBytes) return argv
  const path = `${home}/${id}.sh`
  await machine.put(path, Buffer.from(`exec ${argv.map(shellQuote).join(' ')}\n`))
  return ['sh', path]
}

interface SentCommand {
  readonly id: string
  readonly limitBytes: number
  readonly timeoutSec: number
}

/** Asks again for a command's result after the connection to it was lost. */
async function collect(
  machine: CloudMachine,
  { id, limitBytes, timeoutSec }: SentCommand,
  lost: unknown,
): Promise<ScriptResult> {
  for (let attempt = 0; ; attempt++) {
    if (!(await machine.alive().catch(() => true))) throw gone(lost)
    try {
      const waitSec = lost === null ? 1 : timeoutSec > 0 ? Math.ceil(timeoutSec) + 30 : patienceSec
      const result = await machine.run(collectScript(id, limitBytes, waitSec, lost === null))
      // It never started: only the request itself was lost.
      if (result.exitCode === 3 && lost !== null) throw lost
      return result
    } catch (error) {
      if (attempt >= 4 || error === lost) throw lost ?? error
      await sleep(200 * 2 ** attempt)
    }
  }
}

function gone(cause: unknown): BoundaryError {
  return cloudFailure('SandboxGoneError', 'the sandbox is gone: its provider no longer knows it', cause ?? undefined)
}

interface Report {
  readonly result: ExecResult
  readonly noUser: boolean
}

/**
 * Parses the last line of stderr, which is ours; null when it is missing, for example because our own script was
 * killed.
 */
function parseReport({ stdout, stderr }: ScriptResult, id: string): Report | null {
  const start = stderr.lastIndexOf(`\n${id} `)
  const [, code, late, cut] = /^\n\w+ (\d+) (0|1|nouser) (0|1)\s*$/.exec(stderr.slice(Math.max(0, start))) ?? []
  if (start < 0 || code === undefined) return null
  const timedOut = late === '1'
  const result = {
    exitCode: timedOut ? 124 : Number(code),
    stdout,
    stderr: stderr.slice(0, start),
    timedOut,
    truncated: cut === '1',
  }
  return { result, noUser: late === 'nouser' }
}
