import { definePlugin } from '../../core/plugin.ts'
import { augmentOptions, augmentStage } from '../shared/rewriting/augment-stage.ts'

/** S6: the same work for another reason. */
export default definePlugin({
  name: 'augment/new-context',
  summary: 'Put a task into another setting; files, tests and solution stay',
  options: augmentOptions,
  make: (options) => augmentStage('new-context', options),
})
