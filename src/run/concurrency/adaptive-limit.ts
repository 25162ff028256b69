import type { AdaptiveConcurrency } from '../../core/concurrency.ts'
import { sleep } from '../../lib/deadline.ts'
import { type HttpClient, HttpFailure } from '../../lib/http-client.ts'
import { type MetricSample, parseMetrics } from '../../lib/prometheus.ts'
import { decideLimit, type LoadSample, startLimit } from './decide-limit.ts'

export interface AdaptiveLimit {
  /** How many may run at once now. */
  readonly limit: number
  /** Reports a reply; used only if the server has no metrics. */
  observe(latencyMs: number, outputTokens: number): void
  /** Polls the server now and after every interval until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>
}

export interface AdaptiveLimitParts {
  readonly settings: AdaptiveConcurrency
  readonly start: number
  readonly http: HttpClient
  readonly inFlight: () => number
  readonly onLimit: (limit: number) => void
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

/** No metrics page is longer. */
const maxPageBytes = 16 * 1024 * 1024

/** How many replies are remembered between two polls at most. */
const maxReplies = 4096

export function makeAdaptiveLimit({
  settings,
  start,
  http,
  inFlight,
  onLimit,
  wait = sleep,
}: AdaptiveLimitParts): AdaptiveLimit {
  let state = startLimit(start, settings)
  let msPerToken: number[] = []
  const limit = () => Math.floor(state.limit)
  const latency = (): LoadSample | null => {
    const sorted = msPerToken.sort((a, b) => a - b)
    msPerToken = []
    const median = sorted[sorted.length >> 1]
    return median === undefined ? null : { kind: 'latency', msPerToken: median }
  }
  const look = async (signal: AbortSignal) => {
    const { metricsUrls, metricsTimeoutSec } = settings
    const loads = await Promise.all(metricsUrls.map((url) => fetchLoad(http, url, metricsTimeoutSec, signal)))
    const load = sumLoads(loads.filter((each) => each !== null))
    const before = limit()
    state = decideLimit(state, load ?? latency(), inFlight(), settings)
    if (limit() !== before) onLimit(limit())
  }
  return {
    get limit() {
      return limit()
    },
    observe(latencyMs, outputTokens) {
      if (msPerToken.length < maxReplies) msPerToken.push(latencyMs / Math.max(1, outputTokens))
    },
    async run(signal) {
      while (!signal.aborted) {
        await look(signal).catch((error: unknown) => {
          if (!signal.aborted) throw error
        })
        await wait(settings.pollIntervalSec * 1000, signal).catch(() => {})
      }
    },
  }
}

/** A metrics page that cannot be fetched is no reason to change anything. */
async function fetchLoad(http: HttpClient, url: string, timeoutSec: number, signal: AbortSignal): Promise<Load | null> {
  try {
    const call = {
      method: 'GET' as const,
      url,
      headers: {},
      timeoutMs: timeoutSec * 1000,
      limitBytes: maxPageBytes,
      signal,
    }
    const answer = await http.send(call)
    return answer.status === 200 ? readLoad(answer.body.toString('utf8')) : null
  } catch (error) {
    if (error instanceof HttpFailure) return null
    throw error
  }
}

/** Names of the same three metrics in vLLM, SGLang and llama.cpp. */
const runningNames = ['vllm:num_requests_running', 'sglang:num_running_reqs', 'llamacpp:requests_processing']
const waitingNames = ['vllm:num_requests_waiting', 'sglang:num_queue_reqs', 'llamacpp:requests_deferred']
const cacheNames = [
  'vllm:kv_cache_usage_perc',
  'vllm:gpu_cache_usage_perc',
  'sglang:token_usage',
  'llamacpp:kv_cache_usage_ratio',
]

type Load = LoadSample & { readonly kind: 'load' }

/** Combines the load of several servers: requests are added up, and the fullest cache counts; null for no servers. */
export function sumLoads(loads: readonly Load[]): Load | null {
  if (loads.length === 0) return null
  const cache = loads.map(({ cacheUse }) => cacheUse).filter((use) => use !== null)
  return {
    kind: 'load',
    running: sum(loads.map(({ running }) => running)),
    waiting: sum(loads.map(({ waiting }) => waiting)),
    cacheUse: cache.length === 0 ? null : Math.max(...cache),
  }
}

/** The load reported by a metrics page, with replicas added up and the fullest cache taken; null if it reports none. */
export function readLoad(page: string): Load | null {
  const samples = parseMetrics(page)
  const running = valuesOf(samples, runningNames)
  if (running.length === 0) return null
  const cache = valuesOf(samples, cacheNames)
  return {
    kind: 'load',
    running: sum(running),
    waiting: sum(valuesOf(samples, waitingNames)),
    cacheUse: cache.length === 0 ? null : Math.max(...cache),
  }
}

function valuesOf(samples: readonly MetricSample[], names: readonly string[]): number[] {
  return samples.filter(({ name, value }) => names.includes(name) && Number.isFinite(value)).map(({ value }) => value)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
