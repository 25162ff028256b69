import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'

/** Keeps rows whose signal lies in a range: difficulty by the rate of passes, length, any score. */
export default definePlugin({
  name: 'filters/tasks/signal-range',
  summary: 'Keep tasks whose signal (pass-rate, response-tokens, a score) lies in a range',
  options: z
    .strictObject({
      /** A name such as `pass-rate`. */
      signal: z.string().regex(/^[a-z0-9][a-z0-9._-]*$/i, 'expected letters, digits, dots and dashes'),
      least: z.number().optional(),
      most: z.number().optional(),
      /** Keep rows that have no such signal. */
      keepUnknown: z.boolean().default(false),
    })
    .refine(({ least, most }) => least !== undefined || most !== undefined, 'expected `least`, `most` or both'),
  make: ({ signal, least, most, keepUnknown }) => {
    const value = `CAST(json_extract(signals, '$."${signal}"') AS DOUBLE)`
    const cases = [
      keepUnknown ? '' : `WHEN ${value} IS NULL THEN 'no-${signal}'`,
      least === undefined ? '' : `WHEN ${value} < ${least} THEN '${signal}-too-low'`,
      most === undefined ? '' : `WHEN ${value} > ${most} THEN '${signal}-too-high'`,
    ]
    return { takes: 'task' as const, reason: `CASE ${cases.join(' ')} END` }
  },
})
