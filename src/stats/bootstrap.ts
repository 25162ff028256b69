import type { Next } from './sign-flip.ts'

export interface Bootstrap {
  /** The mean difference of each draw, in ascending order. */
  readonly draws: Float64Array
  readonly low: number
  readonly high: number
}

/**
 * Resamples the tasks with replacement and averages their differences, many times over: how the difference would vary
 * with other tasks of the same kind. Attempts need no resampling of their own, because their noise is in the
 * differences of the tasks.
 */
export function pairedBootstrap(differences: readonly number[], next: Next, count = 10_000): Bootstrap {
  const values = Float64Array.from(differences)
  const draws = new Float64Array(count)
  const size = values.length
  const scale = size / 2 ** 32
  // A small fast counter generator (sfc32) in local variables: calling a function for each of five million numbers
  // would take most of the time.
  let [a, b, c, d] = [seedOf(next), seedOf(next), seedOf(next), 1]
  for (let draw = 0; draw < count; draw++) {
    let sum = 0
    for (let i = 0; i < size; i++) {
      const bits = (((a + b) | 0) + d) | 0
      d = (d + 1) | 0
      a = b ^ (b >>> 9)
      b = (c + (c << 3)) | 0
      c = (((c << 21) | (c >>> 11)) + bits) | 0
      sum += values[((bits >>> 0) * scale) | 0] as number
    }
    draws[draw] = sum / size
  }
  draws.sort()
  const at = (share: number) => draws[Math.min(count - 1, Math.floor(share * count))] ?? Number.NaN
  return { draws, low: at(0.025), high: at(0.975) }
}

function seedOf(next: Next): number {
  return (next() * 2 ** 32) | 0
}
