import { createHash } from 'node:crypto'
import { createReadStream, type Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join, normalize, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { UserError } from '../core/errors.ts'
import { isMissing, kindAt } from '../lib/files.ts'
import { isGlob, parseGlob } from '../lib/path-glob.ts'
import { compareBytes } from '../lib/tree.ts'

/** Which files to look for in a folder or glob. */
export interface InputKind {
  /** As in "expected files of rows". */
  readonly what: string
  readonly pattern: RegExp
  /** For people. */
  readonly endings: string
}

/** Files that `readRecords` reads. */
export const recordFiles: InputKind = {
  what: 'rows',
  pattern: /\.(jsonl|ndjson)(\.gz)?$|\.(json|csv|tsv|parquet|xlsx)$/i,
  endings: '.jsonl, .json, .csv, .tsv, .parquet or .xlsx',
}

/** Parquet files of tasks, as `ot-agent tasks pack` writes them. */
export const packedTaskFiles: InputKind = { what: 'packed tasks', pattern: /\.parquet$/i, endings: '.parquet' }

/** A folder with more files is a mistake, such as `/**`. */
const mostFiles = 200_000

/**
 * The files at a path: a file itself, all files of a kind below a folder, or those matching a glob such as
 * `rows/*.csv`, in path order. Hidden files and links are skipped. Finding none is a UserError.
 */
export async function inputFiles(path: string, kind: InputKind): Promise<readonly string[]> {
  const there = await kindAt(path)
  if (there === 'file') return [path]
  if (there === 'other')
    throw new UserError(`${path}: expected a file of ${kind.what}, found a device, pipe or socket`, 'give a file')
  if (there === 'none' && !isGlob(path))
    throw new UserError(`${path}: expected a file of ${kind.what}, found nothing there`, 'check the path')
  const search = new Search(path)
  const files = there === 'dir' ? await search.below(path) : await search.matching(path)
  const chosen = [...new Set(files)].filter((file) => kind.pattern.test(file)).sort(compareBytes)
  if (chosen.length > 0) return chosen
  const seen = search.links > 0 ? `; ${search.links} links were not followed` : ''
  throw there === 'dir'
    ? new UserError(
        `${path}: expected files of ${kind.what}, found none among ${files.length} files${seen}`,
        `put files there that end in ${kind.endings}`,
      )
    : new UserError(
        `${path}: expected files of ${kind.what}, ${files.length === 0 ? 'the pattern matches no file' : `none of the ${files.length} files that match is one`}${seen}`,
        `check the pattern; files end in ${kind.endings}`,
      )
}

/** Whether a path may stand for several files: a folder or a glob. */
export async function standsForFiles(path: string): Promise<boolean> {
  const there = await kindAt(path)
  return there === 'dir' || (there === 'none' && isGlob(path))
}

/** A digest of files' bytes, and of their names if there are several: a changed, added or renamed file changes it. */
export async function digestFiles(files: readonly string[], signal?: AbortSignal): Promise<string> {
  const [first = ''] = files
  if (files.length === 1) return bytesOf(first, signal)
  const hash = createHash('sha256')
  const base = commonFolder(files)
  for (const file of files) hash.update(`${relative(base, file)}\0${await bytesOf(file, signal)}\0`)
  return hash.digest('hex')
}

/** A file's name within an input of several files. */
export function shortNames(files: readonly string[]): readonly string[] {
  const base = commonFolder(files)
  return files.map((file) => relative(base, file) || basename(file))
}

async function bytesOf(file: string, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash, signal ? { signal } : {})
  return hash.digest('hex')
}

/** The deepest folder that contains all files. */
export function commonFolder(files: readonly string[]): string {
  const [first = '', ...rest] = files.map((file) => dirname(file))
  let base = first
  while (!rest.every((dir) => dir === base || dir.startsWith(base.endsWith(sep) ? base : base + sep))) {
    if (dirname(base) === base) return base
    base = dirname(base)
  }
  return base
}

class Search {
  links = 0
  private found = 0

  constructor(private readonly asked: string) {}

  /** All files below a folder. */
  async below(dir: string): Promise<string[]> {
    return this.expand(dir, ['**', '*'])
  }

  async matching(pattern: string): Promise<string[]> {
    const parts = normalize(pattern)
      .split('/')
      .filter((part, i) => part !== '' || i === 0)
    const first = parts.findIndex(isGlob)
    return this.expand(parts.slice(0, first).join('/') || (pattern.startsWith('/') ? '/' : '.'), parts.slice(first))
  }

  private async expand(path: string, [part, ...rest]: readonly string[]): Promise<string[]> {
    if (part === undefined) return []
    const test = parseGlob(part)
    const files: string[] = []
    if (part === '**') files.push(...(await this.expand(path, rest.length === 0 ? ['*'] : rest)))
    for (const entry of await entriesOf(path)) {
      if (entry.name.startsWith('.') && !part.startsWith('.')) continue
      const inside = path === '.' && !this.asked.startsWith('.') ? entry.name : join(path, entry.name)
      if (part === '**') {
        if (entry.isDirectory()) files.push(...(await this.expand(inside, ['**', ...rest])))
      } else if (test.test(entry.name)) files.push(...(await this.take(entry, inside, rest)))
    }
    return files
  }

  private async take(entry: Dirent, path: string, rest: readonly string[]): Promise<string[]> {
    if (entry.isSymbolicLink()) this.links++
    // A pattern that ends in a folder stands for the folder's content.
    if (entry.isDirectory()) return rest.length === 0 ? this.below(path) : this.expand(path, rest)
    if (!entry.isFile() || rest.length > 0) return []
    if (++this.found > mostFiles)
      throw new UserError(`${this.asked}: expected at most ${mostFiles} files, found more`, 'pass a smaller folder')
    return [path]
  }
}

async function entriesOf(dir: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(dir, { withFileTypes: true })
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
