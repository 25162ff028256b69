import { createHash } from 'node:crypto'
import { chmod, copyFile, lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { resolverFile } from './routes.ts'

/** Names that hold keys, passwords or the identity of the machine. */
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
/** Written by us instead. */
const ownNames = new Set(['/etc/hostname', '/etc/hosts', '/etc/resolv.conf', '/etc/mtab'])

/** Changes whenever something in /etc that we would copy may have changed. */
export async function fingerprintEtc(): Promise<string> {
  const hash = createHash('sha256')
  for await (const { path, size, mtimeMs } of visibleEtc('/etc')) hash.update(`${path}\0${size}\0${mtimeMs}\n`)
  hash.update(resolverFile().text)
  return hash.digest('hex')
}

/** Copies what every user of the host may read of /etc, less keys and shadow files, and writes the rest fresh. */
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
    const stat = await lstat(path)
    const common = { path, size: stat.size, mtimeMs: stat.mtimeMs }
    if (stat.isSymbolicLink()) yield { ...common, kind: 'link' }
    else if (stat.isDirectory() && (stat.mode & 0o005) === 0o005) {
      yield { ...common, kind: 'dir' }
      yield* visibleEtc(path)
    } else if (stat.isFile() && (stat.mode & 0o004) !== 0) yield { ...common, kind: 'file' }
  }
}

async function holdsPrivateKey(path: string, size: number): Promise<boolean> {
  return size < 256 * 1024 && (await readFile(path)).includes('PRIVATE KEY-----')
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
