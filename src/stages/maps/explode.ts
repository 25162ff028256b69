import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { asList } from '../shared/asking/forms.ts'
import { mapOptions, mapRaw } from '../shared/asking/mapping.ts'

/** Asks for a list about every row; each item becomes its own row. */
export default definePlugin({
  name: 'maps/explode',
  summary: 'Ask a model for a list about every row; each item becomes a row',
  options: z.strictObject({ ...mapOptions, maxItems: z.number().int().min(1).default(20) }),
  make: ({ maxItems, ...options }) =>
    mapRaw(options, asList(maxItems), ({ row, answer }) =>
      answer.value.map((item, nth) => ({
        ...row,
        id: `${row.id}-${nth + 1}`,
        fields: { ...row.fields, [options.into]: item },
      })),
    ),
})
