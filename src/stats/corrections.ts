/**
 * P-values adjusted so that the chance of any false discovery among them stays at the level (Holm 1979), in their
 * original order.
 */
export function holm(ps: readonly number[]): number[] {
  const adjusted = new Array<number>(ps.length).fill(0)
  const ascending = [...ps.keys()].sort((a, b) => (ps[a] ?? 0) - (ps[b] ?? 0))
  let highest = 0
  for (const [place, at] of ascending.entries()) {
    highest = Math.max(highest, Math.min(1, (ps[at] ?? 0) * (ps.length - place)))
    adjusted[at] = highest
  }
  return adjusted
}
