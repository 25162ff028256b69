import { z } from 'zod'
import type { TokenUsage } from '../../core/budget.ts'
import type { ModelReply, ToolCall } from '../../core/model.ts'
import { type Hear, numbers, type WireReply } from '../model-dialect.ts'

const partSchema = z.object({
  text: z.string().nullish(),
  thought: z.boolean().nullish(),
  thoughtSignature: z.string().nullish(),
  functionCall: z.object({ id: z.string().nullish(), name: z.string(), args: z.unknown().optional() }).nullish(),
})

const usageSchema = z.object({
  promptTokenCount: z.number().nullish(),
  cachedContentTokenCount: z.number().nullish(),
  candidatesTokenCount: z.number().nullish(),
  thoughtsTokenCount: z.number().nullish(),
})

const documentSchema = z.object({
  candidates: z
    .array(
      z.object({
        content: z.object({ parts: z.array(partSchema).nullish() }).nullish(),
        finishReason: z.string().nullish(),
        logprobsResult: z.object({ chosenCandidates: z.unknown().optional() }).nullish().catch(null),
      }),
    )
    .nullish(),
  promptFeedback: z.object({ blockReason: z.string().nullish() }).nullish(),
  usageMetadata: usageSchema.nullish(),
})

/** Assembles a reply; streamed pieces have the shape of a whole reply. */
export function makeDraft(onText: Hear, onReasoning: Hear = () => {}) {
  const text: string[] = []
  const reasoning: string[] = []
  const toolCalls: ToolCall[] = []
  const logprobs: number[] = []
  let usage: TokenUsage | null = null
  let finish: string | null = null

  const addPart = ({ text: words, thought, functionCall: call, thoughtSignature }: z.output<typeof partSchema>) => {
    if (words) (thought ? reasoning : text).push(words)
    if (words) (thought ? onReasoning : onText)(words)
    if (!call) return
    toolCalls.push({
      id: call.id || `call_${toolCalls.length}`,
      name: call.name,
      arguments: JSON.stringify(call.args ?? {}),
      ...(thoughtSignature && { signature: thoughtSignature }),
    })
  }

  return {
    get finished(): boolean {
      return finish !== null
    },
    /** Adds a document; false if it is not from this API. */
    add(document: unknown): boolean {
      const parsed = documentSchema.safeParse(document)
      if (!parsed.success) return false
      const { candidates, promptFeedback, usageMetadata } = parsed.data
      const candidate = candidates?.[0]
      if (!candidate && !promptFeedback?.blockReason && !usageMetadata) return false
      for (const part of candidate?.content?.parts ?? []) addPart(part)
      finish = candidate?.finishReason ?? promptFeedback?.blockReason ?? finish
      logprobs.push(...chosenLogprobs(candidate?.logprobsResult?.chosenCandidates))
      if (usageMetadata) usage = toUsage(usageMetadata)
      return true
    },
    end(): WireReply {
      return {
        text: text.join(''),
        reasoning: reasoning.length > 0 ? reasoning.join('') : null,
        toolCalls,
        finish: finishOf(finish, toolCalls.length > 0),
        usage,
        tokens: logprobs.length > 0 ? { promptIds: null, completionIds: null, logprobs } : null,
      }
    },
  }
}

const blocked = ['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'IMAGE_SAFETY', 'LANGUAGE', 'OTHER']

function finishOf(reason: string | null, hasCalls: boolean): ModelReply['finish'] {
  if (reason === 'MAX_TOKENS') return 'length'
  if (reason !== null && blocked.includes(reason)) return 'content-filter'
  return hasCalls ? 'tool-calls' : 'stop'
}

function toUsage(usage: z.output<typeof usageSchema>): TokenUsage {
  return {
    inputTokens: usage.promptTokenCount ?? 0,
    cacheTokens: usage.cachedContentTokenCount ?? 0,
    outputTokens: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
  }
}

function chosenLogprobs(value: unknown): readonly number[] {
  if (!Array.isArray(value)) return []
  return numbers(value.map((entry: { logProbability?: unknown } | null) => entry?.logProbability)) ?? []
}
