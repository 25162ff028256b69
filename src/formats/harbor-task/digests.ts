import { createHash } from 'node:crypto'
import { closeSync, constants, type Dirent, openSync, realpathSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { TaskDigests } from '../../core/task.ts'
import { blockingDisk, patientDisk } from '../../lib/disk.ts'
import { isMissing } from '../../lib/files.ts'
import { compareBytes } from '../../lib/tree.ts'
import { type GlobToken, matchGlob, parseGlob } from './glob.ts'
import { isInside, orUserError, readTaskText } from './read.ts'

/** The parts of a task that the packager includes. */
const packagedFiles = new Set(['task.toml', 'instruction.md', 'README.md', 'trajectory.json'])
const packagedDirs = new Set(['environment', 'tests', 'solution', 'steps'])

/** What the packager excludes in a task without a .gitignore. */
const defaultIgnores = ['__pycache__/', '*.pyc', '.DS_Store', '*.swp', '*.swo', '*~']

/** Links can turn a small tree into endless work. */
const maxEntries = 500_000

/** Computes both digests of a task in one walk that reads every file once. */
export async function digestTask(taskDir: string): Promise<TaskDigests> {
  const root = await orUserError(taskDir, async () => realpathSync.native(taskDir))
  const walk = new Walk(root)
  const dirhash = await walk.hashDir({ path: '', real: root, isPackable: true }, new Set())
  if (dirhash === null) throw new UserError(`${taskDir}: expected files, found none`, 'a task has at least a task.toml')
  return { dirhash, content: await contentHash(taskDir, walk.packaged) }
}

async function contentHash(taskDir: string, files: ReadonlyMap<string, string>): Promise<string> {
  const gitignore = await readTaskText(taskDir, join(taskDir, '.gitignore'))
  const isIgnored = gitignore === null ? isIgnoredByDefault : compileIgnore(splitLines(gitignore))
  const hash = createHash('sha256')
  const paths = [...files.keys()].filter((path) => !isIgnored(path)).sort(compareBytes)
  for (const path of paths) hash.update(`${path}\0${files.get(path)}\n`)
  return hash.digest('hex')
}

interface Dir {
  /** Relative to the task; empty for the task itself. */
  readonly path: string
  /** Its real path, with links followed. */
  readonly real: string
  /** The packager follows links to files, but enters no linked directory except at the top level. */
  readonly isPackable: boolean
}

class Walk {
  /** The hash of each file that the packager would include, by path. */
  readonly packaged = new Map<string, string>()
  readonly #buffer = Buffer.allocUnsafe(256 * 1024)
  #entries = 0

  constructor(readonly root: string) {}

  /**
   * The `dirhash` of a directory, or null if nothing in it counts: links are followed, modes and empty directories
   * ignored. A link out of the task is treated as dangling, so that no file of this machine enters a digest.
   */
  async hashDir(dir: Dir, above: ReadonlySet<string>): Promise<string | null> {
    if (above.has(dir.real)) throw isCycle(join(this.root, dir.path))
    const inside = new Set(above).add(dir.real)
    const descriptors: string[] = []
    for (const entry of await orUserError(dir.real, async () => blockingDisk.list(dir.real))) {
      this.#countEntry()
      const hashed = await this.#hashEntry(dir, entry, inside)
      if (hashed) descriptors.push([`name:${entry.name}`, hashed].sort(compareBytes).join('\0'))
    }
    return descriptors.length === 0 ? null : sha256(descriptors.sort(compareBytes).join('\0\0'))
  }

  async #hashEntry(dir: Dir, entry: Dirent, above: ReadonlySet<string>): Promise<string | null> {
    const path = dir.path === '' ? entry.name : `${dir.path}/${entry.name}`
    const found = await this.#find(join(dir.real, entry.name), entry)
    if (!found) return null
    if (found.kind === 'dir') {
      const isPackable = dir.isPackable && (dir.path === '' || !entry.isSymbolicLink())
      const hash = await this.hashDir({ path, real: found.real, isPackable }, above)
      return hash && `dirhash:${hash}`
    }
    const hash = await orUserError(found.real, () => this.#hashFile(found.real))
    if (dir.isPackable && isPackaged(path)) this.packaged.set(path, hash)
    return `data:${hash}`
  }

  /** The kind of an entry with links followed; null for what no digest includes. */
  async #find(absolute: string, entry: Dirent): Promise<{ kind: 'file' | 'dir'; real: string } | null> {
    if (!entry.isSymbolicLink()) return kindOf(entry, absolute)
    return orUserError(absolute, async () => {
      try {
        const real = await realpath(absolute)
        return isInside(this.root, real) ? kindOf(await stat(real), real) : null
      } catch (error) {
        if (isMissing(error)) return null
        throw error
      }
    })
  }

  /** Small files are read synchronously, which is faster than dispatching to another thread. */
  async #hashFile(path: string): Promise<string> {
    const hash = createHash('sha256')
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      for (let disk = blockingDisk; ; ) {
        const bytesRead = await disk.read(file, this.#buffer)
        if (bytesRead === 0) return hash.digest('hex')
        hash.update(this.#buffer.subarray(0, bytesRead))
        disk = bytesRead < this.#buffer.length ? blockingDisk : patientDisk
      }
    } finally {
      closeSync(file)
    }
  }

  #countEntry(): void {
    if (++this.#entries <= maxEntries) return
    throw new UserError(
      `${this.root}: expected at most ${maxEntries} files, got more`,
      'a link counts as the files it points to',
    )
  }
}

function kindOf(entry: Pick<Dirent, 'isFile' | 'isDirectory'>, real: string) {
  if (entry.isFile()) return { kind: 'file', real } as const
  return entry.isDirectory() ? ({ kind: 'dir', real } as const) : null
}

function isPackaged(path: string): boolean {
  const slash = path.indexOf('/')
  return slash < 0 ? packagedFiles.has(path) : packagedDirs.has(path.slice(0, slash))
}

function isCycle(path: string): UserError {
  return new UserError(`${path}: expected no loops, got a link to a directory that contains it`, 'remove the link')
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Whether a file, by its path relative to the .gitignore, is ignored. */
type Ignore = (path: string) => boolean

/** `**` matches any number of directories. */
type Segment = '**' | readonly GlobToken[]

interface Rule {
  readonly ignores: boolean
  readonly segments: readonly Segment[]
  /** The last segment may also match a directory above the file. */
  readonly reachesBelow: boolean
}

/**
 * Compiles a .gitignore as Harbor's packager reads it: the last rule matching a file decides. Unlike in git, a later
 * `!` rule can re-include a file of an ignored directory, and `dir/*` does not cover deeper files. Matching never
 * backtracks, so no untrusted pattern can run for ever.
 */
export function compileIgnore(lines: readonly string[]): Ignore {
  const rules = lines.flatMap((line) => compileRule(line) ?? [])
  return (path) => {
    const parts = path.split('/').map((part) => [...part])
    return rules.findLast((rule) => matches(rule, parts))?.ignores ?? false
  }
}

const isIgnoredByDefault = compileIgnore(defaultIgnores)

/** Splits a text at every line ending that Python recognizes. */
export function splitLines(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: some line ends are control characters.
  return text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/)
}

function compileRule(line: string): Rule | null {
  const text = line.endsWith('\\ ') ? line : line.trimEnd()
  if (text === '' || text.startsWith('#')) return null
  const ignores = !text.startsWith('!')
  const pattern = ignores ? text : text.slice(1)
  const names = normalize(pattern)
  const segments = names.map((name) => (name === '**' ? name : parseGlob(name)))
  if (names.length === 0 || segments.includes(null)) return null
  const isEverything = names.join('/') === '**/*'
  return { ignores, segments: segments.filter((s) => s !== null), reachesBelow: isEverything || names.at(-1) !== '*' }
}

/** Makes anchoring explicit: a bare name matches at any depth, and a trailing slash means everything below. */
function normalize(pattern: string): string[] {
  const names = pattern.split('/')
  const isLone = names.length === 1 || (names.length === 2 && names[1] === '')
  if (names[0] === '') names.shift()
  else if (isLone) names.unshift('**')
  if (names.at(-1) === '') names[names.length - 1] = '**'
  const single = names.filter((name, i) => name !== '**' || names[i - 1] !== '**')
  if (single.length > 1 || single[0] !== '**') return single
  return pattern.endsWith('/') && pattern !== '/' ? ['**', '*', '**'] : ['**', '*']
}

/** Matches all alternatives in parallel: `open` holds the segments that the next path part may match. */
function matches(rule: Rule, path: readonly (readonly string[])[]): boolean {
  const { segments } = rule
  let open = new Set([0])
  for (const [i, part] of path.entries()) {
    const isLast = i === path.length - 1
    const next = new Set<number>()
    for (const at of skipStars(segments, open)) {
      const segment = segments[at]
      if (segment === '**') {
        if (at === segments.length - 1 && at > 0) return true
        next.add(at)
      } else if (segment && matchGlob(segment, part)) {
        if (at === segments.length - 1 && (isLast || rule.reachesBelow)) return true
        next.add(at + 1)
      }
    }
    open = next
  }
  return false
}

/** Skips `**` segments, which may match nothing; at the end, though, something must follow. */
function skipStars(segments: readonly Segment[], open: ReadonlySet<number>): Set<number> {
  const all = new Set(open)
  for (const at of open) if (segments[at] === '**' && at < segments.length - 1) all.add(at + 1)
  return all
}
