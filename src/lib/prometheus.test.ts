import { expect, test } from 'vitest'
import { parseMetrics } from './prometheus.ts'

test('names, labels and numbers are read, comments and nonsense are skipped', () => {
  const page = `# HELP vllm:num_requests_running Number of requests.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a \\"quoted\\", {braced}\\\\"} 3.0
plain 1e-3 1700000000000
infinite_bucket{le="+Inf"} +Inf
not a metric line
broken{x="y"} abc
nan NaN
`
  expect(parseMetrics(page)).toEqual([
    { name: 'vllm:num_requests_running', labels: { engine: '0', model_name: 'a "quoted", {braced}\\' }, value: 3 },
    { name: 'plain', labels: {}, value: 0.001 },
    { name: 'infinite_bucket', labels: { le: '+Inf' }, value: Number.POSITIVE_INFINITY },
  ])
})
