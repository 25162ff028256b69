/** A stream of numbers from 0 up to, not including, 1. */
export type Next = () => number

export interface SignFlip {
  /** The chance of a sum at least this far from 0 if every difference could equally have had the other sign. */
  readonly p: number
  /** True when all sign patterns were tried, false when only a sample. */
  readonly exact: boolean
}

/** With up to 16 differences, all 65,536 sign patterns are tried. */
const exactUpTo = 16
const draws = 20_000

/** The two-sided permutation test for paired differences: if there is no difference, either sign is equally likely. */
export function signFlipTest(differences: readonly number[], next: Next): SignFlip {
  const values = Float64Array.from(differences.filter((value) => value !== 0))
  const observed = Math.abs(values.reduce((sum, value) => sum + value, 0))
  // Sums of the same numbers in another order may differ in their last digits.
  const least = observed - 1e-9 * Math.max(1, observed)
  if (values.length <= exactUpTo) return { p: countAll(values, least) / 2 ** values.length, exact: true }
  return { p: (countDrawn(values, least, next) + 1) / (draws + 1), exact: false }
}

/** Gray code: consecutive sign patterns differ in a single sign. */
function countAll(values: Float64Array, least: number): number {
  const signs = values.slice()
  let sum = values.reduce((total, value) => total + value, 0)
  let count = Math.abs(sum) >= least ? 1 : 0
  for (let i = 1; i < 2 ** values.length; i++) {
    const at = 31 - Math.clz32(i & -i)
    const value = signs[at] ?? 0
    signs[at] = -value
    sum -= 2 * value
    if (Math.abs(sum) >= least) count++
  }
  return count
}

function countDrawn(values: Float64Array, least: number, next: Next): number {
  const tables = signedSums(values)
  const groups = tables.length / 256
  let count = 0
  for (let draw = 0; draw < draws; draw++) {
    let sum = 0
    let bits = 0
    for (let group = 0; group < groups; group++) {
      bits = group % 4 === 0 ? next() * 2 ** 32 : bits >>> 8
      sum += tables[group * 256 + (bits & 255)] ?? 0
    }
    if (Math.abs(sum) >= least) count++
  }
  return count
}

/** For every eight values, the sums of all 256 sign patterns, so that a draw adds up only an eighth as many numbers. */
function signedSums(values: Float64Array): Float64Array {
  const groups = Math.ceil(values.length / 8)
  const tables = new Float64Array(groups * 256)
  for (let at = 0; at < tables.length; at++)
    for (let bit = 0; bit < 8; bit++) {
      const value = values[Math.floor(at / 256) * 8 + bit] ?? 0
      tables[at] = (tables[at] ?? 0) + ((at >> bit) & 1 ? -value : value)
    }
  return tables
}
