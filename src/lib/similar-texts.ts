import { type Signature, signatureSize } from './minhash.ts'
import { PlaceIndex } from './place-index.ts'
import { mixed } from './word-hashes.ts'

/** The places of a signature are looked up in bands of several: texts that agree in a whole band are compared. */
export const bands = 21
export const bandSize = 6

/** A text that is similar to another: its number, and the share of places in which they agree. */
export interface Twin {
  readonly index: number
  readonly similarity: number
}

/**
 * Finds earlier texts that have at least a given similarity to a new one, without comparing it with all of them: texts
 * that agree in a whole band of their signatures meet in a table. At a similarity of 0.8 that misses two in a thousand.
 *
 * Each band has a table with open addressing. An entry holds the number of the newest text with these values, and all
 * remaining bits are a tag of the values, which rules out other texts without fetching their signatures from memory.
 * Older texts with the same values follow in a ring. That is about 370 bytes per added text; the unused part of `rings`
 * takes no memory.
 *
 * A ring of many texts is a crowd: they share a part, and comparing each with all would be quadratic. Its texts are
 * found by single places instead. Which texts are found does not change.
 */
export class SimilarTexts {
  private readonly slots: number
  private readonly indexBits: number
  /** For each slot 0, or a tag and the number of a text plus 1. */
  private readonly table: Uint32Array
  /**
   * The next newer text of the same band with the same values, plus 1; the newest leads to the oldest. 0: there is no
   * other.
   */
  private readonly rings: Uint32Array
  private readonly signatures: Uint16Array
  /** The last search that examined a text, so that no two are compared twice. */
  private readonly seen: Uint32Array
  private searches = 0
  private count = 0
  /** The best result of the search so far: the first text that is similar enough, and in how many places it agrees. */
  private best = 0
  private places = 0
  /** One bit per slot: its ring is a crowd, and all its texts are in the index. */
  private readonly crowds: Uint8Array
  private readonly indexed: Uint8Array
  private index: PlaceIndex | null = null
  /** For the last located signature, by band: its slot and its tag. */
  private readonly slotOf = new Uint32Array(bands)
  private readonly tagOf = new Uint32Array(bands)

  constructor(
    capacity: number,
    private readonly crowdSize = 32,
  ) {
    const texts = Math.max(1, capacity)
    this.indexBits = 32 - Math.clz32(texts)
    this.slots = Math.ceil(texts * 1.5)
    this.table = new Uint32Array(this.slots * bands)
    this.rings = new Uint32Array(texts * bands)
    this.signatures = new Uint16Array(texts * signatureSize)
    this.seen = new Uint32Array(texts)
    this.crowds = new Uint8Array(Math.ceil((this.slots * bands) / 8))
    this.indexed = new Uint8Array(texts)
  }

  /** The first added text that is at least `least` similar to this one. */
  find(signature: Signature, least: number): Twin | null {
    this.locate(signature)
    return this.search(signature, least)
  }

  /** Adds a text; returns its number, counted from 0. */
  add(signature: Signature): number {
    this.locate(signature)
    return this.insert(signature)
  }

  /** The same as `find`, but adds the text if none is similar. */
  findOrAdd(signature: Signature, least: number): Twin | null {
    this.locate(signature)
    const twin = this.search(signature, least)
    if (twin === null) this.insert(signature)
    return twin
  }

  /** Finds the slot for each band: the one with the same values, or the free one that they would take. */
  private locate(signature: Signature): void {
    for (let band = 0; band < bands; band++) {
      const key = keyOf(signature, band)
      const slot = band * this.slots + Math.floor(key * (this.slots / 2 ** 32))
      this.tagOf[band] = (key << this.indexBits) >>> this.indexBits
      this.slotOf[band] = this.probe(signature, band, slot)
    }
  }

  private probe(signature: Signature, band: number, from: number): number {
    const tag = this.tagOf[band] ?? 0
    const end = (band + 1) * this.slots
    for (let slot = from; ; slot = slot + 1 === end ? end - this.slots : slot + 1) {
      const entry = this.table[slot] ?? 0
      if (entry === 0) return slot
      if (entry >>> this.indexBits === tag && this.sharesBand(this.textOf(entry), signature, band)) return slot
    }
  }

  private search(signature: Signature, least: number): Twin | null {
    const needed = Math.ceil(least * signatureSize)
    this.searches++
    this.best = this.count
    let hasCrowds = false
    for (let band = 0; band < bands; band++) {
      const slot = this.slotOf[band] ?? 0
      if (this.isCrowd(slot)) hasCrowds = true
      else if (this.searchRing(signature, band, needed) > this.crowdSize) this.indexRing(slot, band)
    }
    if (hasCrowds) this.searchCrowds(signature, needed)
    return this.best < this.count ? { index: this.best, similarity: this.places / signatureSize } : null
  }

  /** Compares a text with those of a ring; returns how many it met. */
  private searchRing(signature: Signature, band: number, needed: number): number {
    const entry = this.table[this.slotOf[band] ?? 0] ?? 0
    if (entry === 0) return 0
    const newest = this.textOf(entry)
    let met = 0
    // From the oldest on, because the first similar text counts.
    for (let at = this.nextOf(newest, band); at < this.best; at = this.nextOf(at, band)) {
      met++
      this.compare(at, signature, needed)
      if (at === newest) break
    }
    return met
  }

  private compare(at: number, signature: Signature, needed: number, anywhere = false): void {
    if (this.seen[at] === this.searches) return
    this.seen[at] = this.searches
    const same = this.samePlaces(at, signature, needed)
    if (same < needed || (anywhere && !this.sharesAnyBand(at, signature))) return
    this.best = at
    this.places = same
  }

  /** Only texts that agree in a whole band count, as elsewhere: the index finds others too. */
  private searchCrowds(signature: Signature, needed: number): void {
    const look = (at: number) => {
      if (at < this.best) this.compare(at, signature, needed, true)
    }
    if (this.index?.candidates(signature, signatureSize - needed, look)) return
    for (let band = 0; band < bands; band++)
      if (this.isCrowd(this.slotOf[band] ?? 0)) this.searchRing(signature, band, needed)
  }

  private isCrowd(slot: number): boolean {
    return (((this.crowds[slot >>> 3] ?? 0) >>> (slot & 7)) & 1) === 1
  }

  /** From now on the texts of this ring are found by single places. */
  private indexRing(slot: number, band: number): void {
    const newest = this.textOf(this.table[slot] ?? 0)
    for (let at = this.nextOf(newest, band); ; at = this.nextOf(at, band)) {
      this.addToIndex(at)
      if (at === newest) break
    }
    this.crowds[slot >>> 3] = (this.crowds[slot >>> 3] ?? 0) | (1 << (slot & 7))
  }

  private addToIndex(at: number): void {
    if (this.indexed[at] === 1) return
    this.indexed[at] = 1
    this.index ??= new PlaceIndex()
    this.index.add(at, this.signatures.subarray(at * signatureSize, (at + 1) * signatureSize))
  }

  private insert(signature: Signature): number {
    const index = this.count++
    this.signatures.set(signature, index * signatureSize)
    for (let band = 0; band < bands; band++) {
      const slot = this.slotOf[band] ?? 0
      const entry = this.table[slot] ?? 0
      if (entry !== 0) {
        const newest = this.textOf(entry)
        this.rings[index * bands + band] = this.nextOf(newest, band) + 1
        this.rings[newest * bands + band] = index + 1
      }
      this.table[slot] = ((this.tagOf[band] ?? 0) << this.indexBits) | (index + 1)
      if (this.isCrowd(slot)) this.addToIndex(index)
    }
    return index
  }

  private textOf(entry: number): number {
    return ((entry << (32 - this.indexBits)) >>> (32 - this.indexBits)) - 1
  }

  private nextOf(at: number, band: number): number {
    const next = this.rings[at * bands + band] ?? 0
    return next === 0 ? at : next - 1
  }

  private sharesBand(at: number, signature: Signature, band: number): boolean {
    for (let i = band * bandSize; i < (band + 1) * bandSize; i++)
      if (this.signatures[at * signatureSize + i] !== signature[i]) return false
    return true
  }

  private sharesAnyBand(at: number, signature: Signature): boolean {
    for (let band = 0; band < bands; band++) if (this.sharesBand(at, signature, band)) return true
    return false
  }

  /** In how many places a text agrees; stops counting when the number needed can no longer be reached. */
  private samePlaces(at: number, signature: Signature, needed: number): number {
    const first = at * signatureSize
    let same = signatureSize
    for (let i = 0; i < signatureSize && same >= needed; i++) if (this.signatures[first + i] !== signature[i]) same--
    return same
  }
}

function keyOf(signature: Signature, band: number): number {
  let hash = band + 1
  for (let i = band * bandSize; i < (band + 1) * bandSize; i++) hash = Math.imul(hash, 0x01000193) ^ (signature[i] ?? 0)
  return mixed(hash)
}
