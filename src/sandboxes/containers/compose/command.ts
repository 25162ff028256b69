import { join } from 'node:path'
import { BoundaryError } from '../../../core/errors.ts'
import { findProgram, isExecutable } from '../../../lib/programs.ts'
import { signalGroup, spawnProcess } from '../../../lib/spawn-process.ts'

type Env = Readonly<Record<string, string | undefined>>

const pluginDirs = [
  '/usr/local/lib/docker/cli-plugins',
  '/usr/local/libexec/docker/cli-plugins',
  '/usr/lib/docker/cli-plugins',
  '/usr/libexec/docker/cli-plugins',
]
const tailChars = 1500

/**
 * The compose program of this machine, or null: Docker's plug-in, which works without the `docker` command, or the
 * older standalone program. Both work with any engine through its socket.
 */
export function findCompose(env: Env): string | null {
  const own = env.DOCKER_CONFIG ?? (env.HOME === undefined ? undefined : join(env.HOME, '.docker'))
  const dirs = own === undefined ? pluginDirs : [join(own, 'cli-plugins'), ...pluginDirs]
  const plugin = dirs.map((dir) => join(dir, 'docker-compose')).find(isExecutable)
  return plugin ?? findProgram('docker-compose')
}

export interface ComposeCall {
  readonly program: string
  readonly socketPath: string
  readonly project: string
  /** The whole file, sent through a pipe because it may hold secrets. */
  readonly file: object
  readonly args: readonly string[]
  readonly signal: AbortSignal | undefined
}

/** Runs one compose command to its end; if it fails, its output goes into the error. */
export async function runCompose({ program, socketPath, project, file, args, signal }: ComposeCall): Promise<void> {
  signal?.throwIfAborted()
  const child = await spawnProcess(program, ['-p', project, '-f', '-', ...args], {
    // A directory without a .env file.
    cwd: '/proc',
    // Nothing of the host's environment: a compose file may ask for any variable.
    env: {
      PATH: process.env.PATH,
      HOME: '/nonexistent',
      DOCKER_HOST: `unix://${socketPath}`,
      COMPOSE_HTTP_TIMEOUT: '600',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  let said = ''
  const listen = (text: string) => {
    said = (said + text).slice(-tailChars)
  }
  child.stdout.setEncoding('utf8').on('data', listen)
  child.stderr.setEncoding('utf8').on('data', listen)
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(escapeDollars(file)))
  const stop = () => {
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL')
  }
  signal?.addEventListener('abort', stop, { once: true })
  const code = await new Promise<number | string>((resolve) => {
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code, killedBy) => resolve(code ?? killedBy ?? 1))
  }).finally(() => signal?.removeEventListener('abort', stop))
  signal?.throwIfAborted()
  if (code === 0) return
  throw new BoundaryError('sandbox', `compose ${args.join(' ')} ended with ${code}: ${tidy(said)}`, {
    code: 'EnvironmentStartError',
  })
}

/** All variables are already filled in, so a dollar sign is just a dollar sign. */
function escapeDollars(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('$', '$$$$')
  if (Array.isArray(value)) return value.map(escapeDollars)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escapeDollars(item)]))
}

function tidy(said: string): string {
  const lines = said
    .split(/[\r\n]+/)
    .filter((line) => line.trim() !== '' && !/^Creating |^Starting |\bdone$/.test(line))
  return lines.join('; ').slice(-600) || 'it gave no reason'
}
