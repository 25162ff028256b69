import { z } from 'zod'
import { definePlugin, pathFrom } from '../../../core/plugin.ts'
import type { TaskRow } from '../../../core/row.ts'
import type { MapStage } from '../../../core/stage.ts'
import { loadExamples, needsOfExamples } from '../../shared/similarity/examples.ts'
import { trainClassifier } from '../../shared/similarity/linear-classifier.ts'

/** Learns from two files of examples which tasks are wanted, and keeps those that look like them. */
export default definePlugin({
  name: 'filters/tasks/classifier',
  summary: 'Keep tasks that a linear classifier, trained on two files of examples, takes for good ones',
  options: z.strictObject({
    positives: z.string().describe('JSONL files with an `instruction` each line.'),
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
