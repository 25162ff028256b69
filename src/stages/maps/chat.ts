import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { asText } from '../shared/asking/forms.ts'
import { mapOptions, mapRaw } from '../shared/asking/mapping.ts'

/** Asks about every row; the reply becomes one of its fields. */
export default definePlugin({
  name: 'maps/chat',
  summary: 'Ask a model about every row; its reply becomes a field',
  options: z.strictObject(mapOptions),
  make: (options) =>
    mapRaw(options, asText, ({ row, answer }) => [{ ...row, fields: { ...row.fields, [options.into]: answer.value } }]),
})
