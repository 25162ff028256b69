import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'

/** Keeps rows whose signal lies in a range: difficulty by pass rate, length, or any score. */
export default definePlugin({
  name: 'filters/tasks/signal-range',
  summary: 'Keep tasks whose signal (pass-rate, response-tokens, a score) lies in a range',
  options: z
    .strictObject({
      signal: z
        .string()
        .regex(/^[a-z0-9][a-z0-9._-]*$/i, 'expected letters, digits, dots and dashes')
        .describe('A name such as `pass-rate`.'),
      least: z.number().optional(),
      most: z.number().optional(),
      keepUnknown: z.boolean().default(false).describe('Keep rows that have no such signal.'),
    })
    .refine(({ least, most }) => least !== undefined || most !== undefined, 'expected `least`, `most` or both'),
  make: ({ signal, least, most, keepUnknown }) => {
    const value = `CAST(json_extract(signals, '$."${signal}"') AS DOUBLE)`
    const cases = [
      keepUnknown ? '' : `WHEN ${value} IS NULL THEN 'no-${signal}'`,
      least === undefined ? '' : `WHEN ${value} < ${least} THEN '${signal}-too-low'`,
      most === undefined ? '' : `WHEN ${value} > ${most} THEN '${signal}-too-high'`,
    ]
    return { kind: 'sql-filter' as const, takes: 'task' as const, reason: `CASE ${cases.join(' ')} END` }
  },
})
