import { setTimeout as delay } from 'node:timers/promises'
import { BoundaryError } from '../../core/errors.ts'
import { relayOutput } from '../../lib/relay-output.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'

const lastWordsMs = 1000

/** Runs a job's script on this machine and waits for it. What it prints is news; it marks itself done like any other job. */
export async function runHere(job: string, scriptPath: string): Promise<void> {
  const child = await spawnProcess('bash', [scriptPath], { stdio: ['ignore', 'pipe', 'pipe'] })
  relayOutput(child)
  const printed = new Promise((resolve) => child.once('close', resolve))
  const end = await new Promise<string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, by) => resolve(code === 0 ? null : (by ?? `exit code ${code}`)))
  })
  // What it left running may hold its output open, and is not waited for.
  await Promise.race([printed, delay(lastWordsMs, null, { ref: false })])
  if (end === null) return
  throw new BoundaryError('scheduler', `${job}, which runs before anything is submitted, ended with ${end}`)
}
