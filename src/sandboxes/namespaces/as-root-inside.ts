import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { exhaustionCause } from '../../lib/exhaustion.ts'
import { findProgram, systemPath } from '../../lib/programs.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import type { AsRootInside } from './overlay-system.ts'

interface RootInside {
  readonly mode: 'root' | 'user'
  /** Arguments for `unshare`, for an ordinary user. */
  readonly unshare: readonly string[]
}

/** An ordinary user's sandbox holds files of its subordinate users, which only its own root may read or move. */
export function asRootInside({ mode, unshare }: RootInside): AsRootInside {
  return async (argv, stdin) => {
    const [program = '', ...args] = mode === 'user' ? ['unshare', ...unshare, ...argv] : argv
    const child = await spawnProcess(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: cleanEnv, cwd: '/' })
    const output: Buffer[] = []
    let complaint = ''
    let first = ''
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      first ||= text
      complaint = (complaint + text).slice(-500)
    })
    child.stdin.on('error', () => {})
    child.stdin.end(stdin)
    const [code] = (await once(child, 'close')) as [number | null]
    // It also exits with 1 when the program could not even be started.
    if (code !== 0 && /^unshare: /.test(first))
      throw new Error(`cannot run ${argv[0]}: ${first.trim()}`, exhaustionCause(first))
    if (code !== 0 && code !== 1) throw new Error(`${argv[0]} exited with ${code}: ${complaint.trim()}`)
    return Buffer.concat(output)
  }
}

/** The environment of every trusted program we start: nothing of the caller's environment reaches it. */
export const cleanEnv = { PATH: systemPath }

/** Whether there is a range in /etc/subuid, and the helpers that may map it. */
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

/** The user's name, or their id if /etc/passwd has no name for it, as in many containers. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}

const closeOnExec = 0o2000000

/**
 * Open files that this process inherited and that every program it starts would inherit. Node closes the low ones by
 * itself; the rest must not reach a sandbox.
 */
function inheritedDescriptors(): number[] {
  const numbers = readdirSync('/proc/self/fd').map(Number)
  return numbers.filter((fd) => fd > 9 && isInherited(fd))
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
  } catch {
    return false
  }
}

const leaked = inheritedDescriptors()

/** The shell for our scripts: dash starts faster, but only bash can close a descriptor above 9. */
export const shell = leaked.length > 0 ? '/bin/bash' : '/bin/sh'

/** Shell lines that close descriptors that must not be inherited. */
export const closeInherited: readonly string[] = leaked.map((fd) => `exec ${fd}>&-`)
