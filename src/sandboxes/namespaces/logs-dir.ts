import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const names = ['agent', 'verifier', 'artifacts']

/** Makes a directory for /logs whose `verifier` is empty; the rest moves over from the previous one. Nothing may run inside meanwhile. */
export function makeLogsDir(dir: string, previous: string | null): void {
  mkdirSync(dir, { recursive: true })
  chmodSync(dir, 0o755)
  for (const name of names) {
    const path = join(dir, name)
    if (previous !== null && name !== 'verifier') moveIfThere(join(previous, name), path)
    // A program inside may have left a link in its place; looked at only after the move, when none can reach it any more.
    if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      rmSync(path, { force: true })
      mkdirSync(path)
    }
    chmodSync(path, 0o777)
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    // A program inside removed it.
  }
}
