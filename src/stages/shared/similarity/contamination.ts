import {
  digestOf,
  keyBits,
  keyOf,
  type Pack,
  shortRun,
  shortSignature,
  signatureBits,
  tagOf,
} from '../../../formats/benchmark/pack.ts'
import { SimilarTexts } from '../../../lib/similar-texts.ts'
import { passingWordHashes, runHashes, wordHashes } from '../../../lib/word-hashes.ts'

/** When a text counts as contained in a benchmark. */
export interface Likeness {
  /** How many consecutive words must match. */
  readonly words: number
  /** Or which share of all short word runs. */
  readonly similarity: number
}

/** Finds texts that benchmarks contain. */
export class Contamination {
  private readonly runs: readonly KnownRuns[]
  private readonly tasks: readonly { readonly benchmark: string; readonly id: string }[]
  private readonly similar: SimilarTexts
  private readonly wholes = new Map<string, number>()
  /** How many tasks have at most this many words. */
  private readonly upTo: Uint32Array

  constructor(
    packs: readonly Pack[],
    private readonly likeness: Likeness,
  ) {
    const all = packs.flatMap(({ benchmark, tasks }) => tasks.map((task) => ({ benchmark, ...task })))
    this.tasks = all
    this.similar = new SimilarTexts(all.length)
    this.upTo = new Uint32Array(all.reduce((most, { size }) => Math.max(most, size), 0) + 1)
    for (const [index, { signature, size, digest }] of all.entries()) {
      this.similar.add(signature)
      this.upTo[size] = (this.upTo[size] ?? 0) + 1
      if (size > 0) this.wholes.set(digest, index)
    }
    for (let i = 1; i < this.upTo.length; i++) this.upTo[i] = (this.upTo[i] ?? 0) + (this.upTo[i - 1] ?? 0)
    this.runs = [...new Set(packs.map(({ words }) => words))].map((words) => new KnownRuns(packs, words))
  }

  /** The benchmark task whose words a text contains; null when there is none. */
  find(text: Uint8Array | string): string | null {
    const { words: least } = this.likeness
    const words = typeof text === 'string' ? wordHashes(text) : passingWordHashes(text)
    for (const known of this.runs) {
      const hit = known.find(words, least)
      if (hit !== null) return `${least} words in a row of ${this.nameOf(hit)}`
    }
    // Short texts, and those of numbers only, have no distinctive runs.
    const whole = this.tasksOf(words.length, words.length) > 0 ? this.wholes.get(digestOf(words)) : undefined
    if (whole !== undefined) return `the whole of ${this.nameOf(whole)}`
    return this.findSimilar(words)
  }

  private findSimilar(words: Uint32Array): string | null {
    const { similarity } = this.likeness
    if (!this.mayBeSimilar(words.length)) return null
    // Signatures of few bits also agree by chance.
    const byChance = 2 ** -signatureBits
    const twin = this.similar.find(shortSignature(words), byChance + (1 - byChance) * similarity)
    if (!twin) return null
    const share = (twin.similarity - byChance) / (1 - byChance)
    return `${Math.round(share * 100)} % like ${this.nameOf(twin.index)}`
  }

  /** Texts of very different lengths cannot share most of their runs; up to half of a text may be repetitions. */
  private mayBeSimilar(size: number): boolean {
    const { similarity } = this.likeness
    const runs = size - shortRun + 1
    const most = Math.ceil(runs / similarity) + shortRun
    return size > 0 && this.tasksOf(Math.floor((runs * similarity) / 2), most) > 0
  }

  /** How many tasks have from `least` to `most` words. */
  private tasksOf(least: number, most: number): number {
    const last = this.upTo.length - 1
    const upTo = (size: number) => (size < 0 ? 0 : (this.upTo[Math.min(size, last)] ?? 0))
    return upTo(most) - upTo(least - 1)
  }

  private nameOf(index: number): string {
    const task = this.tasks[index]
    return `${task?.benchmark} ${task?.id}`
  }
}

/**
 * Looks up the task of a given word run. Most runs belong to none, which a single bit shows without accessing the
 * table.
 */
class KnownRuns {
  private readonly bits = new Uint32Array(2 ** (keyBits - 5))
  private readonly first = new Map<number, number>()
  private readonly tags: Uint32Array
  private readonly owners: Uint32Array
  /** The next run with the same key. */
  private readonly next: Int32Array

  constructor(
    packs: readonly Pack[],
    private readonly words: number,
  ) {
    const count = packs.reduce((sum, pack) => sum + (pack.words === words ? pack.keys.length : 0), 0)
    this.tags = new Uint32Array(count)
    this.owners = new Uint32Array(count)
    this.next = new Int32Array(count).fill(-1)
    let at = 0
    let firstTask = 0
    for (const pack of packs) {
      if (pack.words === words)
        for (const [i, key] of pack.keys.entries()) {
          this.tags[at] = pack.tags[i] ?? 0
          this.owners[at] = firstTask + (pack.owners[i] ?? 0)
          this.next[at] = this.first.get(key) ?? -1
          this.first.set(key, at++)
          this.bits[key >>> 5] = (this.bits[key >>> 5] ?? 0) | (1 << (key & 31))
        }
      firstTask += pack.tasks.length
    }
  }

  /** The task that shares `least` consecutive words with a text; null when there is none. */
  find(words: Uint32Array, least: number): number | null {
    if (words.length < least) return null
    const runs = runHashes(words, this.words)
    // Consecutive words are consecutive runs.
    const needed = least - this.words + 1
    let inARow = 0
    for (let i = 0; i < runs.length; i++) {
      const key = keyOf(runs[i] ?? 0)
      const mayBe = ((this.bits[key >>> 5] ?? 0) & (1 << (key & 31))) !== 0
      const owner = mayBe ? this.ownerOf(key, words, i) : null
      inARow = owner === null ? 0 : inARow + 1
      if (owner !== null && inARow >= needed) return owner
    }
    return null
  }

  private ownerOf(key: number, words: Uint32Array, at: number): number | null {
    const tag = tagOf(words, at, this.words)
    for (let i = this.first.get(key) ?? -1; i >= 0; i = this.next[i] ?? -1)
      if (this.tags[i] === tag) return this.owners[i] ?? null
    return null
  }
}
