import { expect, test } from 'vitest'
import { isAgentConfig, parseAgentConfig } from './agent-config.ts'

const guide = {
  agent_name: 'nvidia-nemotron-nano',
  model: 'nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16',
  api_base: 'http://localhost:8000/v1',
  api_type: 'openai',
  temperature: 0.6,
  max_tokens: 2048,
}

test('a model configured as an agent is distinguished from a job file by its keys', () => {
  expect(isAgentConfig(guide)).toBe(true)
  expect(isAgentConfig({ model: 'm' })).toBe(true)
  expect(isAgentConfig({ agents: [{ name: 'oracle' }] })).toBe(false)
  expect(isAgentConfig({ agents: [], model: 'm' })).toBe(false)
  expect(isAgentConfig({})).toBe(false)
  expect(isAgentConfig([])).toBe(false)
})

test('every setting is read, and only the model is needed', () => {
  expect(parseAgentConfig(guide, 'a.json')).toEqual({
    agentName: 'nvidia-nemotron-nano',
    model: guide.model,
    apiBase: 'http://localhost:8000/v1',
    temperature: 0.6,
    maxTokens: 2048,
  })
  expect(parseAgentConfig({ model: 'm' }, 'a.json')).toMatchObject({ model: 'm', apiBase: null, maxTokens: null })
})

test.each([
  [{ agent_name: 'x' }, /a\.json: model: expected a text, got nothing/],
  [{ model: 'm', api_base: 'localhost:8000' }, /a\.json: api_base/],
  [{ model: 'm', api_type: 'anthropic' }, /a\.json: api_type: expected one of openai, got "anthropic"/],
  [{ model: 'm', temperature: 'hot' }, /a\.json: temperature: expected a number, got "hot"/],
  [{ model: 'm', max_token: 5 }, /a\.json: max_token is not a known key/],
])('%j is refused by name', (document, message) => {
  expect(() => parseAgentConfig(document, 'a.json')).toThrow(message)
})
