import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { makeModal } from './provider.ts'

/** Sandboxes at Modal: containers from images that Modal builds once for each environment. */
export default definePlugin({
  name: 'modal',
  summary: 'containers at Modal (needs MODAL_TOKEN_ID, MODAL_TOKEN_SECRET and the package modal)',
  options: z.strictObject({
    app: z.string().default('ot-agent').describe('app in the account that sandboxes belong to'),
    image: z.string().default('debian:12').describe('image for sandboxes without one'),
    lifetimeSec: z
      .number()
      .int()
      .min(60)
      .max(86_400)
      .default(6 * 3600)
      .describe('Modal ends a sandbox this long after its start; this cannot be extended'),
    idleSec: z.number().int().min(60).default(900).describe('Modal ends a sandbox that has been idle for this long'),
    maxBuilds: z.number().int().positive().default(4).describe('maximum number of images to build at the same time'),
  }),
  make: (options, context) => makeModal(options, context),
})
