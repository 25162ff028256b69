import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundaryError, UserError } from '../../../core/errors.ts'
import { draftOf, removeDraft } from '../../../lib/drafts.ts'
import { exists } from '../../../lib/files.ts'
import { findProgram, systemPath } from '../../../lib/programs.ts'
import { SharedWork } from '../../../lib/shared-work.ts'
import { execProcess, signalGroup, spawnProcess } from '../../../lib/spawn-process.ts'

/** A package in a registry, at an exact version, so that equal runs run equal programs. */
export type ToolSource =
  | { readonly npm: string; readonly version: string }
  /**
   * `python`: the version that the sandbox must have, for example `3.12`; without it, the one in a local sandbox.
   * `also`: dependencies that the package does not declare.
   */
  | { readonly pip: string; readonly version: string; readonly python?: string; readonly also?: readonly string[] }

/** Programs on this machine that an installation needs, and the packages that provide them. */
const needed = {
  npm: { npm: 'npm comes with Node.js', flock: 'apt-get install -y util-linux' },
  pip: { python3: 'apt-get install -y python3 python3-pip', flock: 'apt-get install -y util-linux' },
} as const

/** Throws UserError when this machine cannot install such a tool; touches nothing. */
export function checkInstaller(source: ToolSource): void {
  for (const [program, cure] of Object.entries('npm' in source ? needed.npm : needed.pip)) {
    if (findProgram(program) === null) {
      throw new UserError(`installing ${specOf(source)} needs ${program}, not found on this machine`, cure)
    }
  }
}

const installs = new SharedWork<string>()

/**
 * Installs a tool from its registry once on this machine, without running any of the packages' code; returns its
 * directory. The directory appears whole or not at all, and of several processes, one installs while the others wait.
 */
export async function installTool(stateDir: string, source: ToolSource, signal: AbortSignal): Promise<string> {
  checkInstaller(source)
  const exact = 'npm' in source ? source : { python: await pythonOfSandbox(), ...source }
  const parent = join(stateDir, 'tools')
  const name = nameOf(exact)
  const dir = join(parent, name)
  if (await exists(dir)) return dir
  return installs.run(dir, signal, async (stopped) => {
    await install(parent, name, exact, stopped)
    return dir
  })
}

/** The kernel releases the lock with its last holder, so after `kill -9` the next process gets it and cleans up. */
const underLock = `set -e
umask 022
if [ -d "$1" ]; then exit 0; fi
rm -rf "$2".*.tmp
mkdir "$3"
target=$1 made=$3
shift 3
"$@" >&2
chmod -R a+rX,go-w "$made"
mv -T "$made" "$target"`

async function install(parent: string, name: string, source: ToolSource, signal: AbortSignal): Promise<void> {
  await mkdir(parent, { recursive: true })
  signal.throwIfAborted()
  const hidden = join(parent, `.${name}`)
  // Named as the lock's holder expects it.
  const temporary = draftOf(`${hidden}.${randomBytes(4).toString('hex')}`)
  const words = [join(parent, name), hidden, temporary, ...installerOf(source, temporary)]
  const child = await spawnProcess('flock', [`${hidden}.lock`, 'sh', '-c', underLock, 'sh', ...words], {
    cwd: parent,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000)
  })
  const stop = () => void (child.pid !== undefined && signalGroup(child.pid, 'SIGKILL'))
  signal.addEventListener('abort', stop, { once: true })
  const [code] = (await once(child, 'close').catch((error: Error) => [error.message])) as [number | string | null]
  signal.removeEventListener('abort', stop)
  if (code === 0) return
  await removeDraft(temporary)
  signal.throwIfAborted()
  const why = said.trim().slice(-500) || `the installer ended with ${code}`
  throw new BoundaryError('agent', `cannot install ${specOf(source)}: ${why}`, { code: 'AgentSetupError' })
}

/** The installer's command line; neither installer runs a package's scripts. */
function installerOf(source: ToolSource, dir: string): string[] {
  if ('npm' in source) {
    // Sandboxes run Linux, whatever this machine runs.
    const platform = ['--os=linux', `--cpu=${process.arch}`, '--libc=glibc']
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error', ...platform]
    return ['npm', 'install', ...flags, '--prefix', dir, specOf(source)]
  }
  const python = source.python === undefined ? [] : ['--python-version', source.python]
  const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--only-binary=:all:', '--no-compile']
  return [
    'python3',
    '-m',
    'pip',
    'install',
    ...flags,
    ...python,
    '--target',
    join(dir, 'site'),
    specOf(source),
    ...(source.also ?? []),
  ]
}

/** Wheels fit one version of Python; a local sandbox has the host system's, not one that only this user has. */
async function pythonOfSandbox(): Promise<string> {
  const path = [systemPath, process.env.PATH ?? ''].join(':')
  const script = 'import sys; print("%d.%d" % sys.version_info[:2])'
  const { stdout } = await execProcess('python3', ['-c', script], { env: { PATH: path }, cwd: '/' })
  return stdout.trim()
}

/** The registry's spelling: `name@1.2.3` or `name==1.2.3`. */
export function specOf(source: ToolSource): string {
  return 'npm' in source ? `${source.npm}@${source.version}` : `${source.pip}==${source.version}`
}

function nameOf(source: ToolSource): string {
  const python = 'pip' in source ? `-python${source.python}` : ''
  return `${specOf(source)}${python}-linux-${process.arch}`.replace(/[^A-Za-z0-9.@=_-]/g, '+')
}
