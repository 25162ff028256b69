import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const program = resolve('bin/ot-agent.js')

test('two servers stand behind one address, which is told only when both answer and taken back at the end', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'ot-replicas-'))
  const command = [
    process.execPath,
    program,
    'serve',
    '--engine',
    'scripted',
    '-m',
    'stand-in',
    '--tasks',
    'examples/tasks',
  ]
  const file = {
    engine: { type: 'vllm_local', model: 'stand-in', vllm_local: { endpoint_json: join(dir, 'unused.json') } },
    backend: { type: 'vllm', healthcheck_max_attempts: 100, healthcheck_retry_delay: 0.5 },
    vllm_server: { command, model_path: 'stand-in', num_replicas: 2 },
  }
  writeFileSync(join(dir, 'engine.json'), JSON.stringify(file))
  const endpointJson = join(dir, 'endpoint.json')
  const words = ['serve', '--config', join(dir, 'engine.json'), '--port', '0', '--endpoint-json', endpointJson]
  const child = spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let news = ''
  child.stderr.on('data', (chunk) => {
    news += chunk
  })
  await expect.poll(() => existsSync(endpointJson), { timeout: 90_000, interval: 200 }).toBe(true)
  const { endpoint_url: url, model_name: model } = JSON.parse(readFileSync(endpointJson, 'utf8'))
  expect(model).toBe('stand-in')
  const asked = Array.from({ length: 6 }, () => fetch(`${url}/v1/models`).then(modelsOf))
  for (const answer of await Promise.all(asked)) expect(answer.data[0]?.id).toBe('stand-in')
  expect(news.match(/^starts /gm)).toHaveLength(2)
  const ended = new Promise((done) => child.once('exit', done))
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  expect(existsSync(endpointJson)).toBe(false)
}, 180_000)

async function modelsOf(answer: Response): Promise<{ data: { id: string }[] }> {
  return (await answer.json()) as { data: { id: string }[] }
}
