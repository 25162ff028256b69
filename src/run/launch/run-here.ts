import { spawn } from 'node:child_process'
import { BoundaryError } from '../../core/errors.ts'

/** Runs a job's script on this machine and waits for it. What it prints is news; it marks itself done like any other job. */
export async function runHere(job: string, scriptPath: string): Promise<void> {
  const child = spawn('bash', [scriptPath], { stdio: ['ignore', 2, 2] })
  const end = await new Promise<string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, by) => resolve(code === 0 ? null : (by ?? `exit code ${code}`)))
  })
  if (end === null) return
  throw new BoundaryError('scheduler', `${job}, which runs before anything is handed over, ended with ${end}`)
}
