// An engine calls a model. This one always gives the same reply: ot-agent run ... --engine ./examples/plugins/engine.ts -m any
import { definePlugin, type Engine, z } from 'ot-agent'

const done = JSON.stringify({ analysis: 'Nothing to do.', plan: 'Stop.', commands: [], task_complete: true })
const facts = {
  contextTokens: 8000,
  outputTokens: 1000,
  inputUsdPerToken: 0,
  cacheUsdPerToken: 0,
  outputUsdPerToken: 0,
}

export default definePlugin({
  name: 'same-reply',
  summary: 'Gives the same reply to every request',
  options: z.strictObject({
    model: z.string().optional().describe('The model that was asked for'),
    reply: z.string().default(done).describe('The reply'),
  }),
  make: ({ reply: text }): Engine => ({
    name: 'same-reply',
    endpoint: null,
    health: async () => ({ healthy: true }),
    client: (model) => ({
      model,
      facts,
      countTokens: (messages) => ({ tokens: JSON.stringify(messages).length / 4, exact: false }),
      async complete() {
        const usage = { inputTokens: 1, outputTokens: 1, cacheTokens: 0 }
        const reply = { text, reasoning: null, toolCalls: [], finish: 'stop', usage, costUsd: 0, tokens: null } as const
        return { kind: 'reply', reply: { ...reply, latencyMs: 0 } }
      },
    }),
  }),
})
