import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import { exactDuplicates } from '../../shared/similarity/exact-duplicates.ts'

/** Keeps the first of identical tasks. */
export default definePlugin({
  name: 'filters/tasks/exact-duplicates',
  summary: 'Keep the first of tasks with the same instruction or content',
  options: z.strictObject({ by: z.enum(['instruction', 'content']).default('instruction') }),
  make: ({ by }) => exactDuplicates('task', by),
})
