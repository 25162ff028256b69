import { existsSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { findProgram } from '../../lib/programs.ts'

/** A range in /etc/subuid and the helpers that may map it. */
export function hasSubordinateIds(): boolean {
  const uid = process.getuid?.()
  const username = userName()
  const owns = (path: string) =>
    existsSync(path) &&
    readFileSync(path, 'utf8')
      .split('\n')
      .some((line) => line.startsWith(`${username}:`) || line.startsWith(`${uid}:`))
  return (
    owns('/etc/subuid') && owns('/etc/subgid') && findProgram('newuidmap') !== null && findProgram('newgidmap') !== null
  )
}

/** The user's name, or their number where /etc/passwd has no name for it, as in many containers. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}
