import { BoundaryError, messageOf, UserError } from '../core/errors.ts'
import type { Engine, ModelClient, ModelOutcome } from '../core/model.ts'
import type { ModelService, ServiceAnswer } from '../formats/dialect-server/model-service.ts'
import type { FaultKind, ServedCall } from '../formats/dialect-server/server-dialect.ts'
import type { ServedModel } from '../formats/model-dialect.ts'

/** The service an engine runs itself, or null if the engine only forwards to a server. */
export function ownService(engine: Engine): ModelService | null {
  return 'service' in engine && isService(engine.service) ? engine.service : null
}

/** A service that forwards calls to the server behind an engine. */
export function passOn(engine: Engine, model: string): ModelService {
  return new EngineService(engine, model)
}

function isService(value: unknown): value is ModelService {
  return typeof value === 'object' && value !== null && 'answer' in value && 'models' in value && 'load' in value
}

/** Forwards calls to a model served elsewhere, under the single name this server was started with. */
class EngineService implements ModelService {
  private readonly client: ModelClient
  private running = 0

  constructor(
    private readonly engine: Engine,
    private readonly model: string,
  ) {
    this.client = engine.client(model)
  }

  async prepare(): Promise<void> {
    const health = await this.engine.health(new AbortController().signal)
    if (!health.healthy) throw new UserError(`model ${this.model}: ${health.reason}`, 'check the engine and the model')
  }

  async models(): Promise<readonly ServedModel[]> {
    const { contextTokens, outputTokens } = this.client.facts
    return [{ id: this.model, contextTokens, outputTokens }]
  }

  load() {
    return { running: this.running, waiting: 0, cacheUse: 0 }
  }

  async answer({ model, request }: ServedCall, signal: AbortSignal): Promise<ServiceAnswer> {
    if (model !== this.model) return fault('not-found', `the model ${model} is not served here; ${this.model} is`)
    this.running++
    try {
      return answerOf(await this.client.complete(request, { signal }))
    } catch (error) {
      if (!(error instanceof BoundaryError)) throw error
      return fault(faultKinds[error.code] ?? 'server', messageOf(error))
    } finally {
      this.running--
    }
  }
}

function answerOf(outcome: ModelOutcome): ServiceAnswer {
  switch (outcome.kind) {
    case 'reply':
      return outcome
    case 'context-exceeded':
      return fault('context-exceeded', outcome.message)
    case 'budget-exceeded':
      return fault('forbidden', `the budget of ${outcome.budget} is used up`)
  }
}

function fault(kind: FaultKind, message: string): ServiceAnswer {
  return { kind: 'fault', fault: { kind, message } }
}

/** If the upstream server refuses our key, that is not the caller's fault. */
const faultKinds: Readonly<Record<string, FaultKind>> = {
  AuthenticationError: 'server',
  PermissionDeniedError: 'server',
  ModelNotFoundError: 'not-found',
  BadRequestError: 'invalid-request',
  RateLimitError: 'rate-limit',
  ApiTimeoutError: 'timeout',
  ApiConnectionError: 'overloaded',
}
