import { showPlugin } from '../show-plugin.ts'

/** `ot-agent engines show`: the options of an engine. */
export default () => showPlugin('engine')
