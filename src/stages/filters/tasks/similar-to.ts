import { z } from 'zod'
import { UserError } from '../../../core/errors.ts'
import { definePlugin, pathFrom } from '../../../core/plugin.ts'
import type { TaskRow } from '../../../core/row.ts'
import type { MapStage } from '../../../core/stage.ts'
import { embedderOf, embeddingOptions, needsOfEmbeddings } from '../../shared/similarity/embed.ts'
import { digestExamples, loadExamples, needsOfExamples } from '../../shared/similarity/examples.ts'

/** Scores tasks by how much closer they are to wanted examples than to unwanted ones. */
export default definePlugin({
  name: 'filters/tasks/similar-to',
  summary: 'Keep tasks that are near examples and far from others, by embeddings of an endpoint or by hashed words',
  options: z.strictObject({
    positives: z.string().describe('Files of records with an `instruction` each, a folder or a pattern of such files.'),
    negatives: z.string().optional(),
    least: z.number().optional().describe('From -2 to 2; without a floor the score is only the signal `similar-to`.'),
    embeddings: embeddingOptions.optional(),
  }),
  make: ({ least, embeddings, ...paths }, context): MapStage<TaskRow, TaskRow> => {
    const positives = pathFrom(context, paths.positives)
    const negatives = paths.negatives === undefined ? undefined : pathFrom(context, paths.negatives)
    const examples = negatives === undefined ? [positives] : [positives, negatives]
    return {
      needs: async () => [...(await needsOfExamples(examples)), ...needsOfEmbeddings(embeddings)],
      fingerprint: () => digestExamples(examples),
      kind: 'map',
      takes: 'task',
      gives: 'task',
      version: 2,
      expensive: embeddings !== undefined,
      async *run(rows, at) {
        const embed = embedderOf(embeddings, at)
        const near = await embed.mean(await loadExamples(positives))
        const far = negatives === undefined ? null : await embed.mean(await loadExamples(negatives))
        for await (const row of rows) {
          const value = await embed.score(row.instruction, near, far)
          if (Number.isNaN(value))
            throw new UserError('filters/tasks/similar-to: the endpoint returned no embeddings', 'check its model')
          if (least !== undefined && value < least) yield { drop: 'not-similar', detail: value.toFixed(3), id: row.id }
          else yield { ...row, signals: { ...row.signals, 'similar-to': value } }
        }
      },
    }
  },
})
