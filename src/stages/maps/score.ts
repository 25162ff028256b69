import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import type { AnyStage } from '../../core/stage.ts'
import { asNumber } from '../shared/asking/forms.ts'
import { mapOptions, mapRaw, mapTasks } from '../shared/asking/mapping.ts'

const options = z
  .strictObject({
    ...mapOptions,
    rows: z
      .enum(['raw', 'task'])
      .default('raw')
      .describe('What flows by: a row of a source gets a field, a task gets a signal.'),
    min: z.number().default(1),
    max: z.number().default(100),
    atLeast: z.number().optional().describe('Rows below it are dropped with `score-too-low`.'),
  })
  .refine(({ min, max }) => min < max, { path: ['max'], message: 'expected more than min' })

/** Asks for a number about every row; of several replies the middle one counts. */
export default definePlugin<AnyStage, typeof options>({
  name: 'maps/score',
  summary: 'Ask a model for a score of every row; keep those that are good enough',
  options,
  make: ({ rows, min, max, atLeast, ...rest }) => {
    const form = asNumber(min, max)
    const refused = (score: number, id: string) =>
      atLeast === undefined || score >= atLeast
        ? null
        : { drop: 'score-too-low', detail: `${score}, expected at least ${atLeast}`, id }
    const { into } = rest
    return rows === 'raw'
      ? mapRaw(rest, form, ({ row, answer: { value } }) => [
          refused(value, row.id) ?? { ...row, fields: { ...row.fields, [into]: value } },
        ])
      : mapTasks(rest, form, ({ row, answer: { value } }) => [
          refused(value, row.id) ?? { ...row, signals: { ...row.signals, [into]: value } },
        ])
  },
})
