/**
 * Ranks from 1: one more than the number of others that beat it. Items that beat none of the others and lose to none
 * share a rank.
 */
export function ranksWithTies(count: number, beats: (a: number, b: number) => boolean): number[] {
  const all = Array.from({ length: count }, (_, i) => i)
  return all.map((one) => 1 + all.filter((other) => other !== one && beats(other, one)).length)
}

/** How far each value is from the mean, in (population) standard deviations; all 0 when the values are equal. */
export function zScores(values: readonly number[]): number[] {
  if (values.length === 0) return []
  const middle = values.reduce((sum, value) => sum + value, 0) / values.length
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / values.length)
  return values.map((value) => (deviation < 1e-12 ? 0 : (value - middle) / deviation))
}

/**
 * The selection rule of the OpenThoughts-Agent paper: each candidate's z-score among the candidates, averaged over
 * benchmarks. `scores` has a row for each candidate and a column for each benchmark. A candidate that lacks a score has
 * no mean (null) and no influence on the others' z-scores. Values from different sets of candidates cannot be compared.
 */
export function meanZScores(scores: readonly (readonly (number | null)[])[]): (number | null)[] {
  const whole = scores.map((row) => row.length > 0 && row.every((score) => score !== null))
  const rows = scores.filter((_, i) => whole[i])
  const columns = Array.from({ length: rows[0]?.length ?? 0 }, (_, at) => zScores(rows.map((row) => row[at] ?? 0)))
  const means = rows.map((_, row) => columns.reduce((sum, column) => sum + (column[row] ?? 0), 0) / columns.length)
  let place = 0
  return whole.map((isWhole) => (isWhole ? (means[place++] ?? null) : null))
}

/** Fewer pairs are not meaningful. */
const leastPairs = 5

/** Spearman's rank correlation, with ties at their mean rank; null for fewer than five pairs, or where one side never varies. */
export function rankCorrelation(pairs: readonly (readonly [number, number])[]): number | null {
  if (pairs.length < leastPairs) return null
  const a = meanRanks(pairs.map(([x]) => x))
  const b = meanRanks(pairs.map(([, y]) => y))
  const middle = (pairs.length + 1) / 2
  const sums = a.reduce(
    ([ab, aa, bb], rank, i) => {
      const [da, db] = [rank - middle, (b[i] ?? middle) - middle]
      return [ab + da * db, aa + da * da, bb + db * db] as const
    },
    [0, 0, 0] as readonly [number, number, number],
  )
  const [ab, aa, bb] = sums
  return aa === 0 || bb === 0 ? null : ab / Math.sqrt(aa * bb)
}

function meanRanks(values: readonly number[]): number[] {
  const order = values.map((value, at) => ({ value, at })).sort((a, b) => a.value - b.value)
  const ranks = new Array<number>(values.length).fill(0)
  for (let from = 0; from < order.length; ) {
    let to = from
    while (to < order.length && order[to]?.value === order[from]?.value) to++
    for (const { at } of order.slice(from, to)) ranks[at] = (from + 1 + to) / 2
    from = to
  }
  return ranks
}
