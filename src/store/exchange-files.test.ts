import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import { BoundaryError } from '../core/errors.ts'
import type { ModelClient, ModelOutcome } from '../core/model.ts'
import { readExchanges } from '../formats/exchanges/read-exchanges.ts'
import { openExchangeFiles } from './exchange-files.ts'

const facts = {
  contextTokens: null,
  outputTokens: null,
  inputUsdPerToken: null,
  cacheUsdPerToken: null,
  outputUsdPerToken: null,
}
const usage = { inputTokens: 1, cacheTokens: 0, outputTokens: 1 }

function clientThat(...answers: (() => ModelOutcome)[]): ModelClient {
  const complete = async () => (answers.shift() ?? (() => says('no more')))()
  return { model: 'fake/model', facts, countTokens: () => ({ tokens: 1, exact: false }), complete }
}

function says(text: string): ModelOutcome {
  const reply = { text, reasoning: null, toolCalls: [], finish: 'stop' as const, usage, costUsd: null, tokens: null }
  return { kind: 'reply', reply: { ...reply, latencyMs: 1 } }
}

function read(dir: string) {
  return readExchanges(readFileSync(join(dir, 'exchanges.jsonl')))
}

test('a reply is in the file before the agent sees it, without the secrets of the trial', async () => {
  const dir = await makeTempDir()
  const files = openExchangeFiles(
    (text) => text.replaceAll('hunter22', '****'),
    () => {},
  )
  const client = files.recorded(
    clientThat(() => says('the key is hunter22')),
    dir,
  )
  const messages = [{ role: 'user' as const, content: 'env says hunter22' }]
  const asking = client.complete({ messages })
  messages.push({ role: 'user', content: 'added while it was asked' })
  const outcome = await asking
  // The agent still gets the full text and the number of its call.
  expect(outcome).toMatchObject({ kind: 'reply', reply: { text: 'the key is hunter22', call: 1 } })
  expect(read(dir)).toMatchObject({
    cut: null,
    threads: [{ calls: [{ sent: [{ message: { content: 'env says ****' } }], reply: { text: 'the key is ****' } }] }],
  })
  files.mark(dir, { call: 1 }, 'unparsed')
  await files.close()
  expect(read(dir).threads[0]?.calls[0]?.marks).toEqual(['unparsed'])
})

test('calls without a reply are named by their kind, and change nothing for the agent', async () => {
  const dir = await makeTempDir()
  const files = openExchangeFiles(
    (text) => text,
    () => {},
  )
  const failing = () => {
    throw new BoundaryError('model', 'bad key sk-secret', { code: 'AuthenticationError' })
  }
  const client = files.recorded(
    clientThat(failing, () => ({ kind: 'context-exceeded', message: 'too long' })),
    dir,
  )
  await expect(client.complete({ messages: [] })).rejects.toThrow('bad key')
  expect(await client.complete({ messages: [] })).toEqual({ kind: 'context-exceeded', message: 'too long' })
  await files.close()
  expect(read(dir).failed.map(({ code }) => code)).toEqual(['AuthenticationError', 'ContextLengthExceededError'])
  expect(readFileSync(join(dir, 'exchanges.jsonl'), 'utf8')).not.toContain('sk-secret')
})

test('a new try does not continue the file of an earlier one, and one that asks nothing leaves none', async () => {
  const dir = await makeTempDir()
  writeFileSync(join(dir, 'exchanges.jsonl'), 'of an earlier try\n')
  const files = openExchangeFiles(
    (text) => text,
    () => {},
  )
  const client = files.recorded(clientThat(), dir)
  await client.complete({ messages: [{ role: 'user', content: 'do' }] })
  // A later phase of the trial continues the same file for the same directory.
  await files.recorded(clientThat(), dir).complete({ messages: [{ role: 'user', content: 'do' }] })
  files.recorded(clientThat(), join(dir, 'other'))
  await files.close()
  expect(read(dir).threads.flatMap(({ calls }) => calls.map(({ call }) => call))).toEqual([1, 2])
  expect(existsSync(join(dir, 'other'))).toBe(false)
  const late = await client.complete({ messages: [] })
  expect(late).toMatchObject({ kind: 'reply', reply: { text: 'no more' } })
})
