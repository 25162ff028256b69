import { setMaxListeners } from 'node:events'
import { join } from 'node:path'
import type { Account } from '../../../core/budget.ts'
import { UserError } from '../../../core/errors.ts'
import type { Engine, Health, ModelClient } from '../../../core/model.ts'
import type { PluginContext } from '../../../core/plugin.ts'
import type { Dialect, Quirks } from '../../../formats/model-dialect.ts'
import { expired, msUntil, withDeadline } from '../../../lib/deadline.ts'
import { type HttpClient, makeHttpClient } from '../../../lib/http-client.ts'
import { Call, type Conversation } from './call.ts'
import { makeTokenCounter } from './count-tokens.ts'
import { type Checked, makeHealthCheck } from './health.ts'
import { nameOnServer } from './model-name.ts'
import { factsOf, type ServerOptions } from './options.ts'
import { makeRateLimit } from './rate-limit.ts'
import { type Replica, Replicas } from './replicas.ts'
import { parseRequestParams, withDefaults } from './request-params.ts'
import { makeResponseCache } from './response-cache.ts'
import { knownFacts, type Server, servedBy } from './server.ts'

/** What distinguishes one engine from another. */
export interface EngineTraits {
  readonly name: string
  readonly dialect: Dialect
  /** Several addresses serve the same model and share the calls. */
  readonly apiBases: readonly [string, ...string[]]
  readonly apiKey: string | null
  /** Prefixes of model names that refer to this engine: `anthropic/`. */
  readonly ownPrefixes: readonly string[]
  readonly maxTokensField: Quirks['maxTokensField']
  /** How long after its last check a server is checked again before a call; 0: never. */
  readonly healthcheckIntervalSec: number
  readonly metricsUrls: readonly string[]
  /** Set when the server is reached in a special way. */
  readonly http?: HttpClient
}

/** Makes an engine that talks to a server over HTTP. Sends nothing until it is used. */
export function makeEngine(traits: EngineTraits, options: ServerOptions, context: PluginContext): Engine {
  const server = makeServer(traits, options, context)
  const { model = null } = options
  const { all } = server.replicas
  return {
    name: traits.name,
    get endpoint() {
      return {
        baseUrls: all.map(({ wire }) => wire.base),
        modelName: model === null ? null : nameOnServer(model, servedBy(server.replicas, model), traits.ownPrefixes),
        apiKey: traits.apiKey,
        metricsUrls: traits.metricsUrls,
      }
    },
    health: async (signal) => healthOf(await Promise.all(all.map(({ health }) => health.check(model, signal)))),
    client: (name, account) => makeClient(server, name, account ?? null),
  }
}

/** One that answers is enough to work with. */
function healthOf(checks: readonly Checked[]): Health {
  const down = checks.filter((checked) => checked.kind === 'unhealthy')
  const [served] = checks.filter((checked) => checked.kind === 'healthy').map((checked) => checked.served)
  const reason = down.map((checked) => checked.reason).join('; ')
  const retryable = down.some((checked) => checked.retryable)
  if (served === undefined) return { healthy: false, reason, retryable, ...(down[0] && { code: down[0].code }) }
  return { healthy: true, models: served.map(({ id }) => id), ...(down.length > 0 && { down: reason }) }
}

function makeReplica(traits: EngineTraits, options: ServerOptions, http: HttpClient, address: string): Replica {
  const { dialect, apiKey, ownPrefixes } = traits
  const wire = {
    http,
    dialect,
    base: dialect.base(address),
    headers: { ...dialect.headers(apiKey), ...options.headers },
    hide: (text: string) => (isSecret(apiKey) ? text.replaceAll(apiKey, '****') : text),
  }
  const intervalSec = options.healthcheck_interval ?? traits.healthcheckIntervalSec
  const health = makeHealthCheck(wire, {
    intervalMs: intervalSec * 1000,
    maxAttempts: options.healthcheck_max_attempts,
    retryDelayMs: options.healthcheck_retry_delay * 1000,
    ownPrefixes,
  })
  return { wire, health }
}

function makeServer(traits: EngineTraits, options: ServerOptions, { env, stateDir }: PluginContext): Server {
  const { dialect, ownPrefixes } = traits
  const http = traits.http ?? makeHttpClient(env)
  const [first, ...others] = traits.apiBases
  const make = (address: string) => makeReplica(traits, options, http, address)
  const { cache } = options
  return {
    dialect,
    replicas: new Replicas([make(first), ...others.map(make)]),
    rateLimit: makeRateLimit(options.rpm ?? null, options.tpm ?? null),
    retry: {
      maxAttempts: options.max_attempts,
      minWaitMs: options.min_wait_sec * 1000,
      maxWaitMs: options.max_wait_sec * 1000,
    },
    cache: cache ? makeResponseCache(cache.dir ?? join(stateDir, 'responses'), cache.ttl_sec ?? null) : null,
    facts: factsOf(options.model_info),
    defaults: parseRequestParams(traits.name, options.request_params),
    stream: options.stream,
    requestTimeoutMs: options.request_timeout_sec * 1000,
    ownPrefixes,
    firstQuirks: { maxTokensField: traits.maxTokensField, dropped: [] },
    quirks: new Map(),
  }
}

/**
 * A placeholder such as `x`, for servers that want some key, is not a secret; hiding it would mask every such letter.
 */
function isSecret(apiKey: string | null): apiKey is string {
  return apiKey !== null && apiKey.length >= 6
}

/** Makes a client for one model of a server; the account pays for its calls. */
function makeClient(server: Server, model: string, account: Account | null): ModelClient {
  const { inputUsdPerToken, outputUsdPerToken } = server.facts
  if (account?.needsPrices && (inputUsdPerToken === null || outputUsdPerToken === null)) {
    throw new UserError(
      `model ${model}: a budget in USD needs the model's prices, found none`,
      'give model_info with input_cost_per_token and output_cost_per_token, or limit tokens or requests instead',
    )
  }
  const counter = makeTokenCounter()
  const conversation: Conversation = { replica: null, calls: 0 }
  const caller = { server, model, account, counter, conversation }
  return {
    model,
    get facts() {
      return knownFacts(server, model)
    },
    countTokens: counter.count,
    async complete(request, { timeoutSec = null, deadline, signal = new AbortController().signal, ...hearing } = {}) {
      // One signal may stop a thousand calls.
      setMaxListeners(0, signal)
      const leftMs = deadline ? msUntil(deadline) : Number.POSITIVE_INFINITY
      const waitsUntil = performance.now() + Math.min(leftMs, (timeoutSec ?? Number.POSITIVE_INFINITY) * 1000)
      const call = new Call(caller, withDefaults(request, server.defaults), waitsUntil, hearing)
      conversation.calls++
      const outcome = await withDeadline(timeoutSec, signal, (inner) => call.run(inner)).finally(() => {
        conversation.calls--
      })
      if (outcome !== expired) return outcome
      throw call.failure('ApiTimeoutError', `no reply within ${timeoutSec} s`, true)
    },
  }
}
