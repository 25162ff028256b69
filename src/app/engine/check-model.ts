import { BoundaryError, UserError } from '../../core/errors.ts'
import type { Engine, ModelOutcome } from '../../core/model.ts'
import { oneLine } from '../../lib/visible.ts'

/** One thing that was checked. */
export interface Check {
  readonly name: 'connection' | 'completion' | 'task'
  readonly ok: boolean
  /** The finding in one line, for people. */
  readonly says: string
  /**
   * Who must act on a failure: a wrong name or key is a user error, a server that is down an infrastructure failure.
   */
  readonly blame: 'user' | 'world'
  readonly details: Readonly<Record<string, unknown>>
}

/** Checks that the server is up and lists what it serves. */
export async function checkConnection(engine: Engine, signal: AbortSignal): Promise<Check> {
  const name = 'connection'
  const health = await engine.health(signal)
  const where = engine.endpoint?.baseUrls.join(', ') ?? engine.name
  if (!health.healthy) return { name, ok: false, says: health.reason, blame: blameOf(health.code), details: {} }
  const { models = [], down } = health
  const says = `connected to ${where}${down === undefined ? '' : `, but some do not answer: ${down}`}`
  return { name, ok: true, says, blame: 'world', details: { models } }
}

/** Sends the model a short prompt: the smallest call that shows that real ones would work. */
export async function checkCompletion(engine: Engine, model: string, signal: AbortSignal): Promise<Check> {
  const name = 'completion'
  try {
    const messages = [{ role: 'user', content: 'Say hello in one word.' }] as const
    const outcome = await engine.client(model).complete({ messages, maxOutputTokens: 50 }, { signal, timeoutSec: 120 })
    const ok = outcome.kind === 'reply'
    return { name, ok, says: `${model} ${saidBy(outcome)}`, blame: 'user', details: detailsOf(outcome) }
  } catch (error) {
    if (error instanceof UserError) {
      return { name, ok: false, says: `${error.message}; ${error.hint}`, blame: 'user', details: {} }
    }
    if (!(error instanceof BoundaryError)) throw error
    return { name, ok: false, says: error.message, blame: blameOf(error.code), details: { code: error.code } }
  }
}

function saidBy(outcome: ModelOutcome): string {
  if (outcome.kind === 'context-exceeded') return `has no room in its context for a few words: ${outcome.message}`
  if (outcome.kind === 'budget-exceeded') return `was not asked: the budget of ${outcome.budget} is used up`
  const { text, reasoning, usage, latencyMs } = outcome.reply
  const words = oneLine(text || reasoning || '').slice(0, 60)
  return `answers ${JSON.stringify(words)} (${usage.inputTokens} tokens in, ${usage.outputTokens} out, ${(latencyMs / 1000).toFixed(2)} s)`
}

function detailsOf(outcome: ModelOutcome): Check['details'] {
  if (outcome.kind !== 'reply') return { outcome: outcome.kind }
  const { text, usage, finish, latencyMs } = outcome.reply
  return { text, usage, finish, latencyMs }
}

const usersCodes = ['AuthenticationError', 'PermissionDeniedError', 'ModelNotFoundError', 'BadRequestError']

function blameOf(code: string | undefined): Check['blame'] {
  return code !== undefined && usersCodes.includes(code) ? 'user' : 'world'
}
