/** P-values adjusted so that the chance of any false discovery among them stays at the level (Holm 1979). */
export function holm(ps: readonly number[]): number[] {
  let highest = 0
  return inOrder(ps, (p, place) => {
    highest = Math.max(highest, Math.min(1, p * (ps.length - place)))
    return highest
  })
}

/** P-values adjusted so that the expected share of false ones among the discoveries stays at the level (Benjamini and Hochberg 1995). */
export function benjaminiHochberg(ps: readonly number[]): number[] {
  let least = 1
  const descending = ps.map((p) => -p)
  return inOrder(descending, (negative, place) => {
    least = Math.min(least, (-negative * ps.length) / (ps.length - place))
    return least
  })
}

/** Visits values from the least to the highest; the results are in the order of the values. */
function inOrder(values: readonly number[], visit: (value: number, place: number) => number): number[] {
  const results = new Array<number>(values.length).fill(0)
  const order = [...values.keys()].sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0))
  for (const [place, at] of order.entries()) results[at] = visit(values[at] ?? 0, place)
  return results
}
