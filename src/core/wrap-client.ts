import type { ModelClient } from './model.ts'

/** The same client with other calls. */
export function wrapClient(client: ModelClient, complete: ModelClient['complete']): ModelClient {
  return {
    model: client.model,
    get facts() {
      return client.facts
    },
    countTokens: (messages) => client.countTokens(messages),
    complete,
  }
}

/** A client that tells of every reply, and of how many calls are under way. */
export function observed(
  client: ModelClient,
  observe: { readonly began: () => void; readonly ended: (latencyMs: number | null, outputTokens: number) => void },
): ModelClient {
  return wrapClient(client, async (request, options) => {
    observe.began()
    let told: [latencyMs: number | null, outputTokens: number] = [null, 0]
    try {
      const outcome = await client.complete(request, options)
      if (outcome.kind === 'reply') told = [outcome.reply.latencyMs, outcome.reply.usage.outputTokens]
      return outcome
    } finally {
      observe.ended(...told)
    }
  })
}
