import { readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { readdir, rm, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './files.ts'

/** So many entries are removed at once, without handing each to another thread: that costs more than the removal. */
const atOnce = 200

/** Removes a directory and everything in it, never following a link. Meant for many small trees: `rm` looks at every entry twice. */
export async function removeTree(dir: string): Promise<void> {
  try {
    if (!removeSmall(dir, { entries: atOnce })) await removeDir(dir)
  } catch {
    // Something was put into it or held meanwhile: try longer, and tell why it cannot be.
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** False when there was more than `left` allows; what came before is gone then. */
function removeSmall(dir: string, left: { entries: number }): boolean {
  let entries: ReturnType<typeof list>
  try {
    entries = list(dir)
  } catch (error) {
    if (isMissing(error)) return true
    throw error
  }
  for (const entry of entries) {
    if (left.entries-- === 0) return false
    const path = join(dir, entry.name)
    if (!entry.isDirectory()) unlinkSync(path)
    else if (!removeSmall(path, left)) return false
  }
  rmdirSync(dir)
  return true
}

function list(dir: string) {
  return readdirSync(dir, { withFileTypes: true })
}

async function removeDir(dir: string): Promise<void> {
  const entries = await unlessMissing(readdir(dir, { withFileTypes: true }))
  for (const entry of entries ?? []) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) await removeDir(path)
    else await unlessMissing(unlink(path))
  }
  await unlessMissing(rmdir(dir))
}

/** Somebody else removing the same thing is no failure. */
async function unlessMissing<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}
