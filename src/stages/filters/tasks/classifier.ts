import { z } from 'zod'
import { definePlugin, pathFrom } from '../../../core/plugin.ts'
import type { TaskRow } from '../../../core/row.ts'
import type { MapStage } from '../../../core/stage.ts'
import { makeRandom } from '../../../lib/random.ts'
import { digestExamples, loadExamples, needsOfExamples } from '../../shared/similarity/examples.ts'
import { hashedVector, vectorSize } from '../../shared/similarity/vectors.ts'

/** Learns from two files of examples which tasks are wanted, and keeps similar ones. */
export default definePlugin({
  name: 'filters/tasks/classifier',
  summary: 'Keep tasks that a linear classifier, trained on two files of examples, takes for good ones',
  options: z.strictObject({
    positives: z.string().describe('Files of records with an `instruction` each, a folder or a pattern of such files.'),
    negatives: z.string(),
    least: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe('Scores go from 0 to 1; without a floor the score is only the signal `classifier`.'),
  }),
  make: ({ least, ...paths }, context): MapStage<TaskRow, TaskRow> => {
    const positives = pathFrom(context, paths.positives)
    const negatives = pathFrom(context, paths.negatives)
    return {
      needs: () => needsOfExamples([positives, negatives]),
      fingerprint: () => digestExamples([positives, negatives]),
      kind: 'map',
      takes: 'task',
      gives: 'task',
      version: 2,
      async *run(rows, { seed }) {
        const { score } = trainClassifier(await loadExamples(positives), await loadExamples(negatives), { seed })
        for await (const row of rows) {
          const value = score(row.instruction)
          if (least !== undefined && value < least)
            yield { drop: 'classifier-too-low', detail: value.toFixed(3), id: row.id }
          else yield { ...row, signals: { ...row.signals, classifier: value } }
        }
      },
    }
  },
})

/** A linear classifier over hashed words and word pairs, as in fastText: fast to train and to apply. */
interface LinearClassifier {
  /** The probability that a text is of the first kind, 0 to 1. */
  score(text: string): number
}

/** Trains a logistic regression to distinguish two kinds of texts; the same texts and seed give the same classifier. */
function trainClassifier(
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
  // Both kinds have the same total weight.
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
