import { lstatSync, readdirSync, readFileSync, type Stats } from 'node:fs'
import { join, resolve } from 'node:path'
import { crc32 } from 'node:zlib'
import type { NamedTask, TaskDigests } from '../core/task.ts'
import { isCoherent } from '../lib/disk.ts'
import { writeAtomic } from '../lib/files.ts'
import { parseJson } from '../lib/parse-json.ts'
import { isOurs, usualSettleMs } from './record-index.ts'

/** A hidden file next to the trials. It can be removed at any time. */
export const taskIndexName = '.tasks.index'

/** Changing the number invalidates all files of earlier versions: needed when digests or names are made differently. */
const mark = 2
/** Distinguishes a file or directory from any earlier or later one in its place, in the order of an entry's stamps. */
const stampFields = ['dev', 'ino', 'size', 'ctimeMs'] as const
/** A larger task is read each time. */
const mostEntries = 2000

interface Entry {
  /** Every file and directory of the task by its path in it, the task itself first. */
  readonly paths: readonly string[]
  /** The values of `stampFields` for each path. */
  readonly stamps: readonly number[]
  readonly name: string
  readonly digests: TaskDigests
}

type DigestOf = () => Promise<TaskDigests>

/**
 * The names and digests of a job's tasks, so that unchanged tasks are not read again. An entry is used only if every
 * file and directory of the task is the very one it was made from: same devices, inodes, sizes and change times. Adding
 * or removing a file changes the time of its directory.
 */
export class TaskIndex {
  readonly #path: string
  readonly #settleMs: number
  readonly #known: Map<string, Entry>
  #changed = false

  private constructor(path: string, settleMs: number) {
    this.#path = path
    this.#settleMs = settleMs
    this.#known = new Map(loadEntries(path))
  }

  /** Null if the job does not exist yet or the index could not be kept. */
  static of(jobDir: string, settleMs = usualSettleMs): TaskIndex | null {
    const stats = lstatSync(jobDir, { throwIfNoEntry: false })
    const isKept = stats?.isDirectory() === true && stats.uid === process.geteuid?.() && isCoherent(jobDir)
    return isKept ? new TaskIndex(join(jobDir, taskIndexName), settleMs) : null
  }

  /** The name and digests of a task that has not changed since it was read. */
  known(taskDir: string): NamedTask | null {
    const entry = this.#unchanged(taskDir)
    return entry && { name: entry.name, dir: resolve(taskDir), digests: entry.digests }
  }

  /**
   * Reads a task with `load`, which gets the known digests if there are any, and records it in its state before the
   * read.
   */
  async read<T extends NamedTask>(taskDir: string, load: (digest: DigestOf | null) => Promise<T>): Promise<T> {
    const known = this.#unchanged(taskDir)
    const before = known ?? stampTree(taskDir, Date.now() - this.#settleMs)
    const task = await load(known && (async () => known.digests))
    // Changed while it was read, so its digests have changed.
    if (known && !this.#unchanged(taskDir)) return this.read(taskDir, load)
    if (known?.name === task.name) return task
    this.#changed ||= before !== null || this.#known.has(taskDir)
    if (before) this.#known.set(taskDir, { ...before, name: task.name, digests: task.digests })
    else this.#known.delete(taskDir)
    return task
  }

  #unchanged(taskDir: string): Entry | null {
    const entry = this.#known.get(taskDir)
    return entry && isUnchanged(taskDir, entry) ? entry : null
  }

  /** Saves new entries; those that cannot be written are left out. */
  async save(): Promise<void> {
    if (!this.#changed) return
    try {
      const text = JSON.stringify(Object.fromEntries(this.#known))
      await writeAtomic(this.#path, `${sumOf(text)}\t${text}\n`)
    } catch {}
  }
}

/** A torn or foreign file, or one of another user, is ignored. */
function loadEntries(path: string): readonly (readonly [string, Entry])[] {
  const [sum, text] = (readOurs(path) ?? '').trimEnd().split('\t', 2)
  if (text === undefined || sum !== sumOf(text)) return []
  return Object.entries(Object(parseJson(text))).flatMap(([dir, entry]) => (isEntry(entry) ? [[dir, entry]] : []))
}

function readOurs(path: string): string | null {
  try {
    return isOurs(path) ? readFileSync(path, 'utf8') : null
  } catch {
    return null
  }
}

/** Checked without a schema, which would take as long as the rest of the reading. */
function isEntry(value: unknown): value is Entry {
  const { paths, stamps, name, digests } = Object(value)
  const { dirhash, content } = Object(digests)
  const texts = [name, dirhash, content]
  return Array.isArray(paths) && Array.isArray(stamps) && texts.every((text) => typeof text === 'string')
}

function sumOf(text: string): string {
  return crc32(text, mark).toString(16)
}

function isUnchanged(taskDir: string, { paths, stamps }: Entry): boolean {
  if (paths[0] !== '' || stamps.length !== paths.length * stampFields.length) return false
  for (let nth = 0; nth < paths.length; nth++) {
    const stats = statOf(taskDir, paths[nth] ?? '')
    if (!isPlain(stats)) return false
    const from = nth * stampFields.length
    if (!stampFields.every((field, i) => stats[field] === stamps[from + i])) return false
  }
  return true
}

/**
 * Null for a task that has links or special files, is too large, cannot be read or has changed too recently, or whose
 * disk may answer from a cache.
 */
function stampTree(taskDir: string, beforeMs: number): Pick<Entry, 'paths' | 'stamps'> | null {
  if (!isPlain(statOf(taskDir, '')) || !isCoherent(taskDir)) return null
  const paths = ['']
  const stamps: number[] = []
  for (const path of paths) {
    const stats = statOf(taskDir, path)
    if (!isPlain(stats) || stats.ctimeMs > beforeMs) return null
    stamps.push(...stampFields.map((field) => stats[field]))
    const names = stats.isDirectory() ? namesIn(join(taskDir, path)) : []
    if (names === null || paths.length + names.length > mostEntries) return null
    paths.push(...names.map((name) => join(path, name)))
  }
  return { paths, stamps }
}

function namesIn(dir: string): readonly string[] | null {
  try {
    return readdirSync(dir)
  } catch {
    return null
  }
}

function statOf(taskDir: string, path: string): Stats | undefined {
  try {
    return lstatSync(path === '' ? taskDir : `${taskDir}/${path}`, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function isPlain(stats: Stats | undefined): stats is Stats {
  return stats !== undefined && (stats.isFile() || stats.isDirectory())
}
