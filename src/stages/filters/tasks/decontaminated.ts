import { definePlugin } from '../../../core/plugin.ts'
import { decontaminate, decontaminationOptions } from '../../shared/similarity/decontaminate.ts'

/** Keeps tasks that do not contain a benchmark's words. */
export default definePlugin({
  name: 'filters/tasks/decontaminated',
  summary: 'Keep tasks that share no words with the benchmarks named',
  options: decontaminationOptions,
  make: (options, context) => decontaminate('task', options, context),
})
