/** Ranks from 1: one more than the number of others that beat it. What beats none of the others and is beaten by none shares a rank. */
export function ranksWithTies(count: number, beats: (a: number, b: number) => boolean): number[] {
  const all = Array.from({ length: count }, (_, i) => i)
  return all.map((one) => 1 + all.filter((other) => other !== one && beats(other, one)).length)
}

/** How far each value is from the mean of all, in (population) standard deviations; 0 for all when they are equal. */
export function zScores(values: readonly number[]): number[] {
  if (values.length === 0) return []
  const middle = values.reduce((sum, value) => sum + value, 0) / values.length
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / values.length)
  return values.map((value) => (deviation < 1e-12 ? 0 : (value - middle) / deviation))
}

/**
 * The selection rule of the OpenThoughts-Agent paper: each candidate's z-score among the candidates, averaged over benchmarks. `scores` has
 * a row for each candidate and a column for each benchmark. A candidate without a score for one of them has no mean (null) and no part in
 * the others' z-scores. The values of different sets of candidates cannot be compared.
 */
export function meanZScores(scores: readonly (readonly (number | null)[])[]): (number | null)[] {
  const whole = scores.map((row) => row.length > 0 && row.every((score) => score !== null))
  const rows = scores.filter((_, i) => whole[i])
  const columns = Array.from({ length: rows[0]?.length ?? 0 }, (_, at) => zScores(rows.map((row) => row[at] ?? 0)))
  const means = rows.map((_, row) => columns.reduce((sum, column) => sum + (column[row] ?? 0), 0) / columns.length)
  let place = 0
  return whole.map((isWhole) => (isWhole ? (means[place++] ?? null) : null))
}
