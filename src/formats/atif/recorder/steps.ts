import type { ChatMessage, ModelReply, ToolCall, ToolDefinition } from '../../../core/model.ts'
import { utcNow } from '../../../lib/time.ts'
import { jsonObject } from '../../dialect-server/read-request.ts'
import type { NewStep } from '../journal.ts'
import type { Observation, StepMetrics } from '../trajectory.ts'

/** A call that got no reply. */
export interface FailedCall {
  readonly code: string
  readonly message: string
  readonly timestamp: string
}

/** A message of a request as a step; `copied` if an earlier trajectory has it too. */
export function stepOfMessage(message: ChatMessage, copied: boolean): NewStep {
  const { role, content, reasoning, toolCalls = [] } = message
  const timestamp = utcNow()
  if (role !== 'assistant') {
    const source = role === 'system' ? ('system' as const) : ('user' as const)
    return { timestamp, source, message: content, ...(copied && { is_copied_context: true }) }
  }
  // Model text that was not recorded here must not be learned from, whatever its origin.
  return {
    timestamp,
    source: 'agent',
    message: content,
    ...(reasoning && { extra: { reasoning } }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(atifCall) }),
    is_copied_context: true,
    llm_call_count: 0,
  }
}

/** A model's reply as a step. */
export function stepOfReply(
  model: string,
  reply: ModelReply,
  failedBefore: readonly FailedCall[],
  again: boolean,
): NewStep {
  const isCut = reply.finish === 'length' || reply.finish === 'content-filter'
  const extra = {
    ...(isCut && { finish: reply.finish }),
    ...(failedBefore.length > 0 && { failed_calls_before: failedBefore }),
    ...(again && { asked_again: true }),
  }
  return {
    timestamp: utcNow(),
    source: 'agent',
    model_name: model,
    message: reply.text,
    ...(reply.reasoning && { reasoning_content: reply.reasoning }),
    ...(reply.toolCalls.length > 0 && { tool_calls: reply.toolCalls.map(atifCall) }),
    metrics: metricsOf(reply),
    llm_call_count: 1,
    ...(Object.keys(extra).length > 0 && { extra }),
  }
}

/** Tool results as the observation of the step that called the tools. */
export function observationOf(results: readonly ChatMessage[], calls: readonly ToolCall[]): Observation {
  const ids = new Set(calls.map(({ id }) => id))
  return {
    results: results.map(({ content, toolCallId }) => ({
      ...(toolCallId !== undefined && ids.has(toolCallId) && { source_call_id: toolCallId }),
      content,
    })),
  }
}

/** Tools in the format that most readers of trajectories know. */
export function atifTools(tools: readonly ToolDefinition[]): Record<string, unknown>[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }))
}

function atifCall({ id, name, arguments: text }: ToolCall) {
  return { tool_call_id: id, function_name: name, arguments: { ...jsonObject(text) } }
}

function metricsOf({ usage, costUsd, tokens, latencyMs }: ModelReply): StepMetrics {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    cached_tokens: usage.cacheTokens,
    ...(costUsd !== null && { cost_usd: costUsd }),
    ...(tokens?.promptIds && { prompt_token_ids: [...tokens.promptIds] }),
    ...(tokens?.completionIds && { completion_token_ids: [...tokens.completionIds] }),
    ...(tokens?.logprobs && { logprobs: [...tokens.logprobs] }),
    extra: { latency_ms: Math.round(latencyMs), ...(usage.estimated && { estimated: true }) },
  }
}
