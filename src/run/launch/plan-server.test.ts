import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { awaitRay } from './plan-server.ts'

/** Runs the wait for two nodes against a fake `ray` that prints one text after the other, without really sleeping. */
function waitFor(texts: readonly string[], untilSec = 600) {
  const dir = mkdtempSync(join(tmpdir(), 'ray-'))
  for (const [i, text] of texts.entries()) writeFileSync(join(dir, `said-${i}`), text)
  const ray = `#!/bin/bash\n[ "$*" = status ] || exit 2\nn=$(ls ${dir} | grep -c asked)\ntouch ${dir}/asked-$n\ncat ${dir}/said-$n\n`
  writeFileSync(join(dir, 'ray'), ray)
  chmodSync(join(dir, 'ray'), 0o755)
  const frame = ['set -euo pipefail', 'note() { echo "$*" >&2; }', 'pause() { :; }']
  const lines = awaitRay.map((line) => line.replace('SECONDS + 600', `SECONDS + ${untilSec}`))
  const script = [...frame, ...lines, 'await_ray 2', 'echo up'].join('\n')
  return spawnSync('bash', ['-c', script], {
    env: { ...process.env, PATH: `${dir}:${process.env.PATH}` },
    encoding: 'utf8',
  })
}

/** The `ray status` of Ray 2.57.0 for a head node with one CPU and four GPUs, alone and with another node. */
const said = (...nodes: string[]) => `======== Autoscaler status: 2026-11-15 22:59:17.108522 ========
Node status
---------------------------------------------------------------
${nodes.join('\n')}
Pending:
 (no pending nodes)
Recent failures:
 (no failures)

Resources
---------------------------------------------------------------
Total Usage:
 0.0/1.0 CPU
 0.0/4.0 GPU
 0B/21.21GiB memory
 0B/95.37MiB object_store_memory

From request_resources:
 (none)
Pending Demands:
 (no resource demands)
`
const [head, other] = [
  ' 1 node_a94644e19cfd62e4b5a33b1f6bd83e5fdef5c307cfeb4134e6b65743',
  ' 1 node_84e4603167444cd8a38e3872e030daa04a99871905368b660cded594',
]
const nothing = 'ray.exceptions.RpcError: Timed out while waiting for GCS to become available.\n'

test('a cluster is up when ray status counts its nodes', () => {
  const texts = [nothing, said('Active:', head), said('Active:', head, other)]
  expect(waitFor(texts)).toMatchObject({ status: 0, stdout: 'up\n', stderr: '' })
})

test('idle nodes count, as newer autoscalers list them, and healthy ones, as older ones did', () => {
  const idle = said('Active:', ' (no active nodes)', 'Idle:', head, other)
  for (const text of [idle, said('Active:', head, 'Idle:', other), said('Healthy:', ' 2 worker')])
    expect(waitFor([text])).toMatchObject({ status: 0, stdout: 'up\n' })
})

test('a cluster that does not come up ends the job with what ray status said', () => {
  const { status: code, stderr, stdout } = waitFor([nothing], 0)
  expect({ code, stdout }).toEqual({ code: 69, stdout: '' })
  expect(stderr).toMatch(/Ray has 0 of 2 nodes .*ray status says:\nray.exceptions.RpcError: Timed out/)
  expect(waitFor([said('Active:', head)], 0).stderr).toContain('Ray has 1 of 2 nodes')
})
