import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { asJson } from '../shared/asking/forms.ts'
import { mapOptions, mapRaw } from '../shared/asking/mapping.ts'

const kinds = {
  text: z.string().min(1),
  number: z.number(),
  flag: z.boolean(),
  texts: z.array(z.string()),
  numbers: z.array(z.number()),
} as const

/** Asks for several values about every row at once: each has a name and a type, and together they become one field. */
export default definePlugin({
  name: 'maps/structured',
  summary: 'Ask a model for named values about every row',
  options: z.strictObject({
    ...mapOptions,
    shape: z
      .record(z.string(), z.enum(['text', 'number', 'flag', 'texts', 'numbers']))
      .refine((shape) => Object.keys(shape).length > 0, 'expected at least one value')
      .describe('Name of each value, and what it is: text, number, flag, texts, numbers.'),
  }),
  make: ({ shape, ...options }) => {
    const fields = Object.entries(shape).map(([name, kind]) => [name, kinds[kind]] as const)
    const form = asJson(z.strictObject(Object.fromEntries(fields)))
    return mapRaw(options, form, ({ row, answer }) => [
      { ...row, fields: { ...row.fields, [options.into]: answer.value } },
    ])
  },
})
