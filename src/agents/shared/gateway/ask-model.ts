import { BoundaryError, isAbort, messageOf } from '../../../core/errors.ts'
import type { CallOptions, ModelClient, ModelReply, ModelRequest } from '../../../core/model.ts'
import type { RecordedCall } from '../../../formats/atif/recorder/call-recorder.ts'
import type { ServiceAnswer } from '../../../formats/dialect-server/model-service.ts'
import type { ServedCall, ServiceFault } from '../../../formats/dialect-server/server-dialect.ts'

/** The totals of a trial's calls. */
export interface CallCounts {
  readonly calls: number
  readonly succeeded: number
  readonly inputTokens: number
  readonly cacheTokens: number
  readonly outputTokens: number
  /** Null when no call had a known price. */
  readonly costUsd: number | null
  /** The budget that was used up, if any. */
  readonly spentBudget: string | null
  /** The last failure of the model's server; null again once a call succeeded. */
  readonly lastFailure: BoundaryError | null
  /** Failures of the model's server since the last successful call. */
  readonly failuresInARow: number
}

export const noCalls: CallCounts = {
  calls: 0,
  succeeded: 0,
  inputTokens: 0,
  cacheTokens: 0,
  outputTokens: 0,
  costUsd: null,
  spentBudget: null,
  lastFailure: null,
  failuresInARow: 0,
}

export interface Ask {
  readonly client: ModelClient
  readonly tokenDetails: boolean
  readonly signal: AbortSignal
  /** Receives the reply while it is streamed. */
  readonly hearing?: Pick<CallOptions, 'onText' | 'onReasoning'>
  readonly count: (change: (counts: CallCounts) => Partial<CallCounts>) => void
}

/** Passes an agent's request to the model, records the outcome, and returns the agent's answer. */
export async function askModel(
  ask: Ask,
  { request }: ServedCall,
  dialect: string,
  record: RecordedCall,
): Promise<ServiceAnswer> {
  ask.count(({ calls }) => ({ calls: calls + 1 }))
  try {
    const outcome = await ask.client.complete(
      { ...asAsked(ask, request), dialect },
      { signal: ask.signal, ...ask.hearing },
    )
    if (outcome.kind === 'reply') {
      record.reply(outcome.reply)
      ask.count((counts) => withReply(counts, outcome.reply))
      return { kind: 'reply', reply: outcome.reply }
    }
    if (outcome.kind === 'context-exceeded') {
      record.fail('ContextLengthExceededError', outcome.message)
      return { kind: 'fault', fault: { kind: 'context-exceeded', message: outcome.message } }
    }
    const message = `the budget of this run is spent: ${outcome.budget}`
    record.fail('BudgetExceededError', message)
    ask.count(() => ({ spentBudget: outcome.budget }))
    return { kind: 'fault', fault: { kind: 'forbidden', message } }
  } catch (error) {
    return failed(ask, error, record)
  }
}

function failed(ask: Ask, error: unknown, record: RecordedCall): ServiceAnswer {
  if (isAbort(error) || ask.signal.aborted) {
    record.fail('Aborted', 'the agent hung up or ran out of time')
    return { kind: 'hang-up' }
  }
  // A provider's message about a key may quote it, so only the kind of failure is recorded.
  const fault = faultOf(error)
  if (error instanceof BoundaryError) {
    record.fail(error.code, fault.message)
    ask.count(({ failuresInARow }) => ({ lastFailure: error, failuresInARow: failuresInARow + 1 }))
  } else {
    record.fail('ModelError', messageOf(error))
  }
  return { kind: 'fault', fault }
}

/** Agents ask for the largest output they know of; a server refuses more than it supports. */
function asAsked({ client, tokenDetails }: Ask, request: ModelRequest): ModelRequest {
  const { outputTokens } = client.facts
  const { maxOutputTokens } = request
  const isTooMuch = outputTokens !== null && maxOutputTokens !== undefined && maxOutputTokens > outputTokens
  return {
    ...request,
    ...(isTooMuch && { maxOutputTokens: outputTokens }),
    ...(tokenDetails && { tokenDetails: true }),
  }
}

function withReply(counts: CallCounts, { usage, costUsd }: ModelReply): Partial<CallCounts> {
  return {
    succeeded: counts.succeeded + 1,
    inputTokens: counts.inputTokens + usage.inputTokens,
    cacheTokens: counts.cacheTokens + usage.cacheTokens,
    outputTokens: counts.outputTokens + usage.outputTokens,
    costUsd: costUsd === null ? counts.costUsd : (counts.costUsd ?? 0) + costUsd,
    lastFailure: null,
    failuresInARow: 0,
  }
}

/**
 * A failed call as reported to the agent. The provider's message about the key is not passed on: it may quote the key,
 * and a 401 would make the agent look for another one.
 */
function faultOf(error: unknown): ServiceFault {
  const message = messageOf(error)
  const code = error instanceof BoundaryError ? error.code : ''
  switch (code) {
    case 'AuthenticationError':
    case 'PermissionDeniedError':
      return { kind: 'server', status: 502, message: "the model's server does not let this run in" }
    case 'RateLimitError':
      return { kind: 'rate-limit', message }
    case 'ModelNotFoundError':
      return { kind: 'not-found', message }
    case 'BadRequestError':
      return { kind: 'invalid-request', message }
    case 'ApiTimeoutError':
      return { kind: 'timeout', message }
    case 'ApiConnectionError':
      return { kind: 'overloaded', message: "the model's server cannot be reached" }
    case 'MalformedReplyError':
      return { kind: 'server', status: 502, message }
    case 'InternalServerError':
      return { kind: 'server', message }
    default:
      return { kind: 'server', message: 'the model could not be asked' }
  }
}
