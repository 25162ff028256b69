import { UserError } from '../../core/errors.ts'
import type { ModelClient } from '../../core/model.ts'
import { readCallSettings } from './calls.ts'
import type { Settings } from './options.ts'

/** A conversation's context size, and how much of it to keep free. */
export interface Limits {
  readonly contextTokens: number
  /** With fewer free tokens than this, the work is handed off before the next call. */
  readonly keepFreeTokens: number
  /** How many tokens to free before a conversation that did not fit is summarized. */
  readonly unwindFreeTokens: number
  /** The longest observation. */
  readonly observationBytes: number
}

/** Used when nothing is known about a model. */
const unknownContext = 1_000_000
/** Harbor's values, which suit a context of 32,000 tokens or more; smaller contexts use the same proportions. */
const largeContext = 32_000
const harborKeepFree = 8000
const harborUnwindFree = 4000
const harborObservationBytes = 10_000
/** The shortest reply worth asking for. */
const replyTokens = 512

/** The limits for a model. A threshold set by the user is taken as it is. */
export function limitsOf(settings: Settings, { facts }: Pick<ModelClient, 'facts'>): Limits {
  const contextTokens = settings.modelInfo.maxInputTokens ?? facts.contextTokens ?? unknownContext
  const share = Math.min(1, contextTokens / largeContext)
  return {
    contextTokens,
    keepFreeTokens: settings.keepFreeTokens ?? Math.floor(harborKeepFree * share),
    unwindFreeTokens: Math.floor(harborUnwindFree * share),
    // A byte of output is often a quarter of a token, sometimes a whole one.
    observationBytes: Math.min(harborObservationBytes, Math.max(1000, contextTokens)),
  }
}

/** Throws UserError when a first prompt and one reply do not fit into the model's context. */
export function refuseTooLong(firstPrompt: string, settings: Settings, client: ModelClient): void {
  const { contextTokens } = limitsOf(settings, client)
  const asked =
    settings.modelInfo.maxInputTokens === null ? readCallSettings(settings).request.maxOutputTokens : undefined
  const reply = asked ?? replyTokens
  const { tokens } = client.countTokens([{ role: 'user', content: firstPrompt }])
  if (tokens + reply <= contextTokens) return
  throw new UserError(
    `model ${client.model}: the first prompt takes ${tokens} tokens and a reply ${reply}, but its context has only ${contextTokens}`,
    asked === undefined
      ? 'use a model with a larger context, or set its real size with --ak \'model_info={"max_input_tokens": N}\''
      : 'lower max_tokens, or use a model with a larger context',
  )
}
