import { type Signature, signatureSize } from './minhash.ts'

const values = 2 ** 16
/** How many texts have their places in one array. */
const blockTexts = 2 ** 13

/**
 * Finds texts by single places of their signatures, for texts that share a lot without being similar, such as those
 * with the same long prompt. Two texts that differ in at most `d` places agree in one of any `d` + 1, so it is enough
 * to look at texts with the same value in the places where fewest texts have it. It takes 512 bytes per text, plus 67
 * MB.
 */
export class PlaceIndex {
  /** For each place and value, the newest text that has it, plus 1. */
  private readonly heads = new Uint32Array(signatureSize * values)
  private readonly counts = new Uint32Array(signatureSize * values)
  /** The next older text with the same value in a place, plus 1. */
  private readonly older: Uint32Array[] = []
  /** For the wanted signature: how many texts have its value in each place, and the places sorted by that. */
  private readonly countOf = new Uint32Array(signatureSize)
  private readonly sorted = new Uint32Array(signatureSize)
  private texts = 0

  /** Adds a text under its number, once. */
  add(text: number, signature: Signature): void {
    this.texts++
    const block = Math.floor(text / blockTexts)
    const own = this.older[block] ?? new Uint32Array(blockTexts * signatureSize)
    this.older[block] = own
    const first = (text % blockTexts) * signatureSize
    for (let place = 0; place < signatureSize; place++) {
      const at = place * values + (signature[place] ?? 0)
      own[first + place] = this.heads[at] ?? 0
      this.heads[at] = text + 1
      this.counts[at] = (this.counts[at] ?? 0) + 1
    }
  }

  /**
   * Calls `look` with every text that agrees in all places but `differing`, and with some others, some of them
   * repeatedly. Returns false without calling anything when that would be as much work as looking at every text.
   */
  candidates(signature: Signature, differing: number, look: (text: number) => void): boolean {
    for (let place = 0; place < signatureSize; place++)
      this.countOf[place] = this.counts[place * values + (signature[place] ?? 0)] ?? 0
    this.sorted.set(this.countOf)
    this.sorted.sort()
    let work = 0
    for (let i = 0; i <= differing; i++) work += this.sorted[i] ?? 0
    if (work >= this.texts) return false
    const most = this.sorted[differing] ?? 0
    let left = differing + 1
    for (let place = 0; place < signatureSize; place++) if ((this.countOf[place] ?? 0) < most) left--
    for (let place = 0; place < signatureSize; place++) {
      const count = this.countOf[place] ?? 0
      if (count < most || (count === most && left-- > 0)) this.walk(place, signature[place] ?? 0, look)
    }
    return true
  }

  private walk(place: number, value: number, look: (text: number) => void): void {
    let next = this.heads[place * values + value] ?? 0
    while (next !== 0) {
      const text = next - 1
      look(text)
      next = this.older[Math.floor(text / blockTexts)]?.[(text % blockTexts) * signatureSize + place] ?? 0
    }
  }
}
