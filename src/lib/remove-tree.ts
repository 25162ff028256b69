import { type Dirent, readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from './files.ts'

/** Up to here it costs less to remove a tree at once than to wait for the disk entry by entry. */
const smallEntries = 300

/** Removes a directory and everything in it, never following a link; a big one without holding up anything else. */
export async function removeTree(dir: string): Promise<void> {
  try {
    if (removeSmall(dir, smallEntries) >= 0) return
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
  }
  await rm(dir, { recursive: true, force: true, maxRetries: 3 })
}

/** Removes as long as the count of entries lasts; returns what is left of it, below 0 when the tree is too big. */
function removeSmall(dir: string, left: number): number {
  const entries: Dirent[] = readdirSync(dir, { withFileTypes: true })
  let remaining = left - entries.length
  for (const entry of entries) {
    if (remaining < 0) return remaining
    const path = join(dir, entry.name)
    if (entry.isDirectory()) remaining = removeSmall(path, remaining)
    else unlinkSync(path)
  }
  if (remaining >= 0) rmdirSync(dir)
  return remaining
}
