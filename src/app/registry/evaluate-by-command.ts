import { once } from 'node:events'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../../core/errors.ts'
import { codeOf } from '../../lib/files.ts'
import { splitShellWords } from '../../lib/shell-words.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import type { Evaluate } from './listen.ts'

/** How long a command has to end by itself after it was told to stop. */
const graceMs = 30_000

/**
 * Evaluates a model with a command of the user, started without a shell: `{model}`, `{benchmark}` and `{job}` in its words are replaced.
 * It has to leave the job `{job}` in `jobsDir`. Whatever it started in its process group is stopped when it has ended.
 */
export function evaluateByCommand(command: string, jobsDir: string): Evaluate {
  const words = splitShellWords(command)
  if (words === null || words.length === 0)
    throw new UserError(`expected a command, got ${JSON.stringify(command)}`, 'close every quote')
  for (const name of ['{model}', '{job}'])
    if (!words.some((word) => word.includes(name)))
      throw new UserError(
        `expected ${name} in the command, found none`,
        "such as 'ot-agent run -d BENCHMARK -m {model} --job-name {job}'",
      )
  return async ({ model, benchmark, attempt, signal }) => {
    const job = `${slug(benchmark)}-${slug(model)}-${attempt}`
    const values: Readonly<Record<string, string>> = { model, benchmark, job }
    const filled = words.map((word) => word.replace(/\{(model|benchmark|job)\}/g, (all, name) => values[name] ?? all))
    await mkdir(jobsDir, { recursive: true })
    const log = join(jobsDir, `${job}.log`)
    const ended = await runToEnd(filled, log, signal)
    signal.throwIfAborted()
    if (ended !== 0) throw new Error(`the command ended with ${ended}; what it printed is in ${log}`)
    return { jobDir: join(jobsDir, job) }
  }
}

async function runToEnd(words: readonly string[], log: string, signal: AbortSignal): Promise<number | string> {
  const [program = '', ...args] = words
  const output = await open(log, 'a')
  try {
    signal.throwIfAborted()
    const child = await spawnProcess(program, args, { stdio: ['ignore', output.fd, output.fd], detached: true })
    const exit = once(child, 'exit')
    const pid = child.pid ?? 0
    const stop = () => void stopGroup(pid)
    signal.addEventListener('abort', stop, { once: true })
    try {
      const [code, by] = await exit
      return code ?? String(by)
    } finally {
      signal.removeEventListener('abort', stop)
      await stopGroup(pid)
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    throw new UserError(`${program}: expected a program, found none`, 'name a program that is installed')
  } finally {
    await output.close()
  }
}

/** Tells every process of a group to end, and after a while ends those that did not. */
async function stopGroup(pid: number): Promise<void> {
  if (!tell(pid, 'SIGTERM')) return
  const deadline = performance.now() + graceMs
  while (performance.now() < deadline) {
    await sleep(100)
    if (!tell(pid, 0)) return
  }
  tell(pid, 'SIGKILL')
}

/** False when no process of the group is left. */
function tell(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

/** A name that is safe as part of a file name. */
function slug(text: string): string {
  return text.replace(/[^\w.-]+/g, '-').replace(/^[.-]+/, '')
}
