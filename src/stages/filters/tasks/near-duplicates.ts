import { definePlugin } from '../../../core/plugin.ts'
import { nearDuplicates, nearOptions } from '../../shared/similarity/near-duplicates.ts'

/** Keeps the first of nearly identical tasks. */
export default definePlugin({
  name: 'filters/tasks/near-duplicates',
  summary: 'Keep the first of tasks that say nearly the same (MinHash)',
  options: nearOptions,
  make: (options) => nearDuplicates('task', options),
})
