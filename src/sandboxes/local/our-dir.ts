import { lstatSync, mkdirSync } from 'node:fs'

/** Makes a directory where everybody may make one; false when it was made by somebody else, or others may enter it. */
export function isOurs(dir: string): boolean {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const stat = lstatSync(dir)
    return stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o777) === 0o700
  } catch {
    return false
  }
}
