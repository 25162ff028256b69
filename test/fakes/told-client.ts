import type { CallOptions, ModelClient, ModelOutcome, ModelReply, ModelRequest } from '../../src/core/model.ts'
import { modelReply } from './model-reply.ts'

export type Answer = (request: ModelRequest, options: CallOptions) => ModelOutcome | Promise<ModelOutcome>

/** A client that gives prepared answers in order, errors included; the last one repeats. */
export function clientThat(...answers: Answer[]): ModelClient & { readonly asked: ModelRequest[] } {
  const asked: ModelRequest[] = []
  const facts = {
    contextTokens: 100_000,
    outputTokens: 500,
    inputUsdPerToken: null,
    cacheUsdPerToken: null,
    outputUsdPerToken: null,
  }
  return {
    model: 'fake/model',
    facts,
    asked,
    async complete(request, options = {}) {
      const answer = answers[Math.min(asked.length, answers.length - 1)]
      asked.push(request)
      if (!answer) throw new Error('no answer was planned')
      return answer(request, options)
    },
    countTokens: () => ({ tokens: 1, exact: false }),
  }
}

/** A reply with typical token counts. */
export function replies(text: string, more: Partial<ModelReply> = {}): Answer {
  const reply = modelReply(text, {
    usage: { inputTokens: 10, cacheTokens: 4, outputTokens: 3 },
    costUsd: 0.25,
    tokens: { promptIds: [1, 2], completionIds: [3], logprobs: [-0.5] },
    ...more,
  })
  return () => ({ kind: 'reply', reply })
}
