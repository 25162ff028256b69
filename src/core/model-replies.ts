import { BoundaryError } from './errors.ts'
import type { ModelClient, ModelFacts, ModelReply } from './model.ts'
import type { TrialRecord } from './trial.ts'

/** The agent's metadata when none of its model's replies could be used: the agent never worked on the task. */
export const noValidReply = { no_valid_reply: true } as const

/** Whether the agent of a scored trial never received a valid reply: its 0 then says nothing about the task. */
export function hadNoValidReply({ end, metadata, steps }: Pick<TrialRecord, 'end' | 'metadata' | 'steps'>): boolean {
  if (end.kind !== 'scored') return false
  const parts = steps !== null && steps.length > 0 ? steps : [{ metadata }]
  return parts.every((part) => part.metadata?.no_valid_reply === true)
}

/** Whether a reply holds nothing at all. One that was cut off, was filtered, or holds only reasoning is not empty. */
export function isEmptyReply({ text, reasoning, toolCalls, finish }: ModelReply): boolean {
  const isCut = finish === 'length' || finish === 'content-filter'
  return !isCut && text.trim() === '' && (reasoning ?? '').trim() === '' && toolCalls.length === 0
}

/** The failure of a model that sends only empty replies, however healthy its server looks. */
export function emptyReplies(count: number, model: string): BoundaryError {
  const message = `model ${model}: ${count === 1 ? 'its only reply was' : `${count} replies in a row were`} empty`
  return new BoundaryError('model', message, { code: 'EmptyReplyError' })
}

/** A prompt under this many tokens fits any model, even one whose context size is unknown. */
const smallTokens = 4000

/** Whether a server must be wrong when it says that a prompt of this size exceeds its context. */
export function isBogusRefusal(tokens: number, { contextTokens }: Pick<ModelFacts, 'contextTokens'>): boolean {
  return tokens < (contextTokens === null ? smallTokens : contextTokens / 2)
}

/** The failure of a model that rejects a small first prompt as too long. */
export function refusedPrompt(tokens: number, model: string): BoundaryError {
  const message = `model ${model}: refused a first prompt of about ${tokens} tokens as too long for its context`
  return new BoundaryError('model', message, { code: 'PromptRefusedError' })
}

/** The same client with another `complete`. */
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

/** A client that reports every reply, and how many calls are in flight. */
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
