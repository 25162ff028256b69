export { makeAgent, makeProvider, pluginContext } from '../plugins.ts'
