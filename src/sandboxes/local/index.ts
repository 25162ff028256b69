import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { withAllowlist } from '../namespaces/allowlist.ts'
import { makeLocal } from './provider.ts'

/** Isolated sandboxes on this machine: bubblewrap, no daemon, no container engine, no account. */
export default definePlugin({
  name: 'local',
  summary: 'bubblewrap sandboxes on this machine, no daemon needed',
  options: z.strictObject({
    rootfs: z.string().optional().describe('a directory to use as the root file system instead of the host’s own'),
    pids: z.number().int().positive().default(1024).describe('how many processes a sandbox may have'),
    verify: z
      .enum(['fresh', 'shared'])
      .default('fresh')
      .describe('shared: leave the agent’s processes running for the verifier, for tasks about live services'),
    buildNetwork: z
      .enum(['task', 'public'])
      .optional()
      .describe('public: Dockerfiles of tasks without network are built with one'),
    ids: z
      .enum(['own', 'host'])
      .optional()
      .describe('host: user ids inside are the host’s when ot-agent runs as root, also where they need not be'),
    cacheLimitGb: z
      .number()
      .nonnegative()
      .optional()
      .describe('how many gigabytes of bases and layers are kept for later sandboxes (default: 20)'),
  }),
  make: (options, context) => withAllowlist(makeLocal(options, context)),
})
