import { showPlugin } from '../show-plugin.ts'

/** `ot-agent recipe stages`: the options of a stage. */
export default () => showPlugin('stage')
