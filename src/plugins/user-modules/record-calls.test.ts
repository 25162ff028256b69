import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { clientThat, replies } from '../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import type { AgentAt, AgentExit } from '../../core/agent.ts'
import { BoundaryError } from '../../core/errors.ts'
import type { ChatMessage, ModelClient } from '../../core/model.ts'
import { recordCalls } from './make-imported.ts'

let logsDir: string
beforeEach(async () => {
  logsDir = await makeTempDir()
})

/** Runs an agent that does all of its work in `talk`. */
async function solve(talk: (client: ModelClient) => Promise<void>, client: ModelClient | null): Promise<AgentExit> {
  const agent = recordCalls({
    name: 'mine',
    version: '3.2.1',
    async solve(at) {
      if (at.client) await talk(at.client)
      return { kind: 'finished' }
    },
  })
  return agent.solve({ client, logsDir, mask: (text) => text } as AgentAt)
}

async function trajectory() {
  return JSON.parse(await readFile(join(logsDir, 'trajectory.json'), 'utf8'))
}

test('a conversation is written down turn by turn, although the agent goes on with one list of messages', async () => {
  await solve(
    async (client) => {
      const messages: ChatMessage[] = [{ role: 'user', content: 'solve it' }]
      for (const seen of ['first', 'second']) {
        const outcome = await client.complete({ messages })
        if (outcome.kind === 'reply') messages.push({ role: 'assistant', content: outcome.reply.text })
        messages.push({ role: 'user', content: seen })
      }
      await client.complete({ messages })
    },
    clientThat(replies('one'), replies('two'), replies('three')),
  )
  const { agent, steps, final_metrics } = await trajectory()
  expect(agent).toMatchObject({ name: 'mine', version: '3.2.1', model_name: 'fake/model' })
  expect(steps.map(({ source, message }: Record<string, string>) => `${source}: ${message}`)).toEqual([
    'user: solve it',
    'agent: one',
    'user: first',
    'agent: two',
    'user: second',
    'agent: three',
  ])
  expect(final_metrics).toMatchObject({ total_prompt_tokens: 30, total_completion_tokens: 9, total_cost_usd: 0.75 })
})

test('a call that fails is noted with its kind, not with what the server said, and fails all the same', async () => {
  const refused = () => Promise.reject(new BoundaryError('model', 'key sk-secret', { code: 'AuthenticationError' }))
  const full = () => ({ kind: 'context-exceeded' as const, message: 'too long' })
  const talk = async (client: ModelClient) => {
    const request = { messages: [{ role: 'user', content: 'hello' }] as const }
    await client.complete(request)
    expect(await client.complete(request)).toEqual({ kind: 'context-exceeded', message: 'too long' })
    await client.complete(request)
  }
  await expect(solve(talk, clientThat(replies('hi'), full, refused))).rejects.toThrow('key sk-secret')
  const files = await Promise.all((await readdir(logsDir)).map((name) => readFile(join(logsDir, name), 'utf8')))
  expect(files.join()).toMatch(/ContextLengthExceededError[\s\S]*AuthenticationError/)
  expect(files.join()).not.toContain('sk-secret')
  expect((await trajectory()).steps).toHaveLength(2)
})

test('an agent that writes its own trajectory keeps it, and one without a model leaves nothing', async () => {
  const own = async (client: ModelClient) => {
    await client.complete({ messages: [{ role: 'user', content: 'hello' }] })
    await writeFile(join(logsDir, 'trajectory.json'), '{"mine":true}')
  }
  expect(await solve(own, null)).toEqual({ kind: 'finished' })
  expect(await readdir(logsDir)).toEqual([])
  await solve(own, clientThat(replies('hi')))
  expect(await trajectory()).toEqual({ mine: true })
})
