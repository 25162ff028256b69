import { definePlugin } from '../../core/plugin.ts'
import { augmentOptions, augmentStage } from '../shared/rewriting/augment-stage.ts'

/** S6: the same result, with fewer hints on how to get there. */
export default definePlugin({
  name: 'augment/harden',
  summary: 'Make a task harder by saying less; files, tests and solution stay',
  options: augmentOptions,
  make: (options) => augmentStage('harden', options),
})
