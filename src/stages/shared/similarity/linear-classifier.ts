import { makeRandom } from '../../../lib/random.ts'
import { hashedVector, vectorSize } from './vectors.ts'

/** A linear classifier over hashed words and pairs of words, as fastText has them: quick to train, quick to ask. */
export interface LinearClassifier {
  /** How likely a text is of the first kind, 0 to 1. */
  score(text: string): number
}

/** Learns to tell two kinds of texts apart by logistic regression; the same texts and seed give the same classifier. */
export function trainClassifier(
  positives: readonly string[],
  negatives: readonly string[],
  { epochs = 20, rate = 0.5, seed = 0 } = {},
): LinearClassifier {
  const weights = new Float64Array(vectorSize)
  let bias = 0
  const examples = [
    ...positives.map((text) => ({ vector: hashedVector(text), label: 1, weight: negatives.length })),
    ...negatives.map((text) => ({ vector: hashedVector(text), label: 0, weight: positives.length })),
  ]
  // The rarer kind counts for as much as the other.
  const scale = 2 / examples.length
  const random = makeRandom(seed, 'classifier')
  const guess = (vector: ReadonlyMap<number, number>) => {
    let sum = bias
    for (const [place, value] of vector) sum += value * (weights[place] ?? 0)
    return 1 / (1 + Math.exp(-sum))
  }
  for (let epoch = 0; epoch < epochs; epoch++) {
    const step = rate * (1 - epoch / epochs)
    for (const { vector, label, weight } of random.shuffle(examples)) {
      const push = step * (label - guess(vector)) * weight * scale
      bias += push
      for (const [place, value] of vector) weights[place] = (weights[place] ?? 0) + push * value
    }
  }
  return { score: (text) => guess(hashedVector(text)) }
}
