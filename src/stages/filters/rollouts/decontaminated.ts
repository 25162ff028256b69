import { definePlugin } from '../../../core/plugin.ts'
import { decontaminate, decontaminationOptions } from '../../shared/similarity/decontaminate.ts'

/** Keeps rollouts that share no words with a benchmark. */
export default definePlugin({
  name: 'filters/rollouts/decontaminated',
  summary: 'Keep rollouts that share no words with the benchmarks named',
  options: decontaminationOptions,
  make: (options, context) => decontaminate('trace', options, context),
})
