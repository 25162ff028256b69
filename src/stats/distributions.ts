/** The natural logarithm of the gamma function, by Lanczos's approximation; for positive numbers. */
export function logGamma(x: number): number {
  let sum = lanczos[0] ?? 0
  for (let i = 1; i < lanczos.length; i++) sum += (lanczos[i] ?? 0) / (x + i - 1)
  const base = x + 6.5
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(base) - base + Math.log(sum)
}

const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
]

/** The chance that a Beta(a, b) variable is at most x: the regularised incomplete beta function. */
export function betaCdf(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  const front = Math.exp(a * Math.log(x) + b * Math.log1p(-x) - logBeta(a, b))
  // The continued fraction converges fast on this side of the mean only.
  if (x < (a + 1) / (a + b + 2)) return (front * continuedFraction(x, a, b)) / a
  return 1 - (front * continuedFraction(1 - x, b, a)) / b
}

function logBeta(a: number, b: number): number {
  return logGamma(a) + logGamma(b) - logGamma(a + b)
}

/** Lentz's method. */
function continuedFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300
  const away = (value: number) => (Math.abs(value) < tiny ? tiny : value)
  let c = 1
  let d = 1 / away(1 - ((a + b) * x) / (a + 1))
  let result = d
  for (let m = 1; m <= 1000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / away(1 + even * d)
    c = away(1 + even / c)
    result *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / away(1 + odd * d)
    c = away(1 + odd / c)
    const step = d * c
    result *= step
    if (Math.abs(step - 1) < 1e-14) break
  }
  return result
}

/** The value that a Beta(a, b) variable stays below with a chance of `share`: Newton's method inside a bracket. */
export function betaQuantile(share: number, a: number, b: number): number {
  if (share <= 0) return 0
  if (share >= 1) return 1
  const scale = logBeta(a, b)
  let [low, high] = [0, 1]
  let x = a / (a + b)
  for (let i = 0; i < 200 && high - low > 1e-15; i++) {
    const error = betaCdf(x, a, b) - share
    if (error > 0) high = x
    else low = x
    const density = Math.exp((a - 1) * Math.log(x) + (b - 1) * Math.log1p(-x) - scale)
    const next = x - error / density
    const moved = next > low && next < high ? next : (low + high) / 2
    if (Math.abs(moved - x) <= 1e-14 * x) return moved
    x = moved
  }
  return x
}

/** The chance that a Student's t variable is at most t. */
export function studentCdf(t: number, freedom: number): number {
  const tail = betaCdf(freedom / (freedom + t * t), freedom / 2, 0.5) / 2
  return t > 0 ? 1 - tail : tail
}

/** The value that a Student's t variable stays below with a chance of `share`. */
export function studentQuantile(share: number, freedom: number): number {
  if (share < 0.5) return -studentQuantile(1 - share, freedom)
  const x = betaQuantile(2 * (1 - share), freedom / 2, 0.5)
  return Math.sqrt((freedom * (1 - x)) / x)
}

/** The two-sided 95 % point of the normal distribution. */
export const normal95 = 1.959963984540054
