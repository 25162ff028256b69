import { z } from 'zod'
import { UserError } from '../core/errors.ts'
import type { Engine } from '../core/model.ts'
import { definePlugin } from '../core/plugin.ts'

/** No model, for work that needs none. */
export default definePlugin({
  name: 'none',
  summary: 'no model, for work that needs none',
  options: z.strictObject({}),
  make: (): Engine => ({
    name: 'none',
    endpoint: null,
    health: async () => ({ healthy: true }),
    client(model) {
      throw new UserError(
        `expected an engine for the model ${model}, got none`,
        'choose an engine that serves it, for example openai-compatible with api_base',
      )
    },
  }),
})
