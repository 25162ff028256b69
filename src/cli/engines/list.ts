import { listPluginsOf } from '../list-plugins.ts'

/** `ot-agent engines list`: the engines that reach models. */
export default () => listPluginsOf('engine', { plural: 'engines' })
