import { statfs } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import { dirname } from 'node:path'
import { findHubToken } from '../../formats/hub/account.ts'
import { ControlGroups } from '../../lib/control-group.ts'
import { exists } from '../../lib/files.ts'
import { findProgram } from '../../lib/programs.ts'
import { execProcess } from '../../lib/spawn-process.ts'
import { type Check, type Found, limited, missing, ok, type Surroundings } from './check.ts'

/** What the program uses of this machine and of accounts, besides plug-ins. */
export const machineChecks: readonly Check[] = [
  { name: 'node', look: async () => node(process.versions.node) },
  {
    name: 'processors',
    look: async () => ok(`${availableParallelism()}, ${Math.round(totalmem() / 2 ** 30)} GB memory`),
  },
  { name: 'disk', look: disk },
  { name: 'git', look: () => program('git', ['--version'], 'apt-get install -y git') },
  { name: 'bubblewrap', look: () => program('bwrap', ['--version'], 'apt-get install -y bubblewrap') },
  { name: 'pasta', look: () => program('pasta', ['--version'], 'apt-get install -y passt') },
  { name: 'control-groups', look: async () => controlGroups() },
  {
    name: 'npm',
    look: () => program('npm', ['--version'], 'install Node.js with npm: command-line agents come from npm'),
  },
  { name: 'slurm', look: slurm },
  { name: 'hub', look: hub },
]

const oldestNode = [20, 19] as const

/** Whether a version of Node.js is recent enough. */
export function node(version: string): Found {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isEnough = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])
  return isEnough ? ok(version) : missing(version, `install Node.js ${oldestNode.join('.')} or later`)
}

const enoughGb = 10

async function disk({ stateDir }: Surroundings): Promise<Found> {
  let dir = stateDir
  while (!(await exists(dir)) && dir !== dirname(dir)) dir = dirname(dir)
  const { bavail, bsize } = await statfs(dir)
  const freeGb = (bavail * bsize) / 1e9
  const what = `${freeGb.toFixed(1)} GB free for ${stateDir}`
  return freeGb >= enoughGb
    ? ok(what)
    : limited(what, 'free some space, or set XDG_CACHE_HOME to a directory on a larger disk')
}

/** Checks that a program exists and starts. */
export async function program(name: string, args: readonly string[], cure: string): Promise<Found> {
  const path = findProgram(name)
  if (path === null) return missing(`no ${name} on this machine`, cure)
  try {
    const { stdout } = await execProcess(path, args, { timeout: 10_000 })
    return ok(stdout.trim().split('\n')[0] ?? path)
  } catch (error) {
    const said = String(Object(error).stderr ?? '').trim() || String(error)
    return limited(`${path} does not run: ${said.split('\n')[0]}`, cure)
  }
}

function controlGroups(): Found {
  const groups = ControlGroups.find(`ot-agent-doctor-${process.pid}`)
  const { enforces } = groups
  groups.removeParent()
  const without = Object.entries(enforces).flatMap(([name, on]) => (on ? [] : [name]))
  const cure = 'run as root, or let systemd delegate: systemctl set-property user-UID.slice Delegate=yes'
  if (without.length === 0) return ok(Object.keys(enforces).join(', '))
  return limited(`local sandboxes cannot limit ${without.join(', ')}`, cure)
}

async function slurm(): Promise<Found> {
  const cure = 'log in to a node of the cluster that has Slurm’s commands'
  const absent = ['sbatch', 'sinfo'].filter((name) => findProgram(name) === null)
  if (absent.length > 0) return missing(`no ${absent.join(', no ')} on this machine`, cure)
  const asked = await program('sinfo', ['--noheader', '--format=%P %a'], cure)
  return asked.state === 'ok' ? ok(`partitions: ${asked.what} ...`) : limited(asked.what, 'is slurmctld up? try: sinfo')
}

async function hub({ env }: Surroundings): Promise<Found> {
  const { token, place } = findHubToken(env)
  if (token !== null) return ok(`a token in ${place}, not tried`)
  return missing(
    'no token for the Hugging Face Hub',
    'hf auth login, or export HF_TOKEN=...; public datasets need none',
  )
}
