import { readdir, rm, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './files.ts'

/** Removes a directory and everything in it, never following a link. Meant for many small trees: `rm` looks at every entry twice. */
export async function removeTree(dir: string): Promise<void> {
  try {
    await removeDir(dir)
  } catch {
    // Something was put into it or held meanwhile: try longer, and tell why it cannot be.
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  }
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
