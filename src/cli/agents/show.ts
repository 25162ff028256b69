import { showPlugin } from '../show-plugin.ts'

/** `ot-agent agents show`: shows an agent's options. */
export default () => showPlugin('agent')
