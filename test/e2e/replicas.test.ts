import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const program = resolve('bin/ot-agent.js')

test('two servers make one list of addresses, published only when both respond; one that dies is removed from it, and all are at the end', async () => {
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
  await expect.poll(() => existsSync(endpointJson), { interval: 200 }).toBe(true)
  const told = () => JSON.parse(readFileSync(endpointJson, 'utf8'))
  const { endpoint_url: first, endpoint_urls: urls, model_name: model } = told()
  expect(model).toBe('stand-in')
  expect(urls).toHaveLength(2)
  expect(urls[0]).toBe(first)
  for (const url of urls) expect((await fetch(`${url}/v1/models`).then(modelsOf)).data[0]?.id).toBe('stand-in')
  expect(news.match(/^starts /gm)).toHaveLength(2)
  process.kill(listenerAt(new URL(first).port), 'SIGKILL')
  await expect.poll(() => told().endpoint_url).toBe(urls[1])
  expect(told().endpoint_urls).toBeUndefined()
  const ended = new Promise((done) => child.once('exit', done))
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  expect(existsSync(endpointJson)).toBe(false)
})

/** The process started to listen on a port. */
function listenerAt(port: string): number {
  const found = readdirSync('/proc').find((pid) => {
    const words = /^\d+$/.test(pid) ? commandOf(pid) : []
    return words[words.indexOf('--port') + 1] === port && words.includes('scripted')
  })
  return Number(found)
}

function commandOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

async function modelsOf(answer: Response): Promise<{ data: { id: string }[] }> {
  return (await answer.json()) as { data: { id: string }[] }
}
