import { definePlugin } from '../../../core/plugin.ts'
import { nearDuplicates, nearOptions } from '../../shared/similarity/near-duplicates.ts'

/** Keeps the first of nearly identical rollouts. */
export default definePlugin({
  name: 'filters/rollouts/near-duplicates',
  summary: 'Keep the first of rollouts that say nearly the same (MinHash)',
  options: nearOptions,
  make: (options) => nearDuplicates('trace', options),
})
