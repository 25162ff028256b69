import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { withAllowlist } from '../namespaces/allowlist.ts'
import { makeLocal } from './provider.ts'

/** Isolated sandboxes on this machine: bubblewrap, no daemon, no container engine, no account. */
export default definePlugin({
  name: 'local',
  summary: 'bubblewrap sandboxes on this machine, no daemon needed',
  options: z.strictObject({
    rootfs: z.string().optional().describe('directory to use as the root file system (default: that of the host)'),
    pids: z.number().int().positive().default(1024).describe('maximum number of processes in a sandbox'),
    verify: z
      .enum(['fresh', 'shared'])
      .default('fresh')
      .describe('shared: keep the agent’s processes running for the verifier, for tasks about live services'),
    buildNetwork: z
      .enum(['task', 'public'])
      .optional()
      .describe('public: builds have network access even if the task has none'),
    ids: z
      .enum(['own', 'host'])
      .optional()
      .describe('host: always use the user ids of the host when ot-agent runs as root'),
    cacheLimitGb: z
      .number()
      .nonnegative()
      .optional()
      .describe('gigabytes of bases and layers to cache for later sandboxes (default: 20)'),
  }),
  make: (options, context) => withAllowlist(makeLocal(options, context)),
})
