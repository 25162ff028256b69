import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'undici'
import type { ModelClient } from '../src/core/model.ts'
import compatible from '../src/engines/openai-compatible.ts'
import { percentile, type Row } from './lib/rows.ts'

const concurrent = 1000
const rounds = 9
const goal = 1.5

const messages = [
  { role: 'system', content: 'You are careful.' },
  { role: 'user', content: 'Look at this file and say what it does.\n'.repeat(500) },
] as const

/**
 * The overhead of our client over bare undici: 1,000 requests at once to a server in another process, CPU time of this
 * one.
 */
export default {
  name: 'model-client',
  async run(): Promise<Row[]> {
    const { child, origin } = await startServer()
    try {
      const client = compatible
        .make(compatible.options.parse({ api_base: `${origin}/v1` }), { env: {}, stateDir: '' })
        .client('m')
      const pool = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
      const whole = await compare(
        () => bareCall(pool, origin),
        () => ourCall(client),
      )
      const streamed = await compare(
        () => bareStream(pool, origin),
        () => ourStream(client),
      )
      return [...rows('whole reply', whole), ...rows('50-piece stream', streamed)]
    } finally {
      child.kill()
    }
  },
}

interface Compared {
  readonly bareMs: number
  readonly oursMs: number
  readonly ratio: number
}

function rows(what: string, { bareMs, oursMs, ratio }: Compared): Row[] {
  return [
    { name: `${what}, bare undici, CPU per request`, value: bareMs, unit: 'ms' },
    { name: `${what}, our client, CPU per request`, value: oursMs, unit: 'ms' },
    { name: `${what}, ours / bare`, value: ratio, unit: 'x', goal: `${goal}`, ok: ratio <= goal },
  ]
}

/** Alternates rounds, so that other load on the machine affects both. */
async function compare(bare: () => Promise<void>, ours: () => Promise<void>): Promise<Compared> {
  const times: { bare: number[]; ours: number[] } = { bare: [], ours: [] }
  for (let round = -2; round < rounds; round++) {
    const bareMs = await cpuMsPerCall(bare)
    const oursMs = await cpuMsPerCall(ours)
    // The first rounds open connections and compile.
    if (round < 0) continue
    times.bare.push(bareMs)
    times.ours.push(oursMs)
  }
  const bareMs = percentile(times.bare, 0.5)
  const oursMs = percentile(times.ours, 0.5)
  return { bareMs, oursMs, ratio: oursMs / bareMs }
}

async function cpuMsPerCall(call: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await Promise.all(Array.from({ length: concurrent }, call))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / concurrent
}

async function bareCall(dispatcher: Agent, origin: string): Promise<void> {
  const body = JSON.stringify({ model: 'm', messages, logprobs: true, return_token_ids: true })
  const headers = { 'content-type': 'application/json' }
  const answer = await request(`${origin}/v1/chat/completions`, { method: 'POST', headers, body, dispatcher })
  const document = (await answer.body.json()) as { choices: [{ message: { content: string } }] }
  if (document.choices[0].message.content !== 'done') throw new Error('not the expected reply')
}

async function ourCall(client: ModelClient): Promise<void> {
  const outcome = await client.complete({ messages, tokenDetails: true })
  if (outcome.kind !== 'reply' || outcome.reply.text !== 'done') throw new Error('not the expected reply')
}

/** The minimum work of a streaming caller: find the events and parse their JSON. */
async function bareStream(dispatcher: Agent, origin: string): Promise<void> {
  const body = JSON.stringify({ model: 'm', messages, stream: true })
  const headers = { 'content-type': 'application/json' }
  const answer = await request(`${origin}/v1/chat/completions`, { method: 'POST', headers, body, dispatcher })
  let rest = ''
  let pieces = 0
  for await (const chunk of answer.body) {
    const parts = (rest + chunk).split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      if (part === 'data: [DONE]') continue
      pieces += JSON.parse(part.slice(6)).choices.length
    }
  }
  if (pieces !== 51) throw new Error('not the expected stream')
}

async function ourStream(client: ModelClient): Promise<void> {
  let pieces = 0
  const outcome = await client.complete({ messages }, { onText: () => void pieces++ })
  if (outcome.kind !== 'reply' || pieces !== 50) throw new Error('not the expected stream')
}

async function startServer(): Promise<{ child: ChildProcess; origin: string }> {
  const child = spawn(process.execPath, ['-e', serverProgram], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const [port] = await once(child, 'message')
  return { child, origin: `http://127.0.0.1:${port}` }
}

/**
 * Gives every request the same reply, with what a training rollout asks for: IDs and log probabilities of 200 tokens.
 */
const serverProgram = `
const content = Array.from({ length: 200 }, (_, i) => ({ token: 't' + i, logprob: -i / 1000, bytes: [116], top_logprobs: [] }))
const usage = { prompt_tokens: 5000, completion_tokens: 200, prompt_tokens_details: { cached_tokens: 0 } }
const choice = { index: 0, message: { role: 'assistant', content: 'done' }, finish_reason: 'stop', logprobs: { content }, token_ids: content.map((_, i) => i) }
const whole = JSON.stringify({ id: 'x', object: 'chat.completion', choices: [choice], usage, prompt_token_ids: Array.from({ length: 5000 }, (_, i) => i) })
const piece = 'data: ' + JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: ' word' }, finish_reason: null }] }) + '\\n\\n'
const last = 'data: ' + JSON.stringify({ id: 'x', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage }) + '\\n\\ndata: [DONE]\\n\\n'
const list = JSON.stringify({ data: [{ id: 'm', max_model_len: 32768 }] })
const server = require('node:http').createServer((request, response) => {
  let stream = false
  request.on('data', (chunk) => { stream ||= chunk.includes('"stream":true') })
  request.on('end', () => {
    if (request.method === 'GET') return response.end(list)
    if (!stream) return response.end(whole)
    let left = 50
    const more = () => {
      if (left-- === 0) return response.end(last)
      response.write(piece)
      setImmediate(more)
    }
    more()
  })
})
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', 4096, () => process.send(server.address().port))
`
