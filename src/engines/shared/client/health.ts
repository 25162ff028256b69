import type { ServedModel } from '../../../formats/model-dialect.ts'
import { judgeFault, type ModelErrorCode, readFault } from '../../../formats/model-fault.ts'
import { sleep } from '../../../lib/deadline.ts'
import { HttpFailure } from '../../../lib/http-client.ts'
import { nearest } from '../../../lib/nearest.ts'
import { parseJson } from '../../../lib/parse-json.ts'
import { SharedWork } from '../../../lib/shared-work.ts'
import { exchange, type Wire } from './exchange.ts'
import { nameOnServer } from './model-name.ts'

export interface HealthSettings {
  /** Before a call, a check older than this is repeated; 0: never. */
  readonly intervalMs: number
  readonly maxAttempts: number
  readonly retryDelayMs: number
  readonly ownPrefixes: readonly string[]
}

export type Checked = { readonly kind: 'healthy'; readonly served: readonly ServedModel[] } | Unhealthy

interface Unhealthy {
  readonly kind: 'unhealthy'
  readonly code: ModelErrorCode
  readonly reason: string
  readonly retryable: boolean
  /** The server is up but does not list its models; it may still answer. */
  readonly isUnlisted?: boolean
}

export interface HealthCheck {
  /** Tries at most `attempts` times, or as many as the settings say. A null model accepts any. */
  check(model: string | null, signal: AbortSignal, attempts?: number): Promise<Checked>
  /** Like `check`, unless a good answer is still fresh. */
  checkIfStale(model: string, signal: AbortSignal, attempts?: number): Promise<Checked>
  /** The result of the last good check; null before the first one. */
  served(model: string): readonly ServedModel[] | null
}

const patienceMs = 10_000
/** The first request may make the server load the model. */
const wordPatienceMs = 120_000
const maxListBytes = 8 * 1024 * 1024

/** Tracks whether a server is up and really serves a model. Concurrent callers share one check. */
export function makeHealthCheck(
  wire: Wire,
  settings: HealthSettings,
  now: () => number = () => performance.now(),
): HealthCheck {
  const shared = new SharedWork<Checked>()
  const good = new Map<string, { readonly at: number; readonly served: readonly ServedModel[] }>()
  const check = (model: string | null, signal: AbortSignal, maxAttempts = settings.maxAttempts) =>
    shared.run(`${maxAttempts} ${model ?? ''}`, signal, async (inner) => {
      const checked = await askUntilClear(wire, model, { ...settings, maxAttempts }, inner)
      if (checked.kind === 'healthy') good.set(model ?? '', { at: now(), served: checked.served })
      return checked
    })
  return {
    check,
    async checkIfStale(model, signal, attempts) {
      const last = good.get(model)
      const isFresh = settings.intervalMs === 0 || (last && now() - last.at < settings.intervalMs)
      return isFresh ? { kind: 'healthy', served: last?.served ?? [] } : check(model, signal, attempts)
    },
    served: (model) => good.get(model)?.served ?? null,
  }
}

async function askUntilClear(
  wire: Wire,
  model: string | null,
  settings: HealthSettings,
  signal: AbortSignal,
): Promise<Checked> {
  for (let attempt = 1; ; attempt++) {
    const checked = await ask(wire, model, settings, signal)
    if (checked.kind === 'healthy' || !checked.retryable) return checked
    if (attempt >= settings.maxAttempts) {
      return attempt === 1 ? checked : { ...checked, reason: `${checked.reason} (asked ${attempt} times)` }
    }
    await sleep(settings.retryDelayMs, signal)
  }
}

async function ask(
  wire: Wire,
  model: string | null,
  { ownPrefixes }: HealthSettings,
  signal: AbortSignal,
): Promise<Checked> {
  const { dialect } = wire
  const name = nameOnServer(model ?? '', null, ownPrefixes)
  const onePath = model === null ? null : dialect.modelPath(name)
  if (onePath !== null) {
    const one = await get(wire, onePath, signal)
    if (one.kind === 'healthy' || !one.isUnlisted) return one
  }
  const listed = await get(wire, dialect.modelsPath, signal)
  if (model === null) return listed
  if (listed.kind === 'unhealthy') return listed.isUnlisted ? askForWord(wire, name, listed, signal) : listed
  const wanted = nameOnServer(model, listed.served, ownPrefixes)
  if (listed.served.some(({ id }) => id === wanted)) return listed
  const missing = notServed(wire, wanted, listed.served)
  return listed.served.length === 0 ? askForWord(wire, wanted, missing, signal) : missing
}

/** Statuses of servers that cannot list their models. A server that is still loading answers 503 and is waited for. */
const unlistedStatuses = [404, 405, 500, 501]

/** Requests a single token under the given name; the result of listing is reported only if that fails too. */
async function askForWord(wire: Wire, model: string, listed: Unhealthy, signal: AbortSignal): Promise<Checked> {
  const request = { messages: [{ role: 'user', content: 'Hello' }], maxOutputTokens: 1 } as const
  const quirks = { maxTokensField: 'max_tokens', dropped: [] } as const
  const body = wire.dialect.render(model, request, { stream: false, quirks, defaultOutputTokens: 1 })
  const asked = { model, body, request, stream: false, timeoutMs: wordPatienceMs, signal, onText: () => {} }
  const went = await exchange(wire, asked)
  if (went.kind === 'reply')
    return { kind: 'healthy', served: [{ id: model, contextTokens: null, outputTokens: null }] }
  return { ...listed, reason: `${listed.reason}; a short test request failed too: ${wire.hide(went.message)}` }
}

function notServed(wire: Wire, model: string, served: readonly ServedModel[]): Unhealthy {
  const ids = served.map(({ id }) => id)
  const meant = nearest(model, ids)
  const shown = meant === null || ids.length <= 10 ? ids.slice(0, 10) : [meant]
  const list = shown.length === 0 ? 'nothing' : shown.join(', ') + (ids.length > shown.length ? ', ...' : '')
  const reason = `${wire.base} does not serve ${model}; it serves ${list}`
  return { kind: 'unhealthy', code: 'ModelNotFoundError', reason, retryable: false }
}

async function get(wire: Wire, path: string, signal: AbortSignal): Promise<Checked> {
  const url = wire.base + path
  try {
    const { headers } = wire
    const answer = await wire.http.send({
      method: 'GET',
      url,
      headers,
      timeoutMs: patienceMs,
      limitBytes: maxListBytes,
      signal,
    })
    const text = answer.body.toString('utf8')
    if (answer.status >= 300) return refused(wire, url, answer.status, wire.hide(text))
    const served = wire.dialect.parseModels(parseJson(text))
    if (served) return { kind: 'healthy', served }
    return {
      kind: 'unhealthy',
      code: 'MalformedReplyError',
      reason: `${url} answers, but not with a list of models`,
      retryable: false,
    }
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error
    return {
      kind: 'unhealthy',
      code: 'ApiConnectionError',
      reason: `no model server answers at ${url}: ${error.message}`,
      retryable: true,
    }
  }
}

function refused({ dialect }: Wire, url: string, status: number, text: string): Checked {
  const verdict = judgeFault(readFault(status, text))
  const hint = status === 404 ? '; check whether the address needs /v1' : ''
  const { code, retryable } =
    verdict.kind === 'error' ? verdict : { code: 'BadRequestError' as const, retryable: false }
  const isUnlisted = unlistedStatuses.includes(status) || (status === 403 && dialect.isListPrivate === true)
  return { kind: 'unhealthy', code, reason: `${url}: ${verdict.message}${hint}`, retryable, isUnlisted }
}
