import { once } from 'node:events'
import { exhaustionCause } from '../../lib/exhaustion.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { cleanEnv } from './clean-env.ts'
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
    // It ends with 1 too when the program could not even be started.
    if (code !== 0 && /^unshare: /.test(first))
      throw new Error(`cannot run ${argv[0]}: ${first.trim()}`, exhaustionCause(first))
    if (code !== 0 && code !== 1) throw new Error(`${argv[0]} exited with ${code}: ${complaint.trim()}`)
    return Buffer.concat(output)
  }
}
