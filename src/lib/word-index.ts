import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { wordHashes } from './word-hashes.ts'

/** Rows of one segment, which is sorted in memory: about twelve megabytes for texts of 20 KB. */
const segmentRows = 512
/** The first of this many hashes on disk is also kept in memory. */
const stride = 512

interface Segment {
  readonly fd: number
  /** Where it begins in the file. */
  readonly base: number
  readonly words: number
  /** Every `stride`-th hash. */
  readonly directory: Uint32Array
}

/**
 * Finds the rows that contain all words of a query, however long the rows are: keeps a list of rows for each word, in a
 * temporary file. Words are represented by 32-bit hashes, so a row may be found that does not contain the word: about
 * one row of 1,000 words in four million.
 */
export class WordIndex {
  rows = 0
  private file: { readonly dir: string; readonly fd: number } | null = null
  private size = 0
  private readonly segments: Segment[] = []
  /** Words of the rows that are not saved yet, by hash and by row of the segment. */
  private hashes = new Uint32Array(1 << 16)
  private owners = new Uint16Array(1 << 16)
  private count = 0
  /** The target of the sort. */
  private spare = { hashes: new Uint32Array(0), owners: new Uint16Array(0) }
  private readonly seenIn = new Int32Array(1 << 17).fill(-1)
  private readonly seenHash = new Uint32Array(1 << 17)

  /** Adds the next row by its words, as `wordHashes` returns them. */
  add(words: Uint32Array): void {
    const at = this.rows % segmentRows
    for (let i = 0; i < words.length; i++) {
      const hash = words[i] ?? 0
      const slot = (hash ^ (hash >>> 15)) & 0x1ffff
      // Most words of a row repeat; keeping a few twice does no harm.
      if (this.seenIn[slot] === this.rows && this.seenHash[slot] === hash) continue
      this.seenIn[slot] = this.rows
      this.seenHash[slot] = hash
      if (this.count === this.hashes.length) this.grow()
      this.hashes[this.count] = hash
      this.owners[this.count++] = at
    }
    this.rows++
    if (this.rows % segmentRows === 0) this.save()
  }

  /** Which rows contain all words of a text, 1 or 0 for each; null when the text has no words. */
  find(text: string): Uint8Array | null {
    const words = new Set(wordHashes(text))
    if (words.size === 0) return null
    const counts = new Uint16Array(this.rows)
    let needed = 0
    for (const hash of words) {
      for (const [i, segment] of this.segments.entries()) {
        for (const row of readRows(segment, hash)) mark(counts, i * segmentRows + row, needed)
      }
      const first = this.segments.length * segmentRows
      for (let i = 0; i < this.count; i++)
        if (this.hashes[i] === hash) mark(counts, first + (this.owners[i] ?? 0), needed)
      needed++
    }
    return Uint8Array.from(counts, (count) => (count === needed ? 1 : 0))
  }

  /** Saves the last rows and frees the memory: no more can be added. */
  finish(): void {
    if (this.count > 0) this.save()
    this.hashes = new Uint32Array(0)
    this.owners = new Uint16Array(0)
    this.spare = { hashes: this.hashes, owners: this.owners }
  }

  close(): void {
    this.segments.length = 0
    if (this.file === null) return
    closeSync(this.file.fd)
    rmSync(this.file.dir, { recursive: true, force: true })
    this.file = null
  }

  private save(): void {
    this.file ??= openFile()
    this.sort()
    const [sorted, rows] = [this.hashes.subarray(0, this.count), this.owners.subarray(0, this.count)]
    let words = 0
    for (let i = 0; i < sorted.length; i++) if (i === 0 || sorted[i] !== sorted[i - 1]) words++
    const hashes = new Uint32Array(words)
    const starts = new Uint32Array(words + 1).fill(sorted.length)
    for (let i = 0, at = 0; i < sorted.length; i++) {
      if (i > 0 && sorted[i] === sorted[i - 1]) continue
      hashes[at] = sorted[i] ?? 0
      starts[at++] = i
    }
    const { fd } = this.file
    const base = this.size
    for (const numbers of [hashes, starts, rows]) {
      writeAll(fd, numbers, this.size)
      this.size += numbers.byteLength
    }
    this.segments.push({ fd, base, words, directory: hashes.filter((_, i) => i % stride === 0) })
    this.count = 0
  }

  /**
   * Sorts by hash, keeping the rows of a word in order: two passes over halves of the hashes, which is faster than
   * comparing.
   */
  private sort(): void {
    if (this.spare.hashes.length < this.count)
      this.spare = { hashes: new Uint32Array(this.hashes.length), owners: new Uint16Array(this.hashes.length) }
    const own = { hashes: this.hashes, owners: this.owners }
    for (const [shift, from, to] of [
      [0, own, this.spare],
      [16, this.spare, own],
    ] as const) {
      const ends = new Uint32Array(65_537)
      for (let i = 0; i < this.count; i++) {
        const slot = (((from.hashes[i] ?? 0) >>> shift) & 0xffff) + 1
        ends[slot] = (ends[slot] ?? 0) + 1
      }
      for (let i = 1; i < ends.length; i++) ends[i] = (ends[i] ?? 0) + (ends[i - 1] ?? 0)
      for (let i = 0; i < this.count; i++) {
        const hash = from.hashes[i] ?? 0
        const slot = (hash >>> shift) & 0xffff
        const at = ends[slot] ?? 0
        ends[slot] = at + 1
        to.hashes[at] = hash
        to.owners[at] = from.owners[i] ?? 0
      }
    }
  }

  private grow(): void {
    const larger = { hashes: new Uint32Array(this.count * 2), owners: new Uint16Array(this.count * 2) }
    larger.hashes.set(this.hashes)
    larger.owners.set(this.owners)
    this.hashes = larger.hashes
    this.owners = larger.owners
  }
}

/** A row counts only if it had all previous words; a word that it has twice counts once. */
function mark(counts: Uint16Array, row: number, needed: number): void {
  if (counts[row] === needed) counts[row] = needed + 1
}

function openFile(): { dir: string; fd: number } {
  const dir = mkdtempSync(join(tmpdir(), 'ot-agent-words-'))
  return { dir, fd: openSync(join(dir, 'words'), 'wx+', 0o600) }
}

function readRows({ fd, base, words, directory }: Segment, hash: number): Uint16Array {
  const block = lastNotAbove(directory, hash)
  if (block < 0) return new Uint16Array()
  const from = block * stride
  const hashes = readNumbers(fd, base + from * 4, Math.min(stride, words - from))
  const at = lastNotAbove(hashes, hash)
  if (hashes[at] !== hash) return new Uint16Array()
  const [start = 0, end = 0] = readNumbers(fd, base + (words + from + at) * 4, 2)
  const bytes = readBytes(fd, base + (2 * words + 1) * 4 + start * 2, (end - start) * 2)
  return new Uint16Array(bytes.buffer, bytes.byteOffset, end - start)
}

/** The index of the last number that does not exceed another, in sorted order; -1 when all do. */
function lastNotAbove(numbers: Uint32Array, value: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[middle] ?? 0) <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}

function readNumbers(fd: number, position: number, count: number): Uint32Array {
  const bytes = readBytes(fd, position, count * 4)
  return new Uint32Array(bytes.buffer, bytes.byteOffset, count)
}

function readBytes(fd: number, position: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let at = 0; at < length; ) {
    const read = readSync(fd, bytes, at, length - at, position + at)
    if (read === 0) throw new Error(`the index of words ends at ${position + at}`)
    at += read
  }
  return bytes
}

function writeAll(fd: number, numbers: Uint32Array | Uint16Array, position: number): void {
  const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, position + at)
}
