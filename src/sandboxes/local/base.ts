import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, lstat, mkdir, readdir, readFile, readlink, realpath, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { isNear } from '../../lib/disk.ts'
import { buildDir } from '../../lib/drafts.ts'
import { codeOf } from '../../lib/exhaustion.ts'
import { exists, readTextIfExists } from '../../lib/files.ts'
import { execProcess } from '../../lib/spawn-process.ts'
import { walkTree, walkTreeNow } from '../../lib/tree.ts'
import type { Cache } from './cache.ts'
import { closedLayers, copySafeEtc, fingerprintEtc } from './closed-files.ts'
import type { Privileges } from './privileges.ts'

/**
 * One overlay of a sandbox's root: what lies below it, and where it is mounted. A layer has one sub-directory per
 * overlay.
 */
export interface Overlay {
  readonly name: string
  readonly lower: string
  /** Absolute directories on top of it that hide some of its files, top to bottom. */
  readonly hides?: readonly string[]
  /** Relative to the sandbox's root; empty for the root itself. */
  readonly target: string
}

/** The read-only files a sandbox starts from. */
export interface Base {
  readonly key: string
  readonly overlays: readonly Overlay[]
  /** Its /etc is not this machine's: it must be told where to resolve names. */
  readonly isForeign?: boolean
}

/** A base from a directory that holds a whole root file system. */
export async function directoryBase(dir: string): Promise<Base> {
  const real = await realpath(dir)
  const release = await readTextIfExists(join(real, 'etc/os-release'))
  return {
    key: digest(['directory', real, release ?? '']),
    overlays: [{ name: 'root', lower: real, target: '' }],
    isForeign: true,
  }
}

const systemDirs = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'usr', 'opt']

/**
 * A base from the host's own system directories. Everything else (home directories, /tmp, /var, /run, ...) is a fresh
 * skeleton, /etc is a copy without keys and shadow files, and the package database is copied so that apt works. Files
 * that only some users may read are hidden from root's sandboxes; an ordinary user's sandboxes cannot read more than
 * that user.
 */
export async function hostBase(basesDir: string, privileges: Privileges, cache: Cache): Promise<Base> {
  const packages = await fingerprint('/var/lib/dpkg/status')
  const { overlays: dirs, ...others } = await systemParts(privileges)
  const copies = await Promise.all(others.copied.map(async (path) => `${path} ${await fingerprint(path)}`))
  const key = digest([
    'host-5',
    privileges.mode,
    await readFile('/etc/os-release', 'utf8').catch(() => ''),
    packages,
    await fingerprintEtc(),
    ...(others.dirs.length > 0 ? [...dirs.map(({ target }) => target), ...others.dirs, ...copies] : []),
  ])
  const dir = join(basesDir, key)
  cache.use('bases', key)
  if (!(await exists(dir))) {
    await buildDir(dir, (draft) => fillSkeleton(draft, others))
    await cache.added('bases', key)
  }
  const closed = { basesDir, cache, dirs: dirs.map(({ lower }) => lower), packages }
  const layers = privileges.mode === 'root' ? await closedLayers(closed) : []
  const system = dirs.map((overlay) => ({ ...overlay, hides: layersWith(overlay.name, layers) }))
  return { key, overlays: [{ name: 'root', lower: dir, target: '' }, ...system] }
}

/** Throws a UserError if sandboxes would lie inside the directories they show: no overlay can be made of that. */
export async function requireOutsideOfHost(home: string): Promise<void> {
  const real = await realpath(home)
  const around = systemDirs.find((name) => real.startsWith(`/${name}/`))
  if (around !== undefined)
    throw new UserError(
      `local sandboxes make /${around} visible, so they cannot be stored in it: ${home}`,
      'set XDG_CACHE_HOME to a directory outside it',
    )
}

/** How the host's system directories are shown. */
export interface SystemParts {
  readonly overlays: readonly Overlay[]
  /** Directories of the skeleton, on or in which overlays are mounted. */
  readonly dirs: readonly string[]
  /** Files and links besides them. */
  readonly copied: readonly string[]
}

/** Works out how they are shown; throws a UserError if that is impossible. */
export async function systemParts({ mode }: Privileges): Promise<SystemParts> {
  const mounts = mode === 'root' ? [] : mountPoints(await readFile('/proc/self/mountinfo', 'utf8'))
  const found: SystemParts[] = []
  for (const name of systemDirs) if (await isFilledDir(`/${name}`)) found.push(await partsOf(`/${name}`, mounts))
  const parts = joined(found)
  await refuseTooMany(parts, mounts)
  return parts
}

/** Throws a UserError if too much would have to be mounted or copied, or if an overlay cannot have that name. */
export async function refuseTooMany({ overlays, dirs, copied }: SystemParts, mounts: readonly string[]): Promise<void> {
  const sizes = await Promise.all(copied.map(async (path) => (await lstat(path).catch(() => null))?.size ?? 0))
  const copiedBytes = sizes.reduce((sum, size) => sum + size, 0)
  const isTooMuch = overlays.length > most.overlays || copiedBytes > most.copiedBytes
  if (!isTooMuch && !overlays.some(({ lower }) => /[:,\\]/.test(lower))) return
  const split = `/${dirs[0] ?? ''}`
  throw new UserError(
    `local sandboxes of this user cannot show ${split}: ${mounts.find((mount) => mount.startsWith(`${split}/`))} is mounted in it`,
    'run as root, unmount it, or set another root file system with the option rootfs',
  )
}

/** The mount points in a list in the kernel's format. */
export function mountPoints(list: string): string[] {
  return list
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
    .map((path) => path.replaceAll(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))))
}

/** Every sandbox mounts all of them, and copies take up disk space. */
const most = { overlays: 60, copiedBytes: 256 * 1024 * 1024 }

/**
 * How a directory of the host is shown. In a user namespace the kernel makes no overlay of a directory that contains a
 * mount: such a directory becomes part of the skeleton, with an overlay for each directory in it. What is mounted there
 * is not shown, as in root's overlays. No program inside can move such a directory away, because it is in a lower
 * layer.
 */
export async function partsOf(dir: string, mounts: readonly string[]): Promise<SystemParts> {
  const inside = mounts.find((mount) => mount.startsWith(`${dir}/`))
  const path = dir.slice(1)
  if (inside === undefined)
    return { overlays: [{ name: encodeURIComponent(path), lower: dir, target: path }], dirs: [], copied: [] }
  const found: SystemParts[] = [{ overlays: [], dirs: [path], copied: [] }]
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const below = `${dir}/${entry.name}`
    const isMounted = mounts.includes(below)
    // Sockets, pipes and devices are not for sandboxes.
    if ((entry.isFile() || entry.isSymbolicLink()) && !isMounted)
      found.push({ overlays: [], dirs: [], copied: [below] })
    if (entry.isDirectory()) found.push({ overlays: [], dirs: [below.slice(1)], copied: [] })
    if (entry.isDirectory() && !isMounted && (await isFilledDir(below))) found.push(await partsOf(below, mounts))
  }
  return joined(found)
}

function joined(parts: readonly SystemParts[]): SystemParts {
  return {
    overlays: parts.flatMap(({ overlays }) => overlays),
    dirs: parts.flatMap(({ dirs }) => dirs),
    copied: parts.flatMap(({ copied }) => copied),
  }
}

async function isFilledDir(path: string): Promise<boolean> {
  const stat = await lstat(path).catch(() => null)
  return stat?.isDirectory() === true && (await readdir(path).catch(() => [])).length > 0
}

function layersWith(name: string, layers: readonly string[]): string[] {
  return layers.map((layer) => join(layer, name)).filter((dir) => existsSync(dir))
}

async function fillSkeleton(draft: string, others: Pick<SystemParts, 'dirs' | 'copied'>): Promise<void> {
  for (const [path, mode] of skeleton) {
    await mkdir(join(draft, path), { recursive: true })
    await chmod(join(draft, path), mode)
  }
  for (const name of systemDirs) {
    const stat = await lstat(`/${name}`).catch(() => null)
    if (stat?.isSymbolicLink()) await symlink(await readlink(`/${name}`), join(draft, name))
    else if (stat?.isDirectory()) await mkdir(join(draft, name), { recursive: true })
  }
  await showOthers(draft, others)
  await symlink('/run', join(draft, 'var/run'))
  await copySafeEtc(join(draft, 'etc'))
  await copyPackageDatabase(draft)
  await openToAll(draft)
  await chmod(draft, 0o755)
}

async function showOthers(draft: string, { dirs, copied }: Pick<SystemParts, 'dirs' | 'copied'>): Promise<void> {
  for (const path of dirs) await mkdir(join(draft, path), { recursive: true })
  for (const path of copied) {
    // What this user may not read would be closed to them inside, too; files that have vanished are skipped.
    await cp(path, join(draft, path), { verbatimSymlinks: true }).catch((error: unknown) => {
      if (!['EACCES', 'ENOENT'].includes(codeOf(error) ?? '')) throw error
    })
  }
}

const closedToOthers = new Set(['root', 'etc/shadow', 'etc/gshadow', 'var/lib/dpkg/lock', 'var/lib/dpkg/lock-frontend'])

/** Lets everyone read and enter what root can: the caller's umask must not close a sandbox's system directories. */
async function openToAll(root: string): Promise<void> {
  // Thousands of small files, copied before the first sandbox.
  const entries = isNear(root) ? walkTreeNow(root) : walkTree(root)
  for await (const { path, kind, mode } of entries) {
    if (kind === 'symlink' || closedToOthers.has(path)) continue
    const open = mode | ((mode & 0o500) >> 3) | ((mode & 0o500) >> 6)
    if (open !== mode) await chmod(join(root, path), open)
  }
}

const skeleton: readonly (readonly [path: string, mode: number])[] = [
  ['dev', 0o755],
  ['etc', 0o755],
  ['home', 0o755],
  ['media', 0o755],
  ['mnt', 0o755],
  ['opt', 0o755],
  ['proc', 0o755],
  ['root', 0o700],
  ['run', 0o755],
  ['srv', 0o755],
  ['tmp', 0o1777],
  ['var', 0o755],
  ['var/cache/apt/archives/partial', 0o755],
  ['var/lib/apt/lists/partial', 0o755],
  ['var/lib/dpkg', 0o755],
  ['var/log/apt', 0o755],
  ['var/mail', 0o755],
  ['var/spool', 0o755],
  ['var/tmp', 0o1777],
]

/** Tells apt inside which packages the host's /usr already has. */
async function copyPackageDatabase(root: string): Promise<void> {
  const source = '/var/lib/dpkg'
  const target = join(root, 'var/lib/dpkg')
  // Thousands of small files: a program of the host copies them in a tenth of the time.
  if (await exists(join(source, 'info'))) await execProcess('cp', ['-R', '--', join(source, 'info'), target])
  for (const name of ['status', 'alternatives', 'diversions', 'statoverride', 'triggers', 'arch']) {
    if (await exists(join(source, name)))
      await cp(join(source, name), join(target, name), { recursive: true, verbatimSymlinks: true, filter: notLock })
  }
  await mkdir(join(target, 'updates'), { recursive: true })
  for (const name of ['lock', 'lock-frontend']) await writeFile(join(target, name), '', { mode: 0o640 })
}

function notLock(path: string): boolean {
  return basename(path).toLowerCase() !== 'lock'
}

async function fingerprint(path: string): Promise<string> {
  const stat = await lstat(path).catch(() => null)
  return stat ? `${stat.size}:${stat.mtimeMs}` : ''
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 24)
}
