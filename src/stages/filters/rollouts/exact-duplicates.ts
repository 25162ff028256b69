import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import { exactDuplicates } from '../../shared/similarity/exact-duplicates.ts'

/** Keeps the first of identical rollouts. */
export default definePlugin({
  name: 'filters/rollouts/exact-duplicates',
  summary: 'Keep the first of rollouts with the same conversation or instruction',
  options: z.strictObject({ by: z.enum(['conversation', 'instruction']).default('conversation') }),
  make: ({ by }) => exactDuplicates('trace', by),
})
