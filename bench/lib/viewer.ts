import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Row } from './rows.ts'

/** A viewer started for a measurement. */
export interface Viewer {
  readonly origin: string
  /** When its program was started, on the clock of `performance.now()`. */
  readonly startedMs: number
  /** Memory in megabytes: `VmRSS` is current, `VmHWM` the maximum. */
  memoryMb(name: 'VmRSS' | 'VmHWM'): number
  stop(): Promise<void>
}

/** Starts `ot-agent view` and waits until it reports its address. */
export async function startViewer(...words: readonly string[]): Promise<Viewer> {
  const args = ['bin/ot-agent.js', 'view', ...words, '--port', '0', '--no-open', '--json']
  const startedMs = performance.now()
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return viewerOf(child, startedMs, await originOf(child))
}

export function viewerOf(child: ChildProcess, startedMs: number, origin: string): Viewer {
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    ...{ origin, startedMs },
    memoryMb: (name) => {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1000
    },
    stop: () => {
      child.kill()
      return ended
    },
  }
}

/** The response to a request, and how long it took. */
export async function ask<T>(url: string): Promise<{ readonly ms: number; readonly body: T }> {
  const since = performance.now()
  // A server that was busy for seconds may have closed an idle connection; browsers retry as well.
  const response = await fetch(url).catch(() => fetch(url))
  const body = (await response.json()) as T
  if (!response.ok) throw new Error(`${url}: ${response.status} ${JSON.stringify(body).slice(0, 300)}`)
  return { ms: performance.now() - since, body }
}

/** A row whose goal is an upper bound. */
export function under(name: string, value: number, unit: string, most: number): Row {
  return { name, value, unit, goal: `under ${most}`, ok: value < most }
}

async function originOf(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('expected a pipe')
  let said = ''
  for await (const line of createInterface({ input: child.stdout })) {
    said += line
    const [, origin] = /"url": "(http:\/\/[^/]+)/.exec(said) ?? []
    if (origin) return origin
  }
  throw new Error(`the viewer ended: ${said}`)
}
