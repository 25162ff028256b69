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
