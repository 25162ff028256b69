import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findEngine } from './engine-request.ts'

const dir = await mkdtemp(join(tmpdir(), 'engine-'))

async function fileWith(name: string, document: object): Promise<string> {
  const path = join(dir, name)
  await writeFile(path, JSON.stringify(document))
  return path
}

test.each([
  ['openai/gpt-x', 'openai'],
  ['anthropic/claude-x', 'anthropic'],
  ['gemini/gemini-x', 'gemini'],
  ['vertex/claude-x', 'vertex'],
  ['vertex_ai/gemini-x', 'vertex'],
  ['scripted/x', 'scripted'],
])('the model %s stands for the engine %s', async (model, name) => {
  expect(await findEngine({}, model)).toMatchObject({ name, model, options: { model } })
})

test('an address means a server of OpenAI’s kind, whatever the model is called', async () => {
  expect(await findEngine({ api_base: 'http://x/v1', api_key_env: 'K' }, 'openai/m')).toEqual({
    name: 'openai-compatible',
    model: 'openai/m',
    options: { model: 'openai/m', api_base: 'http://x/v1', api_key_env: 'K' },
  })
})

test('a name wins over an address, and options over everything', async () => {
  const request = { name: 'anthropic', api_base: 'http://x', options: { max_attempts: 1 } }
  expect(await findEngine(request, 'm')).toMatchObject({
    name: 'anthropic',
    options: { api_base: 'http://x', max_attempts: 1 },
  })
})

test('a model nobody knows where to find is no engine; one of a server of one’s own wants its address', async () => {
  expect(await findEngine({}, 'some/model')).toBeNull()
  await expect(findEngine({}, 'hosted_vllm/m')).rejects.toMatchObject({
    name: 'UserError',
    hint: expect.stringContaining('--api-base'),
  })
})

test('an engine file names engine and model, and its endpoint file the address', async () => {
  const endpoint = await fileWith('endpoint.json', {
    model_name: 'served',
    endpoint_url: 'http://node:8000',
    api_key: 'k',
  })
  const config = await fileWith('engine.json', {
    engine: { type: 'vllm_local', vllm_local: { endpoint_json: endpoint } },
  })
  expect(await findEngine({ config }, null)).toEqual({
    name: 'openai-compatible',
    model: 'served',
    options: { model: 'served', api_base: 'http://node:8000/v1', api_key: 'k' },
  })
})

test('an engine that is named beside a file of another takes nothing from it', async () => {
  const config = await fileWith('openai.json', {
    engine: { type: 'openai', model: 'gpt-x', request_params: { seed: 1 } },
  })
  expect(await findEngine({ config, name: 'scripted' }, null)).toEqual({
    name: 'scripted',
    model: 'gpt-x',
    options: { model: 'gpt-x' },
  })
})
