import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { makeCloudProvider } from '../cloud/provider.ts'
import { openDaytona } from './cloud.ts'

/** How often we report that we are alive, within the shortest time that a sandbox may be idle. */
const extendEverySec = 40

/** Sandboxes at Daytona, through its own package, which only its users install. */
export default definePlugin({
  name: 'daytona',
  summary: 'sandboxes in the Daytona cloud; needs @daytonaio/sdk and DAYTONA_API_KEY',
  options: z.strictObject({
    snapshot: z.string().optional().describe('image for tasks without one (default: that of the account)'),
    whenFull: z
      .enum(['fail', 'evict'])
      .default('fail')
      .describe(
        'evict: when the account has reached its snapshot limit, delete the least recently used snapshot of ot-agent',
      ),
    startSec: z.number().positive().default(300).describe('time limit for starting a sandbox'),
    idleMin: z.number().int().positive().default(15).describe('minutes after which the provider stops an idle sandbox'),
    lifetimeMin: z
      .number()
      .int()
      .positive()
      .default(1440)
      .describe('minutes after which the provider ends any sandbox'),
    freeze: z
      .enum(['restart', 'kill'])
      .default('restart')
      .describe('kill: before the tests, kill the agent’s processes from inside instead of restarting the sandbox'),
  }),
  make: (options, context) =>
    makeCloudProvider({
      name: 'daytona',
      can: { gpu: true, networkPerPhase: true },
      limits: { cpu: true, memory: true, pids: false, storage: true },
      extendEverySec,
      maxBuilds: 4,
      context,
      open: () => openDaytona(options, context),
    }),
})
