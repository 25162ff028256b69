import { readdir, rm, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './files.ts'

/** Removes a directory and everything in it, never following a link. Meant for many small trees: `rm` looks at every entry twice. */
export async function removeTree(dir: string): Promise<void> {
  try {
    await removeDir(dir)
  } catch (error) {
    if (!isMissing(error)) await rm(dir, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function removeDir(dir: string): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true })
  for (const entry of entries) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) await removeDir(path)
    else await unlink(path)
  }
  await rmdir(dir)
}
