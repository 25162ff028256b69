import { z } from 'zod'
import type { AdaptiveConcurrency } from '../core/concurrency.ts'
import { parseStrict } from './strict-config.ts'

const count = z.number().int().positive()

const schema = z.strictObject({
  enabled: z.boolean().default(false),
  algorithm: z.literal('gradient2').default('gradient2'),
  min_limit: count.default(1),
  max_limit: count.default(256),
  metrics_endpoint: z.url({ protocol: /^https?$/ }).nullish(),
  metrics_timeout_sec: z.number().positive().default(10),
  poll_interval_sec: z.number().positive().default(120),
  window_size: count.default(5),
  queue_p95_drop_threshold: z.number().nonnegative().nullish(),
  algorithm_kwargs: z
    .strictObject({
      tolerance: z.number().min(1).default(1.5),
      smoothing: z.number().positive().max(1).default(0.5),
      queue_size: z.number().nonnegative().nullish(),
      long_window: count.default(100),
    })
    .prefault({}),
})

/** Reads a job file's `adaptive_concurrency`; null if it is off. `path` names the file in messages. */
export function parseAdaptiveConcurrency(document: unknown, path: string): AdaptiveConcurrency | null {
  const checked = schema.refine((value) => value.min_limit <= value.max_limit, {
    message: 'min_limit must not be above max_limit',
    path: ['min_limit'],
  })
  const read = parseStrict(checked, document, path, 'correct adaptive_concurrency')
  if (!read.enabled) return null
  const { tolerance, smoothing, queue_size, long_window } = read.algorithm_kwargs
  return {
    minLimit: read.min_limit,
    maxLimit: read.max_limit,
    metricsUrls: read.metrics_endpoint ? [read.metrics_endpoint] : [],
    metricsTimeoutSec: read.metrics_timeout_sec,
    pollIntervalSec: read.poll_interval_sec,
    windowSize: read.window_size,
    queueP95DropThreshold: read.queue_p95_drop_threshold ?? null,
    tolerance,
    smoothing,
    queueSize: queue_size ?? null,
    longWindow: long_window,
  }
}
