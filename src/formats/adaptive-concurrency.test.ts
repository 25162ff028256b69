import { expect, test } from 'vitest'
import { parseAdaptiveConcurrency } from './adaptive-concurrency.ts'

test('settings of a job file are read, with defaults', () => {
  const settings = parseAdaptiveConcurrency(
    {
      enabled: true,
      algorithm: 'gradient2',
      min_limit: 8,
      max_limit: 128,
      metrics_endpoint: 'http://node:8000/metrics',
      poll_interval_sec: 60,
      queue_p95_drop_threshold: 16,
      algorithm_kwargs: { smoothing: 0.3 },
    },
    'job.yaml',
  )
  expect(settings).toEqual({
    minLimit: 8,
    maxLimit: 128,
    metricsUrls: ['http://node:8000/metrics'],
    metricsTimeoutSec: 10,
    pollIntervalSec: 60,
    windowSize: 5,
    queueP95DropThreshold: 16,
    tolerance: 1.5,
    smoothing: 0.3,
    queueSize: null,
    longWindow: 100,
  })
})

test('switched off is nothing', () => {
  expect(parseAdaptiveConcurrency({}, 'job.yaml')).toBeNull()
  expect(parseAdaptiveConcurrency({ enabled: false, max_limit: 5 }, 'job.yaml')).toBeNull()
})

test.each([
  [{ enabled: true, algorithm: 'vegas' }, /algorithm: expected one of gradient2, got "vegas"/],
  [{ enabled: true, min_limit: 9, max_limit: 3 }, /min_limit/],
  [{ enabled: true, windowsize: 3 }, /windowsize is not a known key/],
  [{ enabled: true, algorithm_kwargs: { tolerence: 2 } }, /algorithm_kwargs.tolerence/],
  [{ enabled: true, metrics_endpoint: 'node:8000' }, /metrics_endpoint/],
])('%j is refused', (document, message) => {
  expect(() => parseAdaptiveConcurrency(document, 'job.yaml')).toThrow(message)
})
