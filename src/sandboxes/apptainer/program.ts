import { join } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { findProgram, systemPath } from '../../lib/programs.ts'
import { execProcess } from '../../lib/spawn-process.ts'
import { withoutColors } from '../../lib/visible.ts'

/** The container program of this machine, and the prefix of its variables. */
export interface Apptainer {
  readonly path: string
  /** `APPTAINER` or `SINGULARITY`. */
  readonly prefix: string
  /** Where it keeps its records of our instances, separate from the user's own. */
  readonly configDir: string
  readonly isRoot: boolean
  readonly seccompFile: string
}

/** Finds `apptainer`, or `singularity`, its old name on some clusters. */
export function findApptainer(stateDir: string, named?: string): Apptainer {
  const names = named === undefined ? ['apptainer', 'singularity'] : [named]
  for (const name of names) {
    const path = name.includes('/') ? name : findProgram(name)
    if (path === null) continue
    const prefix = /singularity[^/]*$/.test(path) ? 'SINGULARITY' : 'APPTAINER'
    const home = join(stateDir, 'apptainer')
    const places = { configDir: join(home, 'config'), seccompFile: join(home, 'seccomp.json') }
    return { path, prefix, ...places, isRoot: process.getuid?.() === 0 }
  }
  throw new UserError(
    `the apptainer sandbox needs ${names.join(' or ')}, not found on this machine`,
    'install Apptainer, load its module on a cluster, or set its path with --ek program=PATH',
  )
}

/**
 * The whole environment of the program itself: variables for inside carry its prefix, and nothing else of ours is
 * passed on.
 */
export function programEnv(
  { prefix, configDir }: Apptainer,
  inside: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const passed = Object.entries(inside).map(([name, value]) => [`${prefix}ENV_${name}`, value] as const)
  return {
    PATH: systemPath,
    HOME: process.env.HOME ?? '/root',
    [`${prefix}_CONFIGDIR`]: configDir,
    ...Object.fromEntries(passed),
  }
}

/** Runs the program to its end; its errors are failures of the sandbox. */
export async function runProgram(
  apptainer: Apptainer,
  args: readonly string[],
  options: {
    readonly signal?: AbortSignal
    readonly env?: Readonly<Record<string, string>>
    readonly before?: string
  } = {},
): Promise<void> {
  const [program, words] = joined(apptainer, args, options.before ?? '')
  const env = { ...programEnv(apptainer), ...options.env }
  try {
    await execProcess(program, words, {
      env,
      cwd: '/',
      maxBuffer: 16 * 2 ** 20,
      ...(options.signal && { signal: options.signal }),
    })
  } catch (error) {
    options.signal?.throwIfAborted()
    throw new BoundaryError('sandbox', `${args.slice(0, 2).join(' ')}: ${complaintOf(error)}`, { cause: error })
  }
}

/** The program's command line, after lines of shell that prepare the process it becomes. */
export function joined({ path }: Apptainer, args: readonly string[], before: string): [string, string[]] {
  return before === '' ? [path, [...args]] : ['/bin/sh', ['-c', `${before}\nexec "$@"`, 'sh', path, ...args]]
}

/** The last lines it marked as fatal or as errors, without colors. */
function complaintOf(error: unknown): string {
  const text = typeof error === 'object' && error !== null && 'stderr' in error ? String(error.stderr) : String(error)
  const lines = withoutColors(text).split('\n')
  const telling = lines.filter((line) => /^(FATAL|ERROR)/.test(line)).map((line) => line.replace(/^\w+\s*:\s*/, ''))
  return (telling.join('; ') || text.trim()).slice(0, 500)
}
