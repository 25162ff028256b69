import { z } from 'zod'
import type { Agent } from '../core/agent.ts'
import { definePlugin } from '../core/plugin.ts'

/** An agent that does nothing: its score on a task is the score of no work at all. */
export default definePlugin({
  name: 'nop',
  summary: 'does nothing',
  options: z.strictObject({}),
  make: (): Agent => ({ name: 'nop', version: '1.0.0', solve: async () => ({ kind: 'finished' }) }),
})
