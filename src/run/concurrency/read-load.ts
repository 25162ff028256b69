import { type MetricSample, parseMetrics } from '../../lib/prometheus.ts'
import type { LoadSample } from './decide-limit.ts'

/** What servers call the same three things: vLLM, SGLang, llama.cpp. */
const runningNames = ['vllm:num_requests_running', 'sglang:num_running_reqs', 'llamacpp:requests_processing']
const waitingNames = ['vllm:num_requests_waiting', 'sglang:num_queue_reqs', 'llamacpp:requests_deferred']
const cacheNames = [
  'vllm:kv_cache_usage_perc',
  'vllm:gpu_cache_usage_perc',
  'sglang:token_usage',
  'llamacpp:kv_cache_usage_ratio',
]

export type Load = LoadSample & { readonly kind: 'load' }

/** The load of several servers as if they were one: added up, and the fullest cache counted; null for none. */
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

/** The load a page of metrics tells of, replicas added up and the fullest cache counted; null when it tells of none. */
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
