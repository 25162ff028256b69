import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { AnyStage } from '../../../core/stage.ts'
import { estimateTokens } from '../../../lib/estimate-tokens.ts'
import { asText } from '../../shared/asking/forms.ts'
import { askOptions, mapTasks } from '../../shared/asking/mapping.ts'

const options = z.strictObject({
  ...askOptions,
  prompt: z
    .string()
    .min(1)
    .default('Solve this task. Say every step you would take.\n\n{{instruction}}')
    .describe("What the model is asked; `{{instruction}}` is the task's."),
  least: z
    .int()
    .positive()
    .optional()
    .describe(
      'Drop tasks whose answer is shorter, in tokens, or longer; without either the length is only a signal to sample by.',
    ),
  most: z.int().positive().optional(),
})

/** Asks a model to answer each task in words and stores the length of its answer as the signal `response-tokens`. */
export default definePlugin<AnyStage, typeof options>({
  name: 'filters/tasks/response-length',
  summary: 'Measure how much a model says to a task: a signal to sample by, or a hard filter',
  options,
  make: ({ least, most, ...rest }) =>
    mapTasks({ ...rest, into: 'response-tokens', repeats: 1, minAgreement: 0 }, asText, ({ row, answer }) => {
      const tokens = estimateTokens(answer.value)
      if (least !== undefined && tokens < least)
        return [{ drop: 'response-too-short', detail: `${tokens} tokens, expected at least ${least}`, id: row.id }]
      if (most !== undefined && tokens > most)
        return [{ drop: 'response-too-long', detail: `${tokens} tokens, expected at most ${most}`, id: row.id }]
      return [{ ...row, signals: { ...row.signals, 'response-tokens': tokens } }]
    }),
})
