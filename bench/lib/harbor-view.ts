import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../../src/lib/programs.ts'
import { type Viewer, viewerOf } from './viewer.ts'

/** The program `harbor`: named by HARBOR, on the path, or installed by test/interop. */
export function findHarbor(cacheHome = join(homedir(), '.cache')): string | null {
  const venvs = join(cacheHome, 'ot-agent', 'interop', 'venvs')
  const installed = existsSync(venvs) ? readdirSync(venvs).filter((name) => name.startsWith('harbor-')) : []
  const last = installed.sort().at(-1)
  return process.env.HARBOR ?? findProgram('harbor') ?? (last ? join(venvs, last, 'bin', 'harbor') : null)
}

/** Starts `harbor view` on a folder of jobs and waits until it responds. */
export async function startHarbor(program: string, dir: string): Promise<Viewer> {
  const port = 20_000 + (process.pid % 20_000)
  const startedMs = performance.now()
  const child = spawn(program, ['view', dir, '--jobs', '--no-build', '--host', '127.0.0.1', '--port', String(port)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const viewer = viewerOf(child, startedMs, `http://127.0.0.1:${port}`)
  for (;;) {
    if (child.exitCode !== null) throw new Error(`harbor view ended with exit code ${child.exitCode}`)
    if (await fetch(`${viewer.origin}/api/health`).catch(() => null)) return viewer
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
