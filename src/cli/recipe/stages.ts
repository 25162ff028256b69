import { join } from 'node:path'
import { packageRoot } from '../../lib/package-root.ts'
import { pipelineStages } from '../../plugins/make-stage.ts'
import { registry } from '../../plugins/table.ts'
import { loadPluginFile, showPlugin } from '../show-plugin.ts'

const nextToPipelines = Object.fromEntries(
  Object.entries(pipelineStages).map(([name, file]) => [
    name,
    async () => ({ default: await loadPluginFile(join(packageRoot, file)) }),
  ]),
)

/** `ot-agent recipe stages`: the options of a stage. */
export default () => showPlugin('stage', { ...registry.stages, ...nextToPipelines })
