import { showPlugin } from '../show-plugin.ts'

/** `ot-agent sandboxes show`: shows the options of a kind of sandbox. */
export default () => showPlugin('sandbox')
