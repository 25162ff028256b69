import type { Random } from '../../lib/random.ts'

export interface Choosing {
  /** 0: always the likeliest token. */
  readonly temperature: number
  /** Considers only the likeliest tokens that together have this probability. */
  readonly topP: number
}

/** Chooses the next token. */
export function chooseToken(logits: Float32Array, { temperature, topP }: Choosing, random: Random): number {
  const best = likeliest(logits)
  if (temperature <= 0) return best
  const top = logits[best] ?? 0
  const weights = Float64Array.from(logits, (logit) => Math.exp((logit - top) / temperature) || 0)
  const order =
    topP < 1 ? [...weights.keys()].sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0)) : [...weights.keys()]
  const kept = topP < 1 ? nucleus(weights, order, topP) : order
  const total = kept.reduce((sum, token) => sum + (weights[token] ?? 0), 0)
  let left = random.next() * total
  for (const token of kept) {
    left -= weights[token] ?? 0
    if (left < 0) return token
  }
  return best
}

function nucleus(weights: Float64Array, order: readonly number[], topP: number): readonly number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let sum = 0
  const end = order.findIndex((token) => {
    sum += weights[token] ?? 0
    return sum >= topP * total
  })
  return order.slice(0, end + 1)
}

function likeliest(logits: Float32Array): number {
  let best = 0
  for (let i = 1; i < logits.length; i++) if ((logits[i] as number) > (logits[best] as number)) best = i
  return best
}

/** The probability that the model gave a token, as a natural logarithm. */
export function logProbability(logits: Float32Array, token: number): number {
  const top = logits[likeliest(logits)] ?? 0
  let sum = 0
  for (const logit of logits) sum += Math.exp(logit - top)
  return (logits[token] ?? 0) - top - Math.log(sum)
}
