import { listPluginsOf } from '../list-plugins.ts'

/** `ot-agent sandboxes list`: the kinds of sandbox. */
export default () => listPluginsOf('sandbox', { plural: 'sandboxes' })
