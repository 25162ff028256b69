import { z } from 'zod'
import type { AgentAt, Recorder, Usage } from '../../core/agent.ts'
import { UserError } from '../../core/errors.ts'
import type { CallOptions, ChatMessage, ModelClient, ModelReply, ModelRequest } from '../../core/model.ts'
import type { Settings } from './options.ts'
import type { Segment } from './rollout.ts'

/** The outcome of a call that was paid for. */
export type Answer =
  | { readonly kind: 'reply'; readonly reply: ModelReply }
  /** The conversation does not fit into the model's context. */
  | { readonly kind: 'too-long' }

/** Thrown when nothing more may be spent: the run ends there, wherever it is. */
export class OutOfBudget extends Error {}

type Totals = { -readonly [Key in keyof Usage]: Usage[Key] }

/** Every call of a run goes through here and is counted however it ends. */
export class Calls {
  readonly totals: Totals = { inputTokens: null, cacheTokens: null, outputTokens: null, costUsd: null }
  readonly timesMs: number[] = []
  private readonly base: Omit<ModelRequest, 'messages'>
  private readonly options: CallOptions

  constructor(
    private readonly client: ModelClient,
    private readonly settings: Settings,
    private readonly record: Recorder,
    { signal, deadline }: Pick<AgentAt, 'signal' | 'deadline'>,
  ) {
    const { request, timeoutSec } = readCallSettings(settings)
    this.base = request
    // If a server asks for a longer pause than the run has time left, the call fails at once: that must not count as
    // running out of time.
    this.options = { signal, ...(timeoutSec !== undefined && { timeoutSec }), ...(deadline && { deadline }) }
  }

  /** `purpose`: what a call outside the main conversation is for. */
  async make(messages: readonly ChatMessage[], segment: Segment, purpose?: string): Promise<Answer> {
    const request = { ...this.base, messages, ...(purpose !== undefined && { purpose }) }
    const outcome = await this.client.complete(request, this.options)
    if (outcome.kind === 'budget-exceeded') throw new OutOfBudget(outcome.budget)
    if (outcome.kind === 'context-exceeded') return { kind: 'too-long' }
    const reply = { ...outcome.reply, costUsd: this.costOf(outcome.reply) }
    this.count(reply)
    segment.add(reply.tokens)
    return { kind: 'reply', reply }
  }

  /** The settings of the calls, without the conversation. */
  get request(): Omit<ModelRequest, 'messages'> {
    return this.base
  }

  private costOf({ costUsd, usage }: ModelReply): number | null {
    const { inputUsdPerToken, outputUsdPerToken } = this.settings.modelInfo
    if (costUsd !== null || inputUsdPerToken === null || outputUsdPerToken === null) return costUsd
    return usage.inputTokens * inputUsdPerToken + usage.outputTokens * outputUsdPerToken
  }

  private count({ usage, costUsd, latencyMs }: ModelReply): void {
    const { totals } = this
    totals.inputTokens = (totals.inputTokens ?? 0) + usage.inputTokens
    totals.cacheTokens = (totals.cacheTokens ?? 0) + usage.cacheTokens
    totals.outputTokens = (totals.outputTokens ?? 0) + usage.outputTokens
    if (costUsd !== null) totals.costUsd = (totals.costUsd ?? 0) + costUsd
    this.timesMs.push(Math.round(latencyMs * 1000) / 1000)
    this.record.usage(totals)
    this.record.metadata({ api_request_times_msec: this.timesMs })
  }
}

const known = z.object({
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  max_tokens: z.int().positive().optional(),
  max_completion_tokens: z.int().positive().optional(),
  stop: z.union([z.string(), z.array(z.string())]).optional(),
  reasoning_effort: z.string().optional(),
  timeout: z.number().positive().optional(),
  extra_body: z.record(z.string(), z.unknown()).optional(),
})

/**
 * Settings of a Python client that say where and how to send, not what; the code that makes the client handles them.
 */
const notForTheBody = [
  ...Object.keys(known.shape),
  ...['api_key', 'api_base', 'base_url', 'api_version', 'model', 'messages', 'stream', 'max_retries', 'num_retries'],
  ...['drop_params', 'custom_llm_provider', 'extra_headers', 'headers'],
]

/** Parses settings with the API's names into a request; throws UserError that names a wrong one. */
export function readCallSettings(settings: Settings): {
  readonly request: Omit<ModelRequest, 'messages'>
  readonly timeoutSec: number | undefined
} {
  const parsed = known.safeParse(settings.callSettings)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new UserError(`llm_kwargs.${issue?.path.join('.')}: ${issue?.message}`, "llm_kwargs take the API's own names")
  }
  const { data } = parsed
  const others = Object.entries(settings.callSettings).filter(([key]) => !notForTheBody.includes(key))
  const thinking = settings.maxThinkingTokens
  const extraBody = {
    ...Object.fromEntries(others),
    ...(thinking !== null && { thinking: { type: 'enabled', budget_tokens: Math.max(1024, thinking) } }),
    ...data.extra_body,
  }
  const maxOutputTokens = data.max_completion_tokens ?? data.max_tokens
  const reasoningEffort = data.reasoning_effort ?? settings.reasoningEffort
  const temperature = data.temperature ?? settings.temperature
  const request = {
    ...(temperature !== null && { temperature }),
    ...(settings.sendsSessionId && { sessionId: settings.sessionId }),
    ...(data.top_p !== undefined && { topP: data.top_p }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(data.stop !== undefined && { stop: typeof data.stop === 'string' ? [data.stop] : data.stop }),
    ...(reasoningEffort !== null && { reasoningEffort }),
    ...(settings.collectTokens && { tokenDetails: true }),
    ...(Object.keys(extraBody).length > 0 && { extraBody }),
  }
  return { request, timeoutSec: data.timeout }
}
