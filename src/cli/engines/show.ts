import { showPlugin } from '../show-plugin.ts'

/** `ot-agent engines show`: shows an engine's options. */
export default () => showPlugin('engine')
