import { spawnSync } from 'node:child_process'
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import { codeOf } from './errno.ts'

const heartbeatMs = 15_000
const held = new Set<string>()

/**
 * Holds a mark that tells every process of this machine, in whichever PID namespace, that this one lives: a named pipe that it
 * keeps open for reading. The kernel lets go of it when the process ends, however it ends. Once per process and directory. Where
 * none can be made, others take this process's state to be unknown and leave its things alone.
 */
export function holdMark(ownersDir: string, name: string): void {
  const path = join(ownersDir, name)
  if (held.has(path)) return
  if (held.size === 0) setInterval(beat, heartbeatMs).unref()
  held.add(path)
  // Under a temporary name until it is open: a pipe without a reader means a dead owner.
  const draft = join(ownersDir, `.${name}.tmp`)
  try {
    mkdirSync(ownersDir, { recursive: true, mode: 0o700 })
    if (spawnSync('mkfifo', ['-m', '600', draft], { stdio: 'ignore' }).status !== 0) return
    openSync(draft, constants.O_RDONLY | constants.O_NONBLOCK)
    renameSync(draft, path)
  } catch {
    rmSync(draft, { force: true })
    return
  }
  process.once('exit', () => rmSync(path, { force: true }))
}

/** What a mark says about its owner, provided that the owner is a process of this machine. */
export function markState(ownersDir: string, name: string): 'alive' | 'dead' | 'missing' | 'unknown' {
  try {
    closeSync(openSync(join(ownersDir, name), constants.O_WRONLY | constants.O_NONBLOCK))
    return 'alive'
  } catch (error) {
    const code = codeOf(error)
    return code === 'ENXIO' ? 'dead' : code === 'ENOENT' ? 'missing' : 'unknown'
  }
}

/** When a mark was renewed last, in milliseconds since 1970; null when there is none. */
export function lastSignOf(ownersDir: string, name: string): number | null {
  return statSync(join(ownersDir, name), { throwIfNoEntry: false })?.mtimeMs ?? null
}

/** The names of all marks in a directory, and of those that were being made. */
export function listMarks(ownersDir: string): string[] {
  try {
    return readdirSync(ownersDir)
  } catch {
    return []
  }
}

export function removeMark(ownersDir: string, name: string): void {
  rmSync(join(ownersDir, name), { force: true })
}

/** For machines that share the directory but not the kernel. */
function beat(): void {
  const now = new Date()
  for (const path of held) {
    try {
      utimesSync(path, now, now)
    } catch {
      // It could not be made.
    }
  }
}
