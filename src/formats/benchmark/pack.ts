import { hash } from 'node:crypto'
import { UserError } from '../../core/errors.ts'
import { signatureOf, signatureSize } from '../../lib/minhash.ts'
import { compareBytes } from '../../lib/tree.ts'
import { runHashes, wordHashes } from '../../lib/word-hashes.ts'

/** One task of a benchmark, as text. */
export interface BenchmarkText {
  readonly id: string
  readonly instruction: string
}

/**
 * A benchmark's decontamination pack: hashes of the runs of words in its texts, and of each text as a whole. This file
 * and `pack-file.ts` define the format; word hashing is part of it, so a change there needs a new `packSchema`.
 */
export interface Pack {
  readonly benchmark: string
  /** Number of words per run. */
  readonly words: number
  readonly tasks: readonly PackedText[]
  /**
   * For each run of words, in ascending order: 24 bits of a quick hash, enough to rule out most foreign runs at once.
   */
  readonly keys: Uint32Array
  /** For each run: 32 bits of a SHA-256. */
  readonly tags: Uint32Array
  /** For each run: the task it is from, as an index into `tasks`. */
  readonly owners: Uint32Array
}

/** One text of a pack. */
export interface PackedText {
  readonly id: string
  /** Its number of words. */
  readonly size: number
  /** 64 bits of a SHA-256 of all its words, in hex. */
  readonly digest: string
  /** A signature of its short runs of words, with 4 bits per position. */
  readonly signature: Uint16Array
}

/** Length in words of the runs used to measure similarity. */
export const shortRun = 3
/** Bits per number in a signature. So few reveal little about the text, and agree by chance once in sixteen times. */
export const signatureBits = 4
/** How many bits of a quick hash are kept. */
export const keyBits = 24

/** Hashes a benchmark's texts. Order does not matter: the same tasks give the same pack. */
export function makePack(benchmark: string, texts: readonly BenchmarkText[], words: number): Pack {
  const sorted = [...texts].sort((a, b) => compareBytes(a.id, b.id))
  refuseTwins(sorted)
  const runs: { key: number; tag: number; owner: number }[] = []
  const tasks = sorted.map(({ id, instruction }, owner): PackedText => {
    const hashes = wordHashes(instruction)
    const quick = hashes.length < words ? [] : runHashes(hashes, words)
    const isTelling = tellingRuns(instruction, words)
    for (const [at, run] of quick.entries())
      if (isTelling(at)) runs.push({ key: keyOf(run), tag: tagOf(hashes, at, words), owner })
    return { id, size: hashes.length, digest: digestOf(hashes), signature: shortSignature(hashes) }
  })
  runs.sort((a, b) => a.key - b.key || a.tag - b.tag || a.owner - b.owner)
  // For a run found in several tasks, only the first is kept.
  const once = runs.filter(({ key, tag }, i) => key !== runs[i - 1]?.key || tag !== runs[i - 1]?.tag)
  return {
    benchmark,
    words,
    tasks,
    keys: Uint32Array.from(once, ({ key }) => key),
    tags: Uint32Array.from(once, ({ tag }) => tag),
    owners: Uint32Array.from(once, ({ owner }) => owner),
  }
}

/**
 * Which runs of a text are informative: at least half of their words are distinct, and neither numbers nor single
 * letters.
 */
function tellingRuns(text: string, length: number): (at: number) => boolean {
  const words = text.toLowerCase().match(/[a-z0-9\u{80}-\u{10ffff}]+/gu) ?? []
  const isTelling = words.map((word) => word.length > 1 && !/^\d+$/.test(word))
  return (at) => {
    const telling = new Set(words.slice(at, at + length).filter((_, i) => isTelling[at + i]))
    return telling.size >= length / 2
  }
}

/** The part of a quick hash that a pack keeps. */
export function keyOf(run: number): number {
  return run >>> (32 - keyBits)
}

/**
 * The second part of a run's identity in a pack, besides its key. It is one-way: quick hashes of adjacent runs would
 * reveal the words between them.
 */
export function tagOf(hashes: Uint32Array, at: number, words: number): number {
  const bytes = message(hashes.subarray(at, at + words), words)
  return Number.parseInt(hash('sha256', bytes, 'hex').slice(0, 8), 16)
}

/** The digest that identifies a whole text in a pack. */
export function digestOf(hashes: Uint32Array): string {
  return hash('sha256', message(hashes, 0), 'hex').slice(0, 16)
}

/** A text's signature as stored in packs. */
export function shortSignature(hashes: Uint32Array): Uint16Array {
  const whole = signatureOf(hashes, shortRun) ?? new Uint16Array(signatureSize)
  return whole.map((value) => value & (2 ** signatureBits - 1))
}

const salt = Buffer.from('ot-agent benchmark-pack/1\0')
let scratch = Buffer.alloc(1024)

/**
 * The bytes to hash: a salt, so that hashes of the same words elsewhere are useless, the kind of hash, and the words.
 */
function message(hashes: Uint32Array, kind: number): Buffer {
  const length = salt.length + 1 + hashes.length * 4
  if (scratch.length < length) scratch = Buffer.alloc(length * 2)
  salt.copy(scratch)
  scratch[salt.length] = kind
  for (let i = 0; i < hashes.length; i++) scratch.writeUInt32LE(hashes[i] ?? 0, salt.length + 1 + i * 4)
  return scratch.subarray(0, length)
}

function refuseTwins(sorted: readonly BenchmarkText[]): void {
  const twin = sorted.find(({ id }, i) => id === sorted[i + 1]?.id)
  if (twin)
    throw new UserError(
      `expected different task ids, got ${JSON.stringify(twin.id.slice(0, 200))} twice`,
      'each task needs its own id; --id-column names another column',
    )
}
