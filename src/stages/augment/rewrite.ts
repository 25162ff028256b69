import { definePlugin } from '../../core/plugin.ts'
import { augmentOptions, augmentStage } from '../shared/rewriting/augment-stage.ts'

/** S6: the same task in other words. */
export default definePlugin({
  name: 'augment/rewrite',
  summary: 'Say a task in other words; files, tests and solution stay',
  options: augmentOptions,
  make: (options) => augmentStage('rewrite', options),
})
