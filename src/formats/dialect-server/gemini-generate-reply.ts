import { jsonObject } from './read-request.ts'
import { dataEvent, type ServedCall, type ServedReply, type Stamp, type StreamWriter } from './server-dialect.ts'

type Part = Readonly<Record<string, unknown>>

/** A complete reply. */
export function renderReply(_: ServedCall, reply: ServedReply, stamp: Stamp): Record<string, unknown> {
  const thought: Part[] = reply.reasoning === null ? [] : [{ text: reply.reasoning, thought: true }]
  const text: Part[] = reply.text === '' && reply.toolCalls.length > 0 ? [] : [{ text: reply.text }]
  return last(reply, stamp, [...thought, ...text, ...callParts(reply)])
}

/** A reply in pieces, each shaped like a complete one; the last has the stop reason and counts. */
export function makeStream(_: ServedCall, stamp: Stamp): StreamWriter {
  const piece = (part: Part) =>
    dataEvent({ candidates: [{ content: { role: 'model', parts: [part] }, index: 0 }], ...head(stamp) })
  return {
    start: () => [],
    reasoning: (text) => [piece({ text, thought: true })],
    text: (text) => [piece({ text })],
    end: (reply) => {
      const calls = callParts(reply)
      return [dataEvent(last(reply, stamp, calls.length > 0 ? calls : [{ text: '' }]))]
    },
  }
}

function last(reply: ServedReply, stamp: Stamp, parts: readonly Part[]): Record<string, unknown> {
  const logprobs = reply.tokens?.logprobs?.map((logProbability) => ({ logProbability }))
  return {
    candidates: [
      {
        content: { role: 'model', parts },
        finishReason: finishReason(reply),
        index: 0,
        ...(logprobs && { logprobsResult: { chosenCandidates: logprobs } }),
      },
    ],
    usageMetadata: {
      promptTokenCount: reply.usage.inputTokens,
      cachedContentTokenCount: reply.usage.cacheTokens,
      candidatesTokenCount: reply.usage.outputTokens,
      totalTokenCount: reply.usage.inputTokens + reply.usage.outputTokens,
    },
    ...head(stamp),
  }
}

function head({ id, model }: Stamp): Record<string, unknown> {
  return { modelVersion: model, responseId: id }
}

function callParts({ toolCalls }: ServedReply): Part[] {
  return toolCalls.map(({ id, name, arguments: text, signature }) => ({
    functionCall: { id, name, args: jsonObject(text) },
    ...(signature !== undefined && { thoughtSignature: signature }),
  }))
}

function finishReason({ finish }: ServedReply): string {
  return { stop: 'STOP', length: 'MAX_TOKENS', 'content-filter': 'SAFETY', 'tool-calls': 'STOP' }[finish]
}
