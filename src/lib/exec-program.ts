import { exhaustedBy } from './exhaustion.ts'
import { codeOf } from './files.ts'
import { execProcess } from './spawn-process.ts'

/** How a program ended and what it printed. */
export interface Executed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program without a shell; a failing program is a result, and a missing one has code 127. */
export async function execProgram(
  [program = '', ...args]: readonly string[],
  options: {
    readonly env?: Readonly<Record<string, string | undefined>>
    readonly cwd?: string
    readonly timeoutSec?: number
  } = {},
): Promise<Executed> {
  const { timeoutSec = 120, ...rest } = options
  try {
    const settings = { ...rest, timeout: timeoutSec * 1000, maxBuffer: 256 * 2 ** 20 }
    return { code: 0, ...(await execProcess(program, args, settings)) }
  } catch (error) {
    if (exhaustedBy(error) !== null || !(error instanceof Error)) throw error
    const { stdout = '', stderr = '', code, killed } = error as Error & Partial<Executed> & { killed?: boolean }
    if (codeOf(error) === 'ENOENT') return { code: 127, stdout, stderr: `${program} is not installed on this machine` }
    const late = killed === true ? `${program} did not end within ${timeoutSec} s` : ''
    return { code: typeof code === 'number' ? code : 1, stdout, stderr: stderr || late || error.message }
  }
}
