import { chownSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { IPty } from '@lydell/node-pty'
import type { Terminal, TerminalOptions } from '../../core/sandbox.ts'
import { patiently } from '../../lib/exhaustion.ts'
import { makePtyInput } from './pty-input.ts'

interface Start {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface PtyOptions extends TerminalOptions {
  /** The user and group on the host that programs inside may open the terminal as; this process's by default. */
  readonly owner?: number | undefined
}

/** Opens a pseudo-terminal on a command; `cleanUp` runs once it has ended, however it ended. */
export async function openPty(entry: Start, options: PtyOptions, cleanUp: () => Promise<void>): Promise<Terminal> {
  const pty = await patiently(async () => start(entry, options)).catch(async (error: unknown) => {
    await cleanUp()
    throw error
  })
  const input = makePtyInput(pty)
  const exited = new Promise<number>((resolve) => {
    pty.onExit(({ exitCode, signal }) => {
      input.close()
      void cleanUp().finally(() => resolve(signal ? 128 + signal : exitCode))
    })
  })
  let open = true
  void exited.then(() => {
    open = false
  })
  return {
    exited,
    write: (data) => input.write(data),
    onData: (listener) => {
      const subscription = pty.onData(listener)
      return () => subscription.dispose()
    },
    resize: (cols, rows) => {
      if (open) pty.resize(cols, rows)
    },
    close: async () => {
      if (open) pty.kill('SIGKILL')
      await exited
    },
  }
}

/** Not by `import`: one that fails because files cannot be opened for a moment fails for ever after. */
const require = createRequire(import.meta.url)

function start({ program, args, env }: Start, { cols = 160, rows = 40, owner }: PtyOptions): IPty {
  const { spawn } = require('@lydell/node-pty') as typeof import('@lydell/node-pty')
  const pty = spawn(program, [...args], { cols, rows, cwd: '/', env: { ...env }, encoding: 'utf8' })
  // Long before the program inside starts, or none could open /dev/stderr.
  if (owner !== undefined) chownSync(ptsOf(pty), owner, owner)
  return pty
}

function ptsOf(pty: IPty): string {
  if ('ptsName' in pty && typeof pty.ptsName === 'string') return pty.ptsName
  throw new Error('a terminal without a name')
}
