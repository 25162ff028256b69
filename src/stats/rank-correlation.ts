/** Fewer pairs say nothing. */
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
