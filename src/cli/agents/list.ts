import { listPluginsOf } from '../list-plugins.ts'

/** `ot-agent agents list`: lists the named agents. */
export default () =>
  listPluginsOf('agent', {
    plural: 'agents',
    hint: 'to write your own: ot-agent agents init my-agent, then --agent-import-path ./my-agent.ts',
  })
