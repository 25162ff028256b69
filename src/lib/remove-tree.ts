import { readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { isMissing } from './exhaustion.ts'
import { systemPath } from './programs.ts'
import { execProcess } from './spawn-process.ts'

/**
 * Removes a directory and everything in it, however deep, never following a link. Meant for many small trees, for each
 * of which a system program would cost a process; that program does the rest, because our paths can get too long.
 */
export async function removeTree(dir: string): Promise<void> {
  try {
    await removeDir(dir)
  } catch {
    await execProcess('/bin/sh', ['-c', script, 'sh', dir], { env: { PATH: systemPath } }).catch((error: unknown) => {
      throw new Error(`cannot remove ${dir}: ${complaintOf(error)}`)
    })
  }
}

/** An ordinary user may lack permission to look into a directory, or own it only as root of a user namespace. */
const script = `
remove() { rm -rf -- "$1"; }
remove "$1" 2> /dev/null || { find "$1" -type d ! -perm -700 -exec chmod u+rwx {} ';' && remove "$1"; } 2> /dev/null ||
unshare --map-root-user --map-auto rm -rf -- "$1" 2> /dev/null || remove "$1"`

/** The last line of its output, shortened, because it may contain a very long path. */
function complaintOf(error: unknown): string {
  const text = typeof error === 'object' && error !== null && 'stderr' in error ? String(error.stderr) : String(error)
  return text.trim().split('\n').at(-1)?.slice(-300) ?? ''
}

/** Deeper down, resolving every path from the top costs more than a process. */
const depthLimit = 50

/** Blocking calls cost a fraction of others; after this many, everything else gets its turn. */
const callsAtOnce = 64

async function removeDir(dir: string, depth = 0, calls = { made: 0 }): Promise<void> {
  if (depth > depthLimit) throw new Error('too deep')
  const entries = unlessMissing(() => readdirSync(dir, { withFileTypes: true }))
  for (const entry of entries ?? []) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) await removeDir(path, depth + 1, calls)
    else unlessMissing(() => unlinkSync(path))
    if (++calls.made % callsAtOnce === 0) await setImmediate()
  }
  unlessMissing(() => rmdirSync(dir))
}

/** Another process removing the same thing is not a failure. */
function unlessMissing<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}
