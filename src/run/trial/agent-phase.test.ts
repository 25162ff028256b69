import { expect, test } from 'vitest'
import { type Answer, clientThat, replies } from '../../../test/fakes/told-client.ts'
import type { Agent, AgentExit, Recorder } from '../../core/agent.ts'
import { BoundaryError } from '../../core/errors.ts'
import type { ModelClient } from '../../core/model.ts'
import { countReplies } from './agent-phase.ts'

const finished: AgentExit = { kind: 'finished' }
const agent = { name: 'any', version: '1', solve: async () => finished } satisfies Agent

async function marksOf(client: ModelClient, calls: number, needsModel = true) {
  const heard = countReplies(client)
  for (let call = 0; call < calls; call++) await heard.client.complete({ messages: [] }).catch(() => {})
  const marks: object[] = []
  const record = { metadata: (values: object) => marks.push(values) } as unknown as Recorder
  expect(heard.conclude(finished, { ...agent, needsModel }, record)).toBe(finished)
  return marks
}

const mark = { no_valid_reply: true }
const fails = () => Promise.reject(new BoundaryError('model', 'down'))
const tooLong = () => ({ kind: 'context-exceeded' as const, message: 'too long' })

test('an agent that received one reply with something in it is not marked', async () => {
  expect(await marksOf(clientThat(fails, replies(''), replies('hello')), 3)).toEqual([])
  expect(await marksOf(clientThat(replies('', { reasoning: 'hm' })), 2)).toEqual([])
  expect(await marksOf(clientThat(replies('', { finish: 'length' })), 2)).toEqual([])
})

test('an agent whose every call came to nothing is marked, and so is one that never asked the model it needs', async () => {
  expect(await marksOf(clientThat(fails), 2)).toEqual([mark])
  expect(await marksOf(counting(60_000, tooLong), 1)).toEqual([mark])
  expect(await marksOf(clientThat(replies('hello')), 0)).toEqual([mark])
  expect(await marksOf(clientThat(replies('hello')), 0, false)).toEqual([])
})

test('a model whose every reply is empty has failed', async () => {
  await expect(marksOf(clientThat(replies('')), 3)).rejects.toMatchObject({
    boundary: 'model',
    code: 'EmptyReplyError',
    retryable: true,
    message: 'model fake/model: 3 replies in a row were empty',
  })
})

/** A client with a context of 100,000 tokens or of unknown size, and with prompts of the given size. */
function counting(tokens: number, answer: Answer, contextTokens: number | null = 100_000): ModelClient {
  const client = clientThat(answer)
  return { ...client, facts: { ...client.facts, contextTokens }, countTokens: () => ({ tokens, exact: false }) }
}

test('a model that calls a small first prompt too long has failed', async () => {
  const ask = (client: ModelClient) => countReplies(client).client.complete({ messages: [] })
  const failure = {
    boundary: 'model',
    code: 'PromptRefusedError',
    message: expect.stringContaining('about 500 tokens'),
  }
  await expect(ask(counting(500, tooLong))).rejects.toMatchObject(failure)
  await expect(ask(counting(500, tooLong, null))).rejects.toMatchObject(failure)
  expect(await ask(counting(4000, tooLong, null))).toEqual(tooLong())
  expect(await ask(counting(50_000, tooLong))).toEqual(tooLong())
  const { client } = countReplies(clientThat(replies('hello'), tooLong))
  await client.complete({ messages: [] })
  expect(await client.complete({ messages: [] })).toEqual(tooLong())
})
