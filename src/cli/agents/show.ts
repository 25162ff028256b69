import { showPlugin } from '../show-plugin.ts'

/** `ot-agent agents show`: the options of an agent. */
export default () => showPlugin('agent')
