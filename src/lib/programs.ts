import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The full path of a program, or null. The system directories are searched even where PATH leaves them out. */
export function findProgram(name: string): string | null {
  for (const dir of `${process.env.PATH ?? ''}:${systemPath}`.split(':')) {
    const path = join(dir, name)
    try {
      if (dir !== '') accessSync(path, constants.X_OK)
      else continue
      return path
    } catch {
      // Not here.
    }
  }
  return null
}
