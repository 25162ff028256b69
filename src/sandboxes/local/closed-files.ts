import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, chownSync, linkSync, lstatSync, mkdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { copyFile, isNear, lstatOrNull, smallBytes } from '../../lib/disk.ts'
import { buildDir } from '../../lib/drafts.ts'
import { codeOf, exists } from '../../lib/files.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { cleanEnv } from '../namespaces/as-root-inside.ts'
import type { Cache } from './cache.ts'
import { resolverFile } from './routes.ts'

export interface ClosedFilesOptions {
  readonly basesDir: string
  readonly cache: Cache
  /** Directories of the host that sandboxes show. */
  readonly dirs: readonly string[]
  /** Changes whenever the host's packages do; empty if that cannot be determined. */
  readonly packages: string
}

/** Where users put their own files. */
const ownDirs = ['/opt', '/usr/local']

/**
 * Layers that hide files of the host that not every user may read, top to bottom: over those, root inside has the
 * rights of the host's root. Package directories are searched once per state of the packages, others by every process.
 */
export async function closedLayers({ dirs, packages, ...place }: ClosedFilesOptions): Promise<string[]> {
  const ofPackages = dirs.filter((dir) => !ownDirs.includes(dir))
  const own = await closedBelow(ownDirs, [])
  if (packages === '') own.push(...(await closedBelow(ofPackages, ownDirs)))
  const ownLayer = own.length === 0 ? [] : [await layerOf(place, own.sort(), async () => own)]
  if (packages === '') return ownLayer
  return [...ownLayer, await layerOf(place, ['of packages', packages], () => closedBelow(ofPackages, ownDirs))]
}

type Place = Pick<ClosedFilesOptions, 'basesDir' | 'cache'>

/** The layer that these words stand for, built if missing. */
async function layerOf({ basesDir, cache }: Place, words: string[], find: () => Promise<string[]>): Promise<string> {
  const key = createHash('sha256')
    .update(['closed-1', ...words].join('\0'))
    .digest('hex')
    .slice(0, 24)
  const dir = join(basesDir, key)
  cache.use('bases', key)
  if (!(await exists(dir))) {
    const paths = await find()
    await buildDir(dir, (draft) => hideAll(paths, draft))
    await cache.added('bases', key)
  }
  return dir
}

/**
 * Paths, byte by byte as Latin-1 text, of files that others may not read and of directories that they may not enter.
 */
async function closedBelow(dirs: readonly string[], except: readonly string[]): Promise<string[]> {
  const there = dirs.filter((dir) => lstatSync(dir, { throwIfNoEntry: false })?.isDirectory())
  if (there.length === 0) return []
  const pruned = except.flatMap((dir) => ['-path', dir, '-prune', '-o'])
  const closed = ['(', '-type', 'd', '!', '-perm', '-o=x', '-prune', '-o', '!', '-type', 'd', '!', '-type', 'l']
  const args = [...there, '-xdev', '-mindepth', '1', ...pruned, ...closed, '!', '-perm', '-o=r', ')', '-print0']
  const child = await spawnProcess('find', args, { stdio: ['ignore', 'pipe', 'ignore'], env: cleanEnv, cwd: '/' })
  const output: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  const [code] = (await once(child, 'close')) as [number | null]
  // 1: something vanished during the search.
  if (code !== 0 && code !== 1) throw new Error(`find ended with ${code}`)
  return Buffer.concat(output).toString('latin1').split('\0').filter(Boolean)
}

/**
 * Fills a directory with one sub-directory for each overlay; each hidden path becomes a whiteout there, below copies of
 * its parents.
 */
async function hideAll(paths: readonly string[], draft: string): Promise<void> {
  let whiteout = ''
  for (const [i, path] of paths.entries()) {
    if (i % mostLinks === 0) whiteout = await makeWhiteout(join(draft, `.whiteout-${i}`))
    hide(path, draft, whiteout)
  }
}

/** The file system decides how many names one file may have. */
const mostLinks = 30_000

async function makeWhiteout(path: string): Promise<string> {
  const child = await spawnProcess('mknod', [path, 'c', '0', '0'], { stdio: 'ignore', env: cleanEnv })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`cannot make a whiteout at ${path}: mknod ended with ${code}`)
  return path
}

function hide(path: string, layer: string, whiteout: string): void {
  try {
    copyParents(dirname(path), layer)
    linkSync(whiteout, inLayer(layer, path))
  } catch (error) {
    // It has vanished in the meantime.
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

/** If several layers have a directory, the topmost decides its mode and owner. */
function copyParents(dir: string, layer: string): void {
  const target = inLayer(layer, dir)
  if (dir === '/' || lstatSync(target, { throwIfNoEntry: false })) return
  copyParents(dirname(dir), layer)
  const { mode, uid, gid } = lstatSync(Buffer.from(dir, 'latin1'))
  mkdirSync(target)
  chownSync(target, uid, gid)
  chmodSync(target, mode & 0o7777)
}

function inLayer(layer: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(layer), Buffer.from(path, 'latin1')])
}

/** Names of files that hold keys, passwords or the machine's identity. */
const secretNames =
  /^(g?shadow-?|.*\.key|.*_key|.*\.keytab|.*\.p12|.*\.pfx|id_[a-z0-9]+|auth\.conf(\.d)?|machine-id|sudoers(\.d)?|.*\.bak|.*credentials.*|netrc|\.netrc)$/i
const secretDirs = new Set([
  '/etc/ssl/private',
  '/etc/ssh',
  '/etc/wireguard',
  '/etc/letsencrypt',
  '/etc/NetworkManager',
  '/etc/munge',
  '/etc/ppp',
  '/etc/kubernetes',
])
/** We write these ourselves. */
const ownNames = new Set(['/etc/hostname', '/etc/hosts', '/etc/resolv.conf', '/etc/mtab'])

/** Changes whenever something in /etc that we would copy may have changed. */
export async function fingerprintEtc(): Promise<string> {
  const hash = createHash('sha256')
  for await (const { path, size, mtimeMs } of visibleEtc('/etc')) hash.update(`${path}\0${size}\0${mtimeMs}\n`)
  hash.update(resolverFile().text)
  return hash.digest('hex')
}

/**
 * Copies the parts of /etc that every user of the host may read, except keys and shadow files, and writes the rest
 * itself.
 */
export async function copySafeEtc(target: string): Promise<void> {
  for await (const entry of visibleEtc('/etc')) {
    const destination = join(target, entry.path.slice('/etc'.length))
    if (entry.kind === 'dir') await mkdir(destination, { recursive: true, mode: 0o755 })
    else if (entry.kind === 'link') await symlink(await readlink(entry.path), destination)
    else if (!(await holdsPrivateKey(entry.path, entry.size))) await copyFile(entry.path, destination)
  }
  await writeFile(join(target, 'hostname'), 'sandbox\n')
  await writeFile(join(target, 'hosts'), '127.0.0.1\tlocalhost sandbox\n::1\tlocalhost ip6-localhost\n')
  await writeFile(join(target, 'resolv.conf'), resolverFile().text)
  await symlink('/proc/self/mounts', join(target, 'mtab'))
  await writeLockedShadow(target)
}

interface EtcEntry {
  readonly path: string
  readonly kind: 'file' | 'dir' | 'link'
  readonly size: number
  readonly mtimeMs: number
}

async function* visibleEtc(dir: string): AsyncIterable<EtcEntry> {
  for (const name of (await readdir(dir)).sort()) {
    const path = join(dir, name)
    if (secretNames.test(basename(path)) || secretDirs.has(path) || ownNames.has(path)) continue
    const stat = await lstatOrNull(path)
    // It has vanished in the meantime.
    if (stat === null) continue
    const common = { path, size: stat.size, mtimeMs: stat.mtimeMs }
    if (stat.isSymbolicLink()) yield { ...common, kind: 'link' }
    else if (stat.isDirectory() && (stat.mode & 0o005) === 0o005) {
      yield { ...common, kind: 'dir' }
      yield* visibleEtc(path)
    } else if (stat.isFile() && (stat.mode & 0o004) !== 0) yield { ...common, kind: 'file' }
  }
}

async function holdsPrivateKey(path: string, size: number): Promise<boolean> {
  if (size >= smallBytes) return false
  return (isNear(path) ? readFileSync(path) : await readFile(path)).includes('PRIVATE KEY-----')
}

/** Accounts without passwords, so that useradd, su and chpasswd find the files they expect. */
async function writeLockedShadow(target: string): Promise<void> {
  const names = async (file: string) =>
    (await readFile(join(target, file), 'utf8').catch(() => '')).split('\n').flatMap((line) => line.split(':')[0] || [])
  const shadow = (await names('passwd')).map((name) => `${name}:*:19000:0:99999:7:::\n`)
  const gshadow = (await names('group')).map((name) => `${name}:*::\n`)
  for (const [file, lines] of [
    ['shadow', shadow],
    ['gshadow', gshadow],
  ] as const) {
    await writeFile(join(target, file), lines.join(''))
    await chmod(join(target, file), 0o640)
  }
}
