import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/** Where a system keeps its programs. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The full path of a program, or null. The system directories are searched even if PATH leaves them out. */
export function findProgram(name: string, path = `${process.env.PATH ?? ''}:${systemPath}`): string | null {
  if (name.startsWith('/')) return isExecutable(name) ? name : null
  for (const dir of path.split(':')) {
    const file = join(dir, name)
    if (dir !== '' && isExecutable(file)) return file
  }
  return null
}

/** Whether this user may run a file. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
