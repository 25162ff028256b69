import type { IPty } from '@lydell/node-pty'
import type { Terminal, TerminalOptions } from '../../core/sandbox.ts'
import type { Entry } from './entry.ts'
import { makePtyInput } from './pty-input.ts'

/** Opens a pseudo-terminal on a command; `cleanUp` runs once it has ended, however it ended. */
export async function openPty(
  entry: Entry & { readonly env: Readonly<Record<string, string>> },
  options: TerminalOptions,
  cleanUp: () => Promise<void>,
): Promise<Terminal> {
  const { spawn } = await import('@lydell/node-pty')
  const pty: IPty = spawn(entry.program, [...entry.args], {
    cols: options.cols ?? 160,
    rows: options.rows ?? 40,
    cwd: '/',
    env: entry.env,
    encoding: 'utf8',
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
