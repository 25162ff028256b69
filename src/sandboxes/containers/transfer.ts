import { readFile as readFileHere } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import type { DownloadOptions } from '../../core/sandbox.ts'
import { sleep } from '../../lib/deadline.ts'
import { extractEntries } from '../../lib/extract.ts'
import { shellQuote } from '../../lib/shell.ts'
import { ArchiveError, tarDir } from '../../lib/tar.ts'
import { readTar, type TarEntry } from '../../lib/tar-read.ts'
import { walkTree } from '../../lib/tree.ts'
import { fromInside, limitsOf, readLimitBytes, transferFailure, writeScript } from '../common/transfer-rules.ts'
import type { Commands } from './commands.ts'
import { type Archive, type ContainerEngine, url } from './container-engine.ts'
import { ownPath, printfFormat } from './script.ts'

/** How our own commands run: as root, without trusting any directory that a program inside may have added to PATH. */
export const asRoot = { user: '0', cwd: '/', env: { PATH: ownPath } } as const

/** A container whose files are read and written. */
export interface Place {
  readonly engine: ContainerEngine
  readonly container: string
}

/**
 * File systems of every container that are not on disk: an engine's archives show only what lies below them, which is
 * nothing.
 */
const inMemory = ['/dev', '/proc', '/sys']

/** The bytes of a file inside. The engine reads it: no program inside takes part. */
export async function readFile(place: Place, path: string): Promise<Uint8Array> {
  const fail = (why: string) => transferFailure(`cannot read ${path}: ${why}`)
  for (let tries = 1; ; tries++) {
    try {
      return await readOnce(place, path, fail)
    } catch (error) {
      // Podman unmounts a container that has just ended, even while it is being read.
      if (!(error instanceof ArchiveError)) throw error
      if (tries === 5) throw fail(error.message)
      await sleep(200)
    }
  }
}

async function readOnce(place: Place, path: string, fail: (why: string) => Error): Promise<Uint8Array> {
  refuseInMemory(path, fail)
  // An engine that does not follow the last link says where it leads.
  for (let target = path, hops = 0; hops < 2; hops++) {
    const archive = await openArchive(place, target, fail)
    try {
      for await (const entry of readTar(archive.body)) {
        if (entry.kind === 'symlink') break
        if (entry.kind !== 'file') throw fail('not a file')
        if (entry.size > readLimitBytes) throw fail(`larger than ${readLimitBytes} bytes`)
        const chunks: Uint8Array[] = []
        for await (const chunk of entry.body) chunks.push(chunk)
        return Buffer.concat(chunks)
      }
    } finally {
      archive.body.destroy()
    }
    target = archive.link
    if (target === '') break
  }
  throw fail('a link that leads to no file')
}

/** Writes a whole file inside. */
export async function writeFile(
  commands: Commands,
  path: string,
  data: string | Uint8Array,
  mode: number,
): Promise<void> {
  const argv = ['/bin/sh', '-c', writeScript, 'sh', path, mode.toString(8)]
  const result = await commands.exec(argv, { ...asRoot, stdin: data })
  if (result.exitCode !== 0) throw transferFailure(`cannot write ${path}: ${result.stderr.trim()}`)
}

/** The most a script can carry: a program argument holds 128 KiB, and a byte takes up to four characters. */
const fewBytes = 24 * 1024
const fewEntries = 64

/**
 * The script that makes a small tree directly under the root, where only root can put anything; null for any other
 * tree. It fails if any of it already exists, and writes through no link.
 */
async function renderFew(source: string, target: string): Promise<string | null> {
  if (!/^\/[^/]+$/.test(target)) return null
  const top = shellQuote(target)
  const lines = ['umask 022', 'set -C', `{ [ ! -h ${top} ] && [ -d ${top} ] || mkdir -- ${top}; }`]
  let [bytes, entries] = [0, 0]
  for await (const { path, kind, mode, size, target: leadsTo } of walkTree(source)) {
    bytes += size + path.length + leadsTo.length
    if (bytes > fewBytes || ++entries > fewEntries) return null
    const at = shellQuote(`${target}/${path}`)
    const wanted = kind === 'dir' ? (mode & 0o777) | 0o700 : mode & 0o777
    if (kind === 'dir') lines.push(`mkdir -- ${at}`)
    else if (kind === 'file') lines.push(`printf ${printfFormat(await readFileHere(join(source, path)))} > ${at}`)
    else if (kind === 'symlink') lines.push(`ln -s -- ${shellQuote(leadsTo)} ${at}`)
    if ((kind === 'dir' && wanted !== 0o755) || (kind === 'file' && wanted !== 0o644))
      lines.push(`chmod ${wanted.toString(8)} ${at}`)
  }
  return lines.join(' && ')
}

/**
 * Copies a small tree with one command, which takes milliseconds; an engine starts a process for each archive. False if
 * that fails.
 */
async function uploadFew(commands: Commands, source: string, target: string): Promise<boolean> {
  const script = await renderFew(source, target)
  return script !== null && (await commands.exec(['/bin/sh', '-c', script], asRoot)).exitCode === 0
}

/**
 * Copies a host directory's contents into a directory inside, owned by root. The engine unpacks anything that is not
 * small or not new.
 */
export async function uploadDir(
  engine: ContainerEngine,
  commands: Commands,
  source: string,
  target: string,
): Promise<void> {
  const path = posix.normalize(target)
  const put = async () => {
    const tar = tarDir(source, { links: 'keep', special: 'skip', modes: 'kept' })
    const at = url`/containers/${commands.container}/archive`
    return (await engine.ask({ method: 'PUT', path: at, query: { path }, tar, accept: [404] })).status !== 404
  }
  try {
    if (await uploadFew(commands, source, path)) return
    // If the directory exists, no program inside is needed.
    if (await put()) return
    const made = await commands.exec(['mkdir', '-p', '--', target], asRoot)
    if (made.exitCode !== 0 || !(await put())) throw new Error(made.stderr.trim() || 'there is no such directory')
  } catch (error) {
    if (error instanceof BoundaryError && error.code === 'SandboxGoneError') throw error
    throw transferFailure(`cannot copy ${source} to ${target}: ${messageOf(error)}`)
  }
}

/** Copies a directory's contents to the host. The engine reads them, and its archive is checked as untrusted. */
export async function downloadDir(
  place: Place,
  source: string,
  target: string,
  options: DownloadOptions,
): Promise<void> {
  const fail = (why: string) => transferFailure(`cannot copy ${source}: ${why}`)
  refuseInMemory(source, fail)
  // With the dot, both engines follow a link in place of the directory, but never out of the container.
  const archive = await openArchive(place, `${source}/.`, fail)
  try {
    if (!archive.isDir) throw fail('not a directory')
    const entries = withoutExcluded(readTar(archive.body), options.exclude ?? [])
    await extractEntries(entries, target, { ...fromInside, ...limitsOf(options) }).catch((error: unknown) => {
      throw fail(messageOf(error))
    })
  } finally {
    archive.body.destroy()
  }
}

async function openArchive({ engine, container }: Place, path: string, fail: (why: string) => Error): Promise<Archive> {
  try {
    return await engine.archive(container, path)
  } catch (error) {
    if (!(error instanceof BoundaryError)) throw error
    if (['SandboxGoneError', 'EngineUnreachableError'].includes(error.code)) throw error
    throw fail(messageOf(error))
  }
}

function refuseInMemory(path: string, fail: (why: string) => Error): void {
  const at = inMemory.find((dir) => posix.normalize(`${path}/`).startsWith(`${dir}/`))
  if (at !== undefined) throw fail(`files below ${at} are in memory, and container engines copy only files on disk`)
}

/** Leaves out whatever a pattern names, with everything below it. */
async function* withoutExcluded(
  entries: AsyncIterable<TarEntry>,
  patterns: readonly string[],
): AsyncGenerator<TarEntry, void, void> {
  const globs = patterns.map((pattern) => pattern.replace(/\/+$/, '').split('/').map(readGlob))
  let left: string | null = null
  for await (const entry of entries) {
    const parts = ['.', ...posix.normalize(`./${entry.name}`).replace(/\/$/, '').split('/')]
    const path = parts.join('/')
    if (left !== null && path.startsWith(`${left}/`)) continue
    if (globs.some((glob) => glob.every((part, i) => matchesGlob(part, parts.at(i - glob.length) ?? null)))) left = path
    else yield entry
  }
}

type Glob = readonly ('*' | ((letter: string) => boolean))[]

/** Parses a pattern for one name: `*`, `?`, `[abc]`, `[!a-z]`, and literal characters. */
function readGlob(pattern: string): Glob {
  const tokens = pattern.match(/\[[!^]?\]?[^\]]*\]|\\?[\s\S]/g) ?? []
  return tokens.map((token) => {
    if (token === '*') return '*'
    if (token === '?') return () => true
    if (token.length < 3) return (letter) => letter === token.at(-1)
    const [, not, set = ''] = /^\[([!^]?)([\s\S]*)\]$/.exec(token) ?? []
    const ranges = [...set.matchAll(/([\s\S])(?:-([\s\S]))?/g)].map(([, from = '', to = from]) => ({ from, to }))
    return (letter) => ranges.some(({ from, to }) => from <= letter && letter <= to) !== (not !== '')
  })
}

/** The number of steps stays small for any pattern. */
function matchesGlob(glob: Glob, name: string | null): boolean {
  if (name === null) return false
  let [at, star, retry] = [0, -1, 0]
  for (let i = 0; i < name.length; ) {
    const token = glob[at]
    if (token === '*') {
      star = at++
      retry = i
    } else if (token?.(name[i] ?? '')) {
      at++
      i++
    } else if (star >= 0) {
      at = star + 1
      i = ++retry
    } else return false
  }
  return glob.slice(at).every((token) => token === '*')
}
