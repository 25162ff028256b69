import type { ModelFacts, ModelRequest } from '../../../core/model.ts'
import type { Dialect, Quirks, ServedModel } from '../../../formats/model-dialect.ts'
import { nameOnServer } from './model-name.ts'
import type { RateLimit } from './rate-limit.ts'
import type { Replicas } from './replicas.ts'
import type { ResponseCache } from './response-cache.ts'
import type { RetrySettings } from './retry.ts'

/** What all clients of one engine share. */
export interface Server {
  readonly dialect: Dialect
  /** All serve the same model. */
  readonly replicas: Replicas
  readonly rateLimit: RateLimit
  readonly retry: RetrySettings
  readonly cache: ResponseCache | null
  /** What the user knows about the model. */
  readonly facts: ModelFacts
  /** Defaults for what a request leaves open. */
  readonly defaults: Omit<ModelRequest, 'messages'>
  readonly stream: boolean
  readonly requestTimeoutMs: number
  readonly ownPrefixes: readonly string[]
  readonly firstQuirks: Quirks
  /** Discovered while talking to each model, and kept so that it is discovered only once. */
  readonly quirks: Map<string, Quirks>
}

/** What the user said about a model, completed by what the server reports. */
export function knownFacts({ facts, replicas, ownPrefixes }: Server, model: string): ModelFacts {
  const served = servedBy(replicas, model) ?? []
  const name = nameOnServer(model, served, ownPrefixes)
  const said = served.find(({ id }) => id === name)
  return {
    ...facts,
    contextTokens: facts.contextTokens ?? said?.contextTokens ?? null,
    outputTokens: facts.outputTokens ?? said?.outputTokens ?? null,
  }
}

/** The result of any replica's last good check; null before the first one. */
export function servedBy({ all }: Replicas, model: string): readonly ServedModel[] | null {
  return all.map(({ health }) => health.served(model)).find((served) => served !== null) ?? null
}
