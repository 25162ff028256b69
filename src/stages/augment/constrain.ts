import { definePlugin } from '../../core/plugin.ts'
import { augmentOptions, augmentStage } from '../shared/rewriting/augment-stage.ts'

/** S6: the same result, with one way to it ruled out. */
export default definePlugin({
  name: 'augment/constrain',
  summary: 'Add a constraint on how a task is solved; files, tests and solution stay',
  options: augmentOptions,
  make: (options) => augmentStage('constrain', options),
})
