import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../core/errors.ts'
import { codeOf } from '../lib/files.ts'
import { signalGroup, spawnProcess } from '../lib/spawn-process.ts'

/** How long a command has to exit after being told to stop. */
const graceMs = 30_000

export interface CommandOptions {
  readonly log: string
  readonly signal: AbortSignal
  /** Receives the pid of the process group's leader once it has started. */
  readonly onStart?: ((pid: number) => Promise<void>) | undefined
}

/**
 * Runs a user's command without a shell and returns its exit code, or the signal that ended it. Its output goes to
 * `log`. Whatever it leaves running in its process group is stopped.
 */
export async function runCommand(
  words: readonly string[],
  { log, signal, onStart }: CommandOptions,
): Promise<number | string> {
  const [program = '', ...args] = words
  const output = await open(log, 'a')
  try {
    signal.throwIfAborted()
    const child = await spawnProcess(program, args, { stdio: ['ignore', output.fd, output.fd], detached: true })
    const exit = once(child, 'exit')
    const pid = child.pid ?? 0
    const stop = () => void stopGroup(pid)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    try {
      await onStart?.(pid)
      const [code, by] = await exit
      return code ?? String(by)
    } finally {
      signal.removeEventListener('abort', stop)
      await stopGroup(pid)
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    throw new UserError(`${program}: expected an installed program, found none`, 'install it, or correct the command')
  } finally {
    await output.close()
  }
}

/** Sends SIGTERM to a process group, and kills what is left after a while. */
export async function stopGroup(pid: number): Promise<void> {
  if (!signalGroup(pid, 'SIGTERM')) return
  const deadline = performance.now() + graceMs
  while (performance.now() < deadline) {
    await sleep(100)
    if (!signalGroup(pid, 0)) return
  }
  signalGroup(pid, 'SIGKILL')
}
