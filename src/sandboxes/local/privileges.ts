import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { messageOf, UserError } from '../../core/errors.ts'
import { findProgram, systemPath } from '../../lib/programs.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { hasSubordinateIds, userName } from '../namespaces/as-root-inside.ts'
import { firstOwnId, idCount, type OwnIds, tryOwnIds } from './own-ids.ts'

/**
 * How this process may build sandboxes. Root mounts as root and puts programs into a user namespace without power over
 * the host, with their own ids if the kernel and the file system allow it; an ordinary user does everything inside a
 * user namespace.
 */
export interface Privileges {
  readonly mode: 'root' | 'user'
  /** Whether more than one user id exists inside the sandbox, so that `su`, `chown` and `apt` work. */
  readonly manyUsers: boolean
  /** Arguments for `unshare` that create our own mount namespace. */
  readonly unshare: readonly string[]
  /** Extra options of an overlay mount. */
  readonly overlayOptions: string
  /** In root mode: the process whose user namespace every sandbox enters, where ids mean the same users as outside. */
  readonly usernsPid: number | null
  /** In root mode, instead of that: users inside are different users outside. */
  readonly ownIds: OwnIds | null
  /**
   * The command of a sandbox's process 1. Nothing inside can kill or trace it, and it starts no other: the kernel reaps
   * orphans for it.
   */
  readonly sleeper: readonly string[]
}

const cached = new Map<string, Promise<Privileges>>()

interface PrivilegesOptions {
  /** `host`: users inside have the host's ids, even where that can be avoided. */
  readonly ids?: 'own' | 'host' | undefined
}

/** Determined once for every directory with sandboxes; throws a UserError that says what to install or allow. */
export function findPrivileges(home: string, { ids = 'own' }: PrivilegesOptions = {}): Promise<Privileges> {
  const key = `${ids} ${home}`
  const found = cached.get(key)
  if (found) return found
  const finding = detect(ids === 'own' ? home : null)
  cached.set(key, finding)
  finding.catch(() => cached.delete(key))
  return finding
}

const needed = {
  bwrap: 'bubblewrap',
  bash: 'bash',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  mount: 'mount',
  sh: 'dash',
  tar: 'tar',
} as const

/**
 * Says what is missing on this machine, without touching anything. Only system directories count: sandboxes start
 * nothing from others.
 */
export function missingPrograms(): readonly string[] {
  return Object.entries(needed).flatMap(([program, debianPackage]) =>
    findProgram(program, systemPath) ? [] : [debianPackage],
  )
}

async function detect(home: string | null): Promise<Privileges> {
  const missing = [...new Set(missingPrograms())]
  if (missing.length > 0) {
    throw new UserError(
      `the local sandbox needs ${missing.join(', ')}, not found in ${systemPath}`,
      `apt-get install -y ${missing.join(' ')}`,
    )
  }
  return process.getuid?.() === 0 ? asRoot(home) : asUser()
}

async function asRoot(home: string | null): Promise<Privileges> {
  const ownIds = home === null ? null : await findOwnIds(home)
  return {
    mode: 'root',
    manyUsers: true,
    unshare: ['--mount', '--propagation', 'private'],
    overlayOptions: '',
    usernsPid: ownIds === null ? await holdUserNamespace(0) : null,
    ownIds,
    sleeper: await findSleeper(),
  }
}

/**
 * Null if this machine cannot do it: no starter for it, an old kernel, a file system without id-mapped mounts, a
 * container with few ids.
 */
async function findOwnIds(home: string): Promise<OwnIds | null> {
  const first = firstOwnId()
  const usernsPid = await holdUserNamespace(first).catch(() => null)
  if (usernsPid === null) return null
  const ids = { usernsPid, first }
  return (await tryOwnIds(ids, home)) ? ids : null
}

const held = new Map<number, Promise<number>>()

/** A process that only keeps a user namespace open, one for each range of ids; `first` is user 0 outside. */
function holdUserNamespace(first: number): Promise<number> {
  const found = held.get(first)
  if (found) return found
  const starting = startUserNamespace(first)
  held.set(first, starting)
  starting.catch(() => held.delete(first))
  return starting
}

/** It ends when our end of its pipe closes. */
async function startUserNamespace(first: number): Promise<number> {
  // Once mapped, a newly started program is root in the namespace and may forbid further user namespaces.
  const script = `echo ready; read go; exec sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; echo held; exec cat >/dev/null'`
  const child = await spawnProcess('unshare', ['--user', 'sh', '-c', script], { stdio: 'pipe', detached: true })
  const pid = child.pid
  if (pid === undefined) throw new UserError('cannot start unshare', 'apt-get install -y util-linux')
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  child.stdin.on('error', () => {})
  const gone = once(child, 'close').then(() => Promise.reject(new Error(complaint.trim() || 'unshare ended')))
  const hears = () => Promise.race([once(child.stdout, 'data'), gone])
  try {
    await hears()
    for (const map of ['uid_map', 'gid_map']) writeFileSync(`/proc/${pid}/${map}`, `0 ${first} ${idCount}`)
    child.stdin.write('go\n')
    await hears()
  } catch (error) {
    child.kill('SIGKILL')
    throw new UserError(
      `user namespaces are not available to root: ${messageOf(error)}`,
      'allow them: sysctl -w user.max_user_namespaces=10000; a container must be started with them allowed; in a chroot they are never available',
    )
  }
  gone.catch(() => {})
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr])
    if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
  return pid
}

async function asUser(): Promise<Privileges> {
  const manyUsers = hasSubordinateIds()
  const unshare = [
    '--user',
    '--map-root-user',
    ...(manyUsers ? ['--map-auto'] : []),
    '--mount',
    '--propagation',
    'private',
  ]
  const child = await spawnProcess('unshare', [...unshare, 'true'], { stdio: ['ignore', 'ignore', 'pipe'] })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) {
    throw new UserError(
      `user namespaces are not allowed for ${userName()}: ${complaint.trim()}`,
      'ask the administrator for kernel.unprivileged_userns_clone=1, or run as root',
    )
  }
  return {
    mode: 'user',
    manyUsers,
    unshare,
    overlayOptions: ',userxattr',
    usernsPid: null,
    ownIds: null,
    sleeper: await findSleeper(),
  }
}

/**
 * Sleeps forever, ignoring the end of children. `env` does that with less work, but only from coreutils 8.31 on; dash
 * never.
 */
async function findSleeper(): Promise<readonly string[]> {
  const sleep = ['sleep', '1000000000']
  const ignoring = ['env', '--ignore-signal=CHLD']
  const child = await spawnProcess('env', [...ignoring.slice(1), 'true'], { stdio: 'ignore' })
  const [code] = (await once(child, 'close')) as [number | null]
  return code === 0 ? [...ignoring, ...sleep] : ['bash', '-c', `trap '' CHLD; exec ${sleep.join(' ')}`]
}
