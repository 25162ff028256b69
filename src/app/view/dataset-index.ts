import { setImmediate, setTimeout } from 'node:timers/promises'
import { messageOf, UserError } from '../../core/errors.ts'
import type { ViewDataRow } from '../../core/view-data.ts'
import { beginningOf, type RowFacts, scanRow } from '../../formats/conversations/facts.ts'
import type { RowSource } from '../../formats/conversations/row-source.ts'
import { collectGarbage, collectLater } from '../../lib/collect-garbage.ts'
import { signatureOf, signatureSize, similarity } from '../../lib/minhash.ts'
import { wordHashes } from '../../lib/word-hashes.ts'
import { WordIndex } from '../../lib/word-index.ts'
import { SharedOpenings } from './shared-openings.ts'

/** After this much text, let the server answer other requests. */
const turnBytes = 1 << 18
/** After this much text, force a full garbage collection: the texts of a batch of rows survive the quick ones. */
const garbageBytes = 1 << 26

/**
 * Facts, words and signatures of a dataset's rows. Reads the dataset once, in the background; rows read so far can
 * already be queried.
 */
export class DatasetIndex {
  readonly rows: ViewDataRow[] = []
  complete = false
  /** Why reading stopped early. */
  trouble: string | null = null
  private readonly words = new WordIndex()
  private readonly openings = new SharedOpenings()
  private signatures = new Uint16Array(1024 * signatureSize)
  private readonly texts = new Map<string, string>()
  private readonly ids = new Map<string, number>()
  private readonly closing = new AbortController()
  private readonly reading: Promise<void>

  constructor(readonly source: RowSource) {
    this.reading = this.read().then(() => void collectLater())
  }

  /** Waits until there are some rows, or all, but at most `waitMs`. */
  async wait(waitMs: number, until: () => boolean = () => this.rows.length >= 100): Promise<void> {
    const end = performance.now() + waitMs
    while (!this.complete && !until() && performance.now() < end) {
      await Promise.race([this.reading, setTimeout(20, undefined, { ref: false })])
    }
  }

  /**
   * Which rows contain all words of a text, as a 1 or 0 for each in the order of `rows`; null if the text has no words.
   */
  search(text: string): Uint8Array | null {
    return this.words.find(text)
  }

  /** The index in `rows` of the row with this number; -1 if it was not read. */
  placeOf(number: number): number {
    let [low, high] = [0, this.rows.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.rows[middle]?.number ?? 0) < number) low = middle + 1
      else high = middle
    }
    return this.rows[low]?.number === number ? low : -1
  }

  /** The number of the first row with this id. */
  numberOf(id: string): number | null {
    return this.ids.get(id) ?? null
  }

  /** The rows most similar to one, most similar first. */
  similar(place: number, least: number, most: number): { row: ViewDataRow; similarity: number }[] {
    const own = this.signatureAt(place)
    if (own.every((value) => value === 0)) return []
    const found: { row: ViewDataRow; similarity: number }[] = []
    for (const [at, row] of this.rows.entries()) {
      const alike = at === place ? 0 : similarity(own, this.signatureAt(at))
      if (alike >= least) found.push({ row, similarity: alike })
    }
    return found.sort((a, b) => b.similarity - a.similarity || a.row.number - b.row.number).slice(0, most)
  }

  async close(): Promise<void> {
    this.closing.abort()
    await this.reading
    this.words.close()
    await this.source.close()
  }

  private async read(): Promise<void> {
    try {
      let bytes = 0
      let sinceCollected = 0
      for await (const { number, row } of this.source.scan(this.closing.signal)) {
        const { facts, text } = scanRow(row)
        this.add(number, facts, text)
        bytes += text.length + 500
        if (bytes < turnBytes) continue
        sinceCollected += bytes
        bytes = 0
        if (sinceCollected > garbageBytes) {
          sinceCollected = 0
          collectGarbage()
        }
        await setImmediate()
        if (this.closing.signal.aborted) return
      }
    } catch (error) {
      if (this.closing.signal.aborted) return
      this.trouble = error instanceof UserError ? `${error.message}: ${error.hint}` : messageOf(error).slice(0, 300)
    } finally {
      this.words.finish()
      this.signatures = this.signatures.slice(0, this.rows.length * signatureSize)
      this.complete = true
    }
  }

  private add(number: number, facts: RowFacts, text: Uint8Array): void {
    const hashes = wordHashes(text)
    this.words.add(hashes)
    const at = this.rows.length * signatureSize
    if (at >= this.signatures.length) {
      const larger = new Uint16Array(this.signatures.length * 2)
      larger.set(this.signatures)
      this.signatures = larger
    }
    const signature = signatureOf(hashes)
    if (signature) this.signatures.set(signature, at)
    const { id, turns, messages, tokens } = facts
    const named = { task: this.once(facts.task), source: this.once(facts.source), result: this.once(facts.result) }
    const made = { model: this.once(facts.model), agent: this.once(facts.agent) }
    this.rows.push({ number, id, ...named, ...made, turns, messages, tokens, begins: '' })
    for (const { row, own } of this.openings.take(this.rows.length - 1, facts.question)) {
      const shown = this.rows[row]
      if (shown) this.rows[row] = { ...shown, begins: beginningOf(own).slice(0, 160) }
    }
    if (id !== null && !this.ids.has(id)) this.ids.set(id, number)
  }

  private signatureAt(place: number): Uint16Array {
    return this.signatures.subarray(place * signatureSize, (place + 1) * signatureSize)
  }

  /** Interns strings: every row holds the model's name, for example. */
  private once(text: string | null): string | null {
    if (text === null) return null
    const known = this.texts.get(text)
    if (known !== undefined) return known
    if (this.texts.size < 200_000) this.texts.set(text, text)
    return text
  }
}
