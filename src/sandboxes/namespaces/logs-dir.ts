import { chmod, lstat, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

const names = ['agent', 'verifier', 'artifacts']

/** Makes a directory for /logs whose `verifier` is empty; the rest moves over from the previous one. Nothing may run inside meanwhile. */
export async function makeLogsDir(dir: string, previous: string | null): Promise<void> {
  await mkdir(dir, { recursive: true })
  await chmod(dir, 0o755)
  for (const name of names) {
    const path = join(dir, name)
    if (previous !== null && name !== 'verifier') await rename(join(previous, name), path).catch(() => {})
    // A program inside may have left a link in its place; looked at only after the move, when none can reach it any more.
    if (!(await lstat(path).catch(() => null))?.isDirectory()) {
      await rm(path, { force: true })
      await mkdir(path)
    }
    await chmod(path, 0o777)
  }
}
