import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { makeModal } from './provider.ts'

/** Sandboxes at Modal: containers from images that Modal builds once for each environment. */
export default definePlugin({
  name: 'modal',
  summary: 'containers at Modal (needs MODAL_TOKEN_ID, MODAL_TOKEN_SECRET and the package modal)',
  options: z.strictObject({
    app: z.string().default('ot-agent').describe('the app of the account that sandboxes belong to'),
    image: z.string().default('debian:12').describe('what sandboxes without an image start from'),
    lifetimeSec: z
      .number()
      .int()
      .min(60)
      .max(86_400)
      .default(6 * 3600)
      .describe('Modal ends a sandbox this long after its start; nothing can put that off'),
    idleSec: z
      .number()
      .int()
      .min(60)
      .default(900)
      .describe('Modal ends a sandbox in which nothing of ours ran for so long'),
    maxBuilds: z.number().int().positive().default(4).describe('images built at the same time'),
  }),
  make: (options, context) => makeModal(options, context),
})
