import { execFile } from 'node:child_process'
import { codeOf } from './files.ts'

/** How a program ended and what it printed. */
export interface Executed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program without a shell; a program that fails is a result, and one that is not there has code 127. */
export function execProgram(
  [program = '', ...args]: readonly string[],
  options: {
    readonly env?: Readonly<Record<string, string | undefined>>
    readonly cwd?: string
    readonly timeoutSec?: number
  } = {},
): Promise<Executed> {
  const { timeoutSec = 120, ...rest } = options
  return new Promise((resolve) => {
    const settings = { ...rest, timeout: timeoutSec * 1000, maxBuffer: 256 * 2 ** 20, encoding: 'utf8' as const }
    execFile(program, args, settings, (error, stdout, stderr) => {
      if (error === null) return resolve({ code: 0, stdout, stderr })
      if (codeOf(error) === 'ENOENT') return resolve({ code: 127, stdout, stderr: `${program} is not on this machine` })
      const late = error.killed === true ? `${program} did not end within ${timeoutSec} s` : ''
      resolve({
        code: typeof error.code === 'number' ? error.code : 1,
        stdout,
        stderr: stderr || late || error.message,
      })
    })
  })
}
