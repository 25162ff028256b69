/** A running sum that does not lose the small ones among the large: the one Python's `sum` has been using since 3.12. */
export function makeSum(): { add(value: number): void; value(): number } {
  let sum = 0
  let lost = 0
  return {
    add(value) {
      const next = sum + value
      lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum
      sum = next
    },
    value: () => (Number.isFinite(lost) ? sum + lost : sum),
  }
}
