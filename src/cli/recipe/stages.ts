import { showPlugin } from '../show-plugin.ts'

/** `ot-agent recipe stages`: shows a stage's options. */
export default () => showPlugin('stage')
