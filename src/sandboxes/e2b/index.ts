import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { makeE2b } from './provider.ts'

/** Sandboxes at E2B: small virtual machines, from templates that are built once for each environment. */
export default definePlugin({
  name: 'e2b',
  summary: 'virtual machines at E2B (needs E2B_API_KEY and the package e2b)',
  options: z.strictObject({
    template: z.string().default('base').describe('image for sandboxes without one'),
    lifetimeSec: z
      .number()
      .int()
      .min(60)
      .max(86_400)
      .default(900)
      .describe('E2B ends a sandbox this long after the last keep-alive'),
    maxBuilds: z.number().int().positive().default(4).describe('maximum number of templates to build at the same time'),
    requestTimeoutSec: z
      .number()
      .positive()
      .default(120)
      .describe('time limit of one request, including the start of a sandbox'),
  }),
  make: (options, context) => makeE2b(options, context),
})
