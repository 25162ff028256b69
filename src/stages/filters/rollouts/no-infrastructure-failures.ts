import { z } from 'zod'
import { boundaries } from '../../../core/errors.ts'
import { definePlugin } from '../../../core/plugin.ts'
import type { SqlFilter } from '../../../core/stage.ts'

const known = boundaries.map((boundary) => `'${boundary}'`).join(', ')

/** Drops traces of trials that did not end in a score: infrastructure failures and cancelled trials. */
export default definePlugin({
  name: 'filters/rollouts/no-infrastructure-failures',
  summary: 'Drop traces of trials that ended in an infrastructure failure or were cancelled',
  options: z.strictObject({}),
  make: (): SqlFilter => ({
    kind: 'sql-filter',
    takes: 'trace',
    reason: `CASE WHEN "end" = 'cancelled' THEN 'cancelled'
      WHEN "end" IS DISTINCT FROM 'scored' THEN 'failed-' || CASE WHEN boundary IN (${known}) THEN boundary ELSE 'unknown' END END`,
  }),
})
