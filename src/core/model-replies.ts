import { BoundaryError } from './errors.ts'
import type { ModelClient, ModelFacts, ModelReply } from './model.ts'
import type { TrialRecord } from './trial.ts'

/** What an agent's metadata says when no reply of its model could be used; the agent then never worked on the task. */
export const noValidReply = { no_valid_reply: true } as const

/** Whether a scored trial is one whose agent never received a valid reply: its 0 says nothing about the task. */
export function hadNoValidReply({ end, metadata, steps }: Pick<TrialRecord, 'end' | 'metadata' | 'steps'>): boolean {
  if (end.kind !== 'scored') return false
  const parts = steps !== null && steps.length > 0 ? steps : [{ metadata }]
  return parts.every((part) => part.metadata?.no_valid_reply === true)
}

/** Whether a reply holds nothing at all. One that was cut off, filtered, or thought aloud only is not empty. */
export function isEmptyReply({ text, reasoning, toolCalls, finish }: ModelReply): boolean {
  const isCut = finish === 'length' || finish === 'content-filter'
  return !isCut && text.trim() === '' && (reasoning ?? '').trim() === '' && toolCalls.length === 0
}

/** A model that only sends empty replies has failed, however healthy its server looks. */
export function emptyReplies(count: number, model: string): BoundaryError {
  const message = `model ${model}: ${count === 1 ? 'its only reply was' : `${count} replies in a row were`} empty`
  return new BoundaryError('model', message, { code: 'EmptyReplyError' })
}

/** A prompt under this many tokens fits any model whose context is unknown. */
const smallTokens = 4000

/** Whether a server cannot be right when it says that a prompt of this size outgrew its context. */
export function isBogusRefusal(tokens: number, { contextTokens }: Pick<ModelFacts, 'contextTokens'>): boolean {
  return tokens < (contextTokens === null ? smallTokens : contextTokens / 2)
}

/** A model that calls a small first prompt too long has failed. */
export function refusedPrompt(tokens: number, model: string): BoundaryError {
  const message = `model ${model}: refused a first prompt of about ${tokens} tokens as too long for its context`
  return new BoundaryError('model', message, { code: 'PromptRefusedError' })
}

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
