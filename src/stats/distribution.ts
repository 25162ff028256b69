/** How a measure is distributed. */
export interface Distribution {
  readonly count: number
  readonly sum: number
  readonly mean: number
  readonly min: number
  readonly p10: number
  readonly p50: number
  readonly p90: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

/** Up to this many values are kept individually; more are counted in bins. */
const exactValues = 10_000
/** Each bin is this much wider than the previous one, so that a quantile is off by at most 1 %. */
const growth = Math.log(1.02)

/**
 * Collects non-negative numbers in bounded memory: quantiles are exact up to ten thousand values, and within 1 % beyond
 * that.
 */
export class DistributionTally {
  #values: number[] | null = []
  /** Counts by bin; 0 has a bin of its own. */
  readonly #bins = new Map<number, number>()
  #count = 0
  #sum = 0
  #min = Number.POSITIVE_INFINITY
  #max = Number.NEGATIVE_INFINITY

  add(value: number): void {
    if (!Number.isFinite(value) || value < 0) return
    this.#count++
    this.#sum += value
    this.#min = Math.min(this.#min, value)
    this.#max = Math.max(this.#max, value)
    if (this.#values === null) this.#bin(value)
    else this.#values.push(value)
    if (this.#values === null || this.#values.length <= exactValues) return
    for (const each of this.#values) this.#bin(each)
    this.#values = null
  }

  /** Null when there are no values. */
  read(): Distribution | null {
    if (this.#count === 0) return null
    const at = this.#quantiles()
    return {
      ...{ count: this.#count, sum: this.#sum, mean: this.#sum / this.#count, min: this.#min },
      ...{ p10: at(0.1), p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: this.#max },
    }
  }

  #bin(value: number): void {
    const bin = value === 0 ? Number.NEGATIVE_INFINITY : Math.round(Math.log(value) / growth)
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + 1)
  }

  /** The value that a share of all values does not exceed. */
  #quantiles(): (share: number) => number {
    if (this.#values !== null) return quantilesOf(this.#values)
    const bins = [...this.#bins].sort(([a], [b]) => a - b)
    return (share) => {
      let left = rankOf(share, this.#count)
      const found = bins.find(([, count]) => {
        left -= count
        return left < 0
      })
      const value = Math.exp((found?.[0] ?? 0) * growth)
      return Math.min(this.#max, Math.max(this.#min, value))
    }
  }
}

/** The value that a share of these values does not exceed. */
export function quantilesOf(values: readonly number[]): (share: number) => number {
  const sorted = values.toSorted((a, b) => a - b)
  return (share) => sorted[rankOf(share, sorted.length)] ?? Number.NaN
}

function rankOf(share: number, count: number): number {
  return Math.min(count - 1, Math.floor(share * count))
}

/** Keeps at most `limit` items, evenly spaced among all that were added, in order. */
export class EvenSample<T> {
  #items: T[] = []
  #every = 1
  #seen = 0

  constructor(private readonly limit: number) {}

  add(item: T): void {
    if (this.#seen++ % this.#every !== 0) return
    this.#items.push(item)
    if (this.#items.length <= this.limit) return
    this.#items = this.#items.filter((_, i) => i % 2 === 0)
    this.#every *= 2
  }

  read(): readonly T[] {
    return this.#items
  }
}
