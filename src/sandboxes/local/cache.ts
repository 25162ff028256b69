import { readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CacheEntry, CacheReport, PruneOptions } from '../../core/sandbox.ts'
import { diskBytesOf } from '../../lib/disk.ts'
import { draftBeside, removeDraft } from '../../lib/drafts.ts'
import { isMissing, namesIn, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { livenessOf, markName } from '../../lib/process-identity.ts'
import { type Noted, ProcessNotes, readNotes } from '../../lib/process-notes.ts'
import { loadLease, ownerLiveness } from '../namespaces/lease-file.ts'

/** What is kept so that later sandboxes start sooner; each kind is a directory of the workshop. */
type Kind = 'bases' | 'layers'

const defaultLimitGb = 20

/** Where a cache is, and how its trees are removed. */
export interface CachePlace {
  readonly home: string
  readonly ownersDir: string
  readonly sandboxesDir: string
  removeDir(dir: string): Promise<void>
}

/**
 * The bases and layers of a state directory, kept below a size limit by removing the least recently used. A process
 * records what it uses (`uses/<mark>`) before it checks whether that exists, and a pruner checks the records again
 * after it has moved something away: so nothing is removed that a living process has found.
 */
export class Cache {
  /** What was there at the last full check, and what this process has added since. */
  #foundBytes: number | null = null
  #addedBytes = 0

  constructor(
    private readonly place: CachePlace,
    private readonly limitGb = defaultLimitGb,
  ) {}

  /** Call this before checking whether it exists; from then until this process ends, it stays. */
  use(kind: Kind, name: string): void {
    notesIn(this.#usesDir, this.place.ownersDir)?.add(`${kind}/${name}`)
    try {
      utimesSync(this.#stampOf(kind, name), new Date(), new Date())
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }

  /** Call this when something new is there: it records the size, and makes room if there is too much. */
  async added(kind: Kind, name: string): Promise<void> {
    this.#addedBytes += await this.#measure(kind, name)
    if (this.#isTimeToLook()) await this.prune()
  }

  /**
   * A full check takes longer the more there is, so not after every one of thousands of layers. Other processes add to
   * it too.
   */
  #isTimeToLook(): boolean {
    const limitBytes = this.limitGb * 1e9
    if (this.#foundBytes === null || this.#addedBytes >= limitBytes / 50) return true
    return this.#foundBytes <= limitBytes && this.#foundBytes + this.#addedBytes > limitBytes
  }

  /** Removes the least recently used until the rest is within the limit; reports what is kept and what was removed. */
  async prune({ limitBytes = this.limitGb * 1e9, dryRun = false }: PruneOptions = {}): Promise<CacheReport> {
    const found = await this.#entries()
    const used = this.#usedNow()
    let bytes = found.reduce((sum, entry) => sum + entry.bytes, 0)
    const entries: CacheEntry[] = []
    for (const entry of found.sort((a, b) => a.lastUsedMs - b.lastUsedMs)) {
      const { kind, name, lastUsedMs } = entry
      const isUsed = used === 'all' || used.has(`${kind}/${name}`)
      const goes = !isUsed && bytes > limitBytes && (dryRun || (await this.#remove(kind, name)))
      if (goes) bytes -= entry.bytes
      const state = goes ? 'removed' : isUsed ? 'in use' : 'kept'
      entries.push({ kind, name, bytes: entry.bytes, lastUsedAt: new Date(lastUsedMs).toISOString(), state })
    }
    if (!dryRun) {
      this.#foundBytes = bytes
      this.#addedBytes = 0
    }
    return { limitBytes, bytes, entries }
  }

  /** Forgets what dead processes used. */
  async forgetDead(): Promise<void> {
    for (const noted of readNotes(this.#usesDir)) if (this.#isDead(noted)) await rm(noted.path, { force: true })
  }

  async #entries(): Promise<{ kind: Kind; name: string; bytes: number; lastUsedMs: number }[]> {
    const entries = []
    for (const kind of ['bases', 'layers'] as const)
      for (const name of await namesIn(join(this.place.home, kind))) {
        if (!/^[0-9a-f]+(-[0-9a-f]{8})?$/.test(name)) continue
        const stamp = statSync(this.#stampOf(kind, name), { throwIfNoEntry: false })
        const made = statSync(join(this.place.home, kind, name), { throwIfNoEntry: false })
        if (!made) continue
        entries.push({ kind, name, bytes: await this.#bytesOf(kind, name), lastUsedMs: (stamp ?? made).mtimeMs })
      }
    return entries
  }

  /** An earlier version stored no size. */
  async #bytesOf(kind: Kind, name: string): Promise<number> {
    const known = await readTextIfExists(this.#stampOf(kind, name))
    return known === null || !/^\d+\n$/.test(known) ? diskBytesOf(join(this.place.home, kind, name)) : Number(known)
  }

  async #measure(kind: Kind, name: string): Promise<number> {
    const bytes = await diskBytesOf(join(this.place.home, kind, name))
    await writeAtomic(this.#stampOf(kind, name), `${bytes}\n`)
    return bytes
  }

  /**
   * What living processes use; `all` if there is a sandbox whose process does not record what it uses, as in earlier
   * versions.
   */
  #usedNow(): ReadonlySet<string> | 'all' {
    const living = readNotes(this.#usesDir).filter((noted) => !this.#isDead(noted))
    const marks = new Set(living.map(({ mark }) => mark))
    const { sandboxesDir, ownersDir } = this.place
    for (const id of namesNow(sandboxesDir)) {
      const dir = join(sandboxesDir, id)
      const lease = loadLease(dir)
      if (ownerLiveness(id, lease, { dir, ownersDir }) === 'dead') continue
      if (lease === null || !marks.has(markName(lease.process) ?? '')) return 'all'
    }
    return new Set(living.flatMap(({ lines }) => lines))
  }

  #isDead({ process }: Noted): boolean {
    return livenessOf(process, { ownersDir: this.place.ownersDir, sameState: true }) === 'dead'
  }

  /** False when it turned out to be in use. */
  async #remove(kind: Kind, name: string): Promise<boolean> {
    const dir = join(this.place.home, kind, name)
    const aside = draftBeside(dir)
    try {
      renameSync(dir, aside)
    } catch (error) {
      // Another process was faster.
      if (isMissing(error)) return true
      throw error
    }
    if (this.#isUsedNow(kind, name) && wasPutBack(aside, dir)) return false
    await this.place.removeDir(aside)
    await removeDraft(aside)
    rmSync(this.#stampOf(kind, name), { force: true })
    const pointer = `${join(this.place.home, kind, name.slice(0, 32))}.latest`
    if ((await readTextIfExists(pointer))?.trim() === name) rmSync(pointer, { force: true })
    return true
  }

  #isUsedNow(kind: Kind, name: string): boolean {
    const used = this.#usedNow()
    return used === 'all' || used.has(`${kind}/${name}`)
  }

  get #usesDir(): string {
    return join(this.place.home, 'uses')
  }

  /** Its content is the size in bytes, its mtime the time of last use. */
  #stampOf(kind: Kind, name: string): string {
    return join(this.place.home, 'used', `${kind}-${name}`)
  }
}

const openNotes = new Map<string, ProcessNotes>()

/** This process's notes in a directory. It has one file there, however many caches it opens. */
function notesIn(usesDir: string, ownersDir: string): ProcessNotes | null {
  const notes = openNotes.get(usesDir) ?? ProcessNotes.open(usesDir, ownersDir)
  if (notes === null || openNotes.has(usesDir)) return notes
  openNotes.set(usesDir, notes)
  process.once('exit', () => notes.remove())
  return notes
}

/** False when it has been rebuilt in the meantime. */
function wasPutBack(aside: string, dir: string): boolean {
  try {
    renameSync(aside, dir)
    return true
  } catch {
    return false
  }
}

function namesNow(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}
