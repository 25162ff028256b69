import { constants } from 'node:fs'
import { readlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type Disk, list } from './disk.ts'
import { codeOf, isMissing } from './files.ts'

export interface TreeWriterOptions {
  readonly disk: Disk
  readonly modes: 'reduced' | 'kept'
  readonly backslashes: 'refuse' | 'keep'
}

type Written = { readonly kind: 'dir' | 'symlink' } | { readonly kind: 'file'; readonly size: number }

/**
 * Fills an empty directory with entries of hostile names; every method returns why it refused, or null. It remembers
 * what it made, so it knows without asking the disk that no parent of a path is a link.
 */
export class TreeWriter {
  readonly #root: string
  readonly #options: TreeWriterOptions
  readonly #written = new Map<string, Written>()
  readonly #links = new Map<string, string>()
  readonly #umask = process.umask()

  constructor(root: string, options: TreeWriterOptions) {
    this.#root = root
    this.#options = options
  }

  async file(name: string, mode: number, body: AsyncIterable<Uint8Array>, size: number): Promise<string | null> {
    const place = await this.#placeFor(name)
    if ('refused' in place) return place.refused
    const wanted = this.#options.modes === 'kept' ? mode & 0o777 : (mode & 0o111) !== 0 ? 0o755 : 0o644
    const opened = await ifAbsent(() => this.#options.disk.open(this.#at(place.path), createOnly, wanted))
    if (opened === null) return sameFile
    try {
      for await (const chunk of body) await this.#append(opened.made, chunk)
    } finally {
      await this.#options.disk.close(opened.made)
    }
    if ((wanted & this.#umask) !== 0) await this.#options.disk.chmod(this.#at(place.path), wanted)
    this.#written.set(place.path, { kind: 'file', size })
    return null
  }

  async dir(name: string, mode: number): Promise<string | null> {
    const wanted = this.#options.modes === 'kept' ? (mode & 0o777) | 0o700 : 0o755
    const cleaned = this.#clean(name)
    if ('refused' in cleaned) return cleaned.refused
    if (cleaned.path === '') return null
    if (this.#written.get(cleaned.path)?.kind === 'dir') {
      await this.#options.disk.chmod(this.#at(cleaned.path), wanted)
      return null
    }
    const place = await this.#placeFor(name)
    return 'refused' in place ? place.refused : this.#makeDir(place.path, wanted)
  }

  /** Only recorded: links are made at the end, when it is known where each one leads. */
  async symlink(name: string, target: string): Promise<string | null> {
    if (target === '' || target.includes('\0') || Buffer.byteLength(target) > pathLimitBytes)
      return 'its target is not a path'
    const place = await this.#placeFor(name)
    if ('refused' in place) return place.refused
    this.#written.set(place.path, { kind: 'symlink' })
    this.#links.set(place.path, target)
    return null
  }

  /**
   * A second name for a file that was written before; `count` gets its size, because every reader will read it once
   * more.
   */
  async hardlink(name: string, target: string, count: (size: number) => void): Promise<string | null> {
    const original = this.#clean(target)
    const written = 'refused' in original ? undefined : this.#written.get(original.path)
    if ('refused' in original || written?.kind !== 'file')
      return `it is a hard link to ${JSON.stringify(target)}, which is no file of the archive`
    const place = await this.#placeFor(name)
    if ('refused' in place) return place.refused
    count(written.size)
    if ((await ifAbsent(() => this.#options.disk.link(this.#at(original.path), this.#at(place.path)))) === null)
      return sameFile
    this.#written.set(place.path, written)
    return null
  }

  /** Makes the links that stay inside and returns the others. */
  async writeSymlinks(): Promise<{ path: string; reason: string }[]> {
    const refused: { path: string; reason: string }[] = []
    const leadsOut = followingLinks(this.#links)
    for (const [path, target] of this.#links) {
      if (leadsOut(path)) {
        const shown = JSON.stringify(target.slice(0, 200))
        refused.push({ path, reason: `it is a link to ${shown}, which leads out of the archive or in a circle` })
      } else if ((await ifAbsent(() => this.#options.disk.symlink(target, this.#at(path)))) === null) {
        refused.push({ path, reason: sameFile })
      }
    }
    return refused
  }

  async #append(file: number, bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) done += await this.#options.disk.write(file, bytes.subarray(done))
  }

  #at(path: string): string {
    return join(this.#root, path)
  }

  async #placeFor(name: string): Promise<{ path: string } | { refused: string }> {
    const cleaned = this.#clean(name)
    if ('refused' in cleaned) return cleaned
    if (cleaned.path === '') return { refused: 'its name is the directory itself' }
    if (this.#written.has(cleaned.path)) return { refused: 'the archive holds that name twice' }
    // From the bottom up: the nearest parent nearly always exists, and a chain of thousands would be costly to check.
    const missing: string[] = []
    for (let end = cleaned.path.lastIndexOf('/'); end > 0; end = cleaned.path.lastIndexOf('/', end - 1)) {
      const parent = cleaned.path.slice(0, end)
      const written = this.#written.get(parent)
      if (written?.kind === 'dir') break
      if (written) return { refused: `${JSON.stringify(parent)} is a ${written.kind}, not a directory` }
      missing.push(parent)
    }
    for (const parent of missing.reverse()) {
      const refused = await this.#makeDir(parent, 0o755)
      if (refused !== null) return { refused }
    }
    return cleaned
  }

  async #makeDir(path: string, mode: number): Promise<string | null> {
    if ((await ifAbsent(() => this.#options.disk.mkdir(this.#at(path), mode))) === null) return sameFile
    if ((mode & this.#umask) !== 0) await this.#options.disk.chmod(this.#at(path), mode)
    this.#written.set(path, { kind: 'dir' })
    return null
  }

  /** The name as a plain relative path, empty for the directory itself. */
  #clean(name: string): { path: string } | { refused: string } {
    const reason = whyUnsafe(name, this.#options.backslashes)
    if (reason !== null) return { refused: reason }
    const path = name
      .split('/')
      .filter((part) => part !== '' && part !== '.')
      .join('/')
    if (Buffer.byteLength(this.#at(path)) > placeLimitBytes) return { refused: 'its path is too long' }
    return { path }
  }
}

const createOnly = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
const pathLimitBytes = 4095
/** Shorter than the system allows, so that the tree can still be moved elsewhere and removed there. */
const placeLimitBytes = 3000
const nameLimitBytes = 255
const sameFile = 'another entry has the same name on this file system'

/** Why an untrusted relative path must not be used, or null. */
export function whyUnsafe(name: string, backslashes: 'refuse' | 'keep' = 'refuse'): string | null {
  if (name.includes('\0')) return 'its name holds a NUL'
  if (name.startsWith('/')) return 'its name is absolute'
  if (backslashes === 'refuse' && name.includes('\\')) return 'its name holds a backslash'
  const parts = name.split('/')
  if (parts.includes('..')) return 'its name climbs out with ".."'
  if (parts.some((part) => Buffer.byteLength(part) > nameLimitBytes))
    return `a part of its name is longer than ${nameLimitBytes} bytes`
  return null
}

/** How many directory steps all links of a tree may take together: many times more than an honest tree needs. */
const mostSteps = 20_000_000

/**
 * Tells which links lead outside, following each as the kernel would, through the other links: those that climb above
 * the root, go in circles, or can no longer be followed in a tree made to slow its readers down.
 */
function followingLinks(links: ReadonlyMap<string, string>): (path: string) => boolean {
  const dirs = new Set<string>()
  for (const path of links.keys())
    for (let dir = parentOf(path); dir !== '' && !dirs.has(dir); dir = parentOf(dir)) dirs.add(dir)
  let steps = 0
  return (path) => {
    const todo = steps > mostSteps ? null : partsOf(links.get(path) ?? '')
    if (todo === null) return true
    let at = parentOf(path)
    /** How far below `at` we are, where there are no more links. */
    let below = 0
    for (let hops = 0, part = todo.pop(); part !== undefined; part = todo.pop()) {
      if (++steps > mostSteps) return true
      if (part === '' || part === '.') continue
      if (part === '..') {
        if (below > 0) below--
        else if (at === '') return true
        else at = parentOf(at)
        continue
      }
      if (below > 0) {
        below++
        continue
      }
      const next = at === '' ? part : `${at}/${part}`
      // Looking up a long path takes longer.
      steps += next.length >> 4
      const target = links.get(next)
      if (target === undefined) {
        if (dirs.has(next)) at = next
        else below = 1
        continue
      }
      const more = partsOf(target)
      // The kernel gives up here too; other readers must not be led further.
      if (more === null || ++hops > 40) return true
      todo.push(...more)
    }
    return false
  }
}

/** The parts of a link's target, last one first; null for an absolute target. */
function partsOf(target: string): string[] | null {
  return target.startsWith('/') || target === '' ? null : target.split('/').reverse()
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

/** What was made, or null if something already exists there: names that differ only in case can be the same name. */
async function ifAbsent<T>(make: () => T | Promise<T>): Promise<{ readonly made: T } | null> {
  try {
    return { made: await make() }
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return null
    throw error
  }
}

/** Removes every link below a directory that leads out of it, directly or through others. */
export async function dropLeavingLinks(dir: string): Promise<void> {
  const links = new Map<string, string>()
  const waiting = ['']
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const entry of await listDir(join(dir, path))) {
      const name = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) waiting.push(name)
      else if (entry.isSymbolicLink()) links.set(name, await readlink(join(dir, name)))
    }
  }
  const leadsOut = followingLinks(links)
  for (const path of links.keys()) if (leadsOut(path)) await unlink(join(dir, path))
}

async function listDir(dir: string) {
  try {
    return await list(dir)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
