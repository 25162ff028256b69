import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import scripted from '../../src/engines/scripted/index.ts'
import { serveModel } from '../../src/server/serve-model.ts'
import { scratch, stateDir } from './kit.ts'

const program = resolve('bin/ot-agent.js')

async function sweep(...argv: string[]) {
  const child = spawn(process.execPath, [program, 'serve', 'sweep', ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { status, stdout, stderr }
}

test('a server is started for each setting, measured and stopped; one that does not start is reported', async () => {
  const dir = join(scratch, 'sweep')
  mkdirSync(dir, { recursive: true })
  const command = [process.execPath, program, 'serve', '--engine', 'scripted', '-m', 'stand-in', '--quiet']
  const file = {
    engine: { type: 'vllm_local', model: 'stand-in', vllm_local: { endpoint_json: join(dir, 'unused.json') } },
    backend: { type: 'vllm', healthcheck_max_attempts: 200, healthcheck_retry_delay: 0.2 },
    vllm_server: { command, model_path: 'stand-in' },
  }
  writeFileSync(join(dir, 'engine.json'), JSON.stringify(file))
  const vary = 'extra_args=["--engine-kwarg latency_ms=1", "--no-such-option"]'
  const load = ['--concurrency', '1,2', '--requests', '4', '--max-output-tokens', '16', '--prompt-tokens', '32']
  const { status, stdout, stderr } = await sweep('-c', join(dir, 'engine.json'), '--vary', vary, ...load, '--json')
  expect(status, stderr).toBe(0)
  const { schema, points } = JSON.parse(stdout)
  expect(schema).toBe('serve-sweep/1')
  expect(points).toMatchObject([
    { concurrency: 1, load: { requests: 4, failed: 0, latencySec: { count: 4 } } },
    { concurrency: 2, load: { requests: 4, failed: 0 } },
    { settings: { extra_args: '--no-such-option' }, error: expect.stringContaining('ended with exit code 2') },
  ])
  expect(points[0].load.outputTokensPerSec).toBeGreaterThan(0)
  const ports = [...stderr.matchAll(/starts .*--port (\d+)/g)].map(([, port]) => port)
  expect(ports).toHaveLength(2)
  for (const port of ports) await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow()
})

test('a server that runs is only asked, and its settings cannot be varied', async () => {
  const engine = scripted.make(scripted.options.parse({}), { env: {}, stateDir })
  const server = await serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: null })
  try {
    const at = ['--api-base', `${server.origin}/v1`, '--concurrency', '1,3', '--requests', '3']
    const { status, stdout } = await sweep(...at)
    expect(status).toBe(0)
    expect(stdout).toMatch(/^settings +at once +requests +failed +output tokens\/s/)
    expect(stdout).toContain('highest throughput: -, ')
    const refused = await sweep(...at, '--vary', 'a=1')
    expect(refused.status).toBe(2)
    expect(refused.stderr).toMatch(/^error: --vary: .+\nhint: .+\n$/)
  } finally {
    await server.close()
  }
  const nothing = await sweep('--api-base', `${server.origin}/v1`)
  expect(nothing.status).toBe(3)
  expect((await sweep()).stderr).toContain('expected something to measure')
})
