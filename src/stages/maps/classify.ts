import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import type { AnyStage } from '../../core/stage.ts'
import type { Asked } from '../shared/asking/ask-each.ts'
import { asYesNo } from '../shared/asking/forms.ts'
import { mapOptions, mapRaw, mapTasks, mapTraces } from '../shared/asking/mapping.ts'

const options = z.strictObject({
  ...mapOptions,
  rows: z
    .enum(['raw', 'task', 'trace'])
    .default('raw')
    .describe(
      'What flows by: a row of a source gets a field, a task or a trace gets a signal of 1 or 0. The prompt of a trace may name `{{conversation}}`.',
    ),
  keep: z
    .enum(['all', 'yes', 'no'])
    .default('all')
    .describe('Which rows stay; the others are dropped with `classified-no` or `classified-yes`.'),
})

/** Asks a yes-or-no question about every row, and keeps the rows with the wanted answer. */
export default definePlugin<AnyStage, typeof options>({
  name: 'maps/classify',
  summary: 'Ask a yes-or-no question about every row; keep those with the right answer',
  options,
  make: ({ rows, keep, ...rest }) => {
    const refused = (isYes: boolean, id: string) => {
      const said = isYes ? 'yes' : 'no'
      return keep === 'all' || keep === said ? null : { drop: `classified-${said}`, id }
    }
    const { into } = rest
    const signalled = <Row extends { readonly id: string; readonly signals: Readonly<Record<string, number>> }>({
      row,
      answer: { value },
    }: Asked<Row, boolean>) => [
      refused(value, row.id) ?? { ...row, signals: { ...row.signals, [into]: value ? 1 : 0 } },
    ]
    if (rows === 'task') return mapTasks(rest, asYesNo, signalled)
    if (rows === 'trace') return mapTraces(rest, asYesNo, signalled)
    return mapRaw(rest, asYesNo, ({ row, answer: { value } }) => [
      refused(value, row.id) ?? { ...row, fields: { ...row.fields, [into]: value } },
    ])
  },
})
