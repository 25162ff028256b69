import { constants } from 'node:fs'
import { lstat, open, readdir, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, join, posix, sep } from 'node:path'
import { isMissing } from '../../lib/files.ts'
import { type Glob, GlobError, matchesGlob, parsePathGlob } from './glob.ts'

/** One entry to copy from a build context. */
export interface ContextEntry {
  /** Relative to the selected directory; for a selected file, its own name. */
  readonly path: string
  /** Its path on this machine. */
  readonly source: string
  readonly kind: 'file' | 'dir' | 'symlink'
  /** Permission bits. */
  readonly mode: number
  readonly size: number
  /** A link's target; empty for everything else. */
  readonly target: string
  readonly modifiedSec: number
}

/** What one source of a COPY selects: a file (or a link), or the contents of a directory. */
export interface Selected {
  readonly kind: 'file' | 'dir'
  readonly entries: readonly ContextEntry[]
}

/** Thrown for an unusable source; the caller knows the line. */
export class ContextError extends Error {
  override readonly name = 'ContextError'
}

/** Upper limit for a Dockerfile or `.dockerignore`. */
export const textLimitBytes = 1 << 20

/**
 * The files a Dockerfile may copy: a directory without what its `.dockerignore` excludes. Nothing outside is ever read.
 */
export class BuildContext {
  private constructor(
    private readonly root: string,
    private readonly ignore: Ignore,
  ) {}

  static async open(dir: string): Promise<BuildContext> {
    const root = await realpath(dir)
    const text = (await readInside(root, 'Dockerfile.dockerignore')) ?? (await readInside(root, '.dockerignore')) ?? ''
    try {
      return new BuildContext(root, parseIgnore(text))
    } catch (error) {
      if (error instanceof GlobError) throw new ContextError(`.dockerignore: ${error.message}`)
      throw error
    }
  }

  /** What a path or pattern selects; a pattern without matches selects nothing. */
  async select(source: string): Promise<readonly Selected[]> {
    const path = cleanSource(source)
    const matches = hasWildcards(path) ? await this.matching(path) : [path]
    return Promise.all(matches.map((match) => this.take(match)))
  }

  private async matching(pattern: string): Promise<string[]> {
    let found = ['']
    for (const part of pattern.split('/')) {
      const glob = hasWildcards(part) ? parsePart(part) : null
      const lists = await Promise.all(found.map((dir) => this.childrenLike(dir, part, glob)))
      found = lists.flat()
    }
    return found.filter((path) => !this.ignore.leavesOut(path))
  }

  private async childrenLike(dir: string, part: string, glob: Glob | null): Promise<string[]> {
    const names = await readdir(await this.resolve(dir)).catch((error: unknown) => {
      if (isMissing(error)) return []
      throw error
    })
    return names
      .filter((name) => (glob === null ? name === part : matchesGlob(glob, name)))
      .sort()
      .map((name) => posix.join(dir, name))
  }

  private async take(path: string): Promise<Selected> {
    if (path !== '.' && this.ignore.leavesOut(path)) throw new ContextError(`${path} is excluded by .dockerignore`)
    const name = basename(path)
    const parent = await this.resolve(dirname(path))
    const itself = join(parent, path === '.' ? '' : name)
    const real = await this.follow(itself)
    const entry = await describe(real, name).catch((error: unknown) => {
      if (isMissing(error)) throw new ContextError(`${path} is not there`)
      throw error
    })
    if (entry.kind !== 'dir') return { kind: 'file', entries: [entry] }
    return { kind: 'dir', entries: await this.walk(real, '') }
  }

  /** The target of a link inside the context, or the link itself if it leads outside or nowhere. */
  private async follow(path: string): Promise<string> {
    const real = await realpath(path).catch(() => path)
    return this.holds(real) ? real : path
  }

  /** The real path of a directory of the context, which may be behind links. */
  private async resolve(path: string): Promise<string> {
    const real = await realpath(join(this.root, path)).catch((error: unknown) => {
      if (isMissing(error)) throw new ContextError(`${path} is not there`)
      throw error
    })
    if (!this.holds(real)) throw new ContextError(`${path} leads out of the build context`)
    return real
  }

  private holds(real: string): boolean {
    return real === this.root || real.startsWith(this.root + sep)
  }

  /** Everything below a directory that is not excluded, parents first; parents of re-included files are kept. */
  private async walk(dir: string, prefix: string): Promise<ContextEntry[]> {
    const found: ContextEntry[] = []
    const names = (await readdir(dir)).sort()
    for (const name of names) {
      const source = join(dir, name)
      const leftOut = this.ignore.leavesOut(source.slice(this.root.length + 1))
      if (leftOut && !this.ignore.hasExceptions) continue
      const entry = await describe(source, prefix + name)
      const below = entry.kind === 'dir' ? await this.walk(source, `${prefix}${name}/`) : []
      if (!leftOut || below.length > 0) found.push(entry, ...below)
    }
    return found
  }
}

/** The text of a small file in a context, or null if there is none; links that lead outside are not followed. */
export async function readInside(root: string, name: string): Promise<string | null> {
  const inside = await realpath(root)
  try {
    const real = await realpath(join(inside, name))
    if (!real.startsWith(inside + sep)) throw new ContextError(`${name} leads out of the task`)
    const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile()) throw new ContextError(`${name} is not a file`)
      if (stat.size > textLimitBytes) throw new ContextError(`${name} is larger than ${textLimitBytes} bytes`)
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Whether Docker would treat a source as a pattern. */
export function hasWildcards(path: string): boolean {
  return /[*?[\\]/.test(path)
}

/** Parses one path segment of a pattern. */
export function parsePart(part: string): Glob {
  try {
    return parsePathGlob(part, { deep: false })
  } catch (error) {
    if (error instanceof GlobError) throw new ContextError(error.message)
    throw error
  }
}

function cleanSource(source: string): string {
  const path = posix.normalize(source).replace(/^\/+/, '').replace(/\/+$/, '') || '.'
  if (path === '..' || path.startsWith('../')) throw new ContextError(`${source} leads out of the build context`)
  return path
}

async function describe(source: string, path: string): Promise<ContextEntry> {
  // Invalid UTF-8 was replaced when the name was read, so the file could not be opened again.
  if (path.includes('\uFFFD')) throw new ContextError(`${path}: the name is not UTF-8`)
  const stat = await lstat(source)
  const common = { path, source, mode: stat.mode & 0o7777, modifiedSec: Math.max(0, Math.floor(stat.mtimeMs / 1000)) }
  if (stat.isFile()) return { ...common, kind: 'file', size: stat.size, target: '' }
  if (stat.isDirectory()) return { ...common, kind: 'dir', size: 0, target: '' }
  if (stat.isSymbolicLink()) return { ...common, kind: 'symlink', size: 0, target: await readlink(source) }
  throw new ContextError(`${path} is neither a file, a directory nor a link`)
}

/** Decides which paths of a build context a `.dockerignore` excludes. */
interface Ignore {
  /** `path` is relative to the context, with slashes. Everything below an excluded path is excluded too. */
  leavesOut(path: string): boolean
  /** Whether something below an excluded directory may be re-included by a `!` line. */
  readonly hasExceptions: boolean
}

interface Rule {
  readonly glob: Glob
  readonly comesBack: boolean
}

/** Parses a `.dockerignore`; the last rule that matches a path, or a directory above it, decides. */
export function parseIgnore(text: string): Ignore {
  const rules = text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .flatMap(parseRule)
  return {
    hasExceptions: rules.some((rule) => rule.comesBack),
    leavesOut(path) {
      const above = path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'))
      let out = false
      for (const rule of rules) {
        if (rule.comesBack === out && above.some((prefix) => matchesGlob(rule.glob, prefix))) out = !rule.comesBack
      }
      return out
    },
  }
}

function parseRule(line: string): Rule[] {
  if (line.startsWith('#')) return []
  const trimmed = line.trim()
  const comesBack = trimmed.startsWith('!')
  const pattern = (comesBack ? trimmed.slice(1) : trimmed).trim()
  if (pattern === '') {
    if (comesBack) throw new GlobError('a line that is only "!"')
    return []
  }
  const cleaned = posix.normalize(pattern).replace(/\/$/, '').replace(/^\//, '')
  if (cleaned === '' || cleaned === '.') return []
  return [{ glob: parsePathGlob(cleaned, { deep: true }), comesBack }]
}
