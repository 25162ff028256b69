import type { ModelReply } from '../../src/core/model.ts'

/** An ordinary model reply. */
export function modelReply(text: string, more: Partial<ModelReply> = {}): ModelReply {
  return {
    text,
    reasoning: null,
    toolCalls: [],
    finish: 'stop',
    usage: { inputTokens: 1, cacheTokens: 0, outputTokens: 1 },
    costUsd: null,
    tokens: null,
    latencyMs: 1,
    ...more,
  }
}
