import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeEngine } from '../plugins/make.ts'
import { chooseEngine, loadEngineFile, parseEngineFile } from './engine-yaml.ts'

const read = (text: string) => parseEngineFile(text, 'engine.yaml')

const whole = `
engine:
  type: vllm_local
  model: ignored
  max_output_tokens: 4096
  healthcheck_interval: 100
  request_params: {temperature: 0.7, top_k: 5}
  vllm_local: {base_url: "http://node:8000/v1", model_name: m, api_key_env: MY_KEY, healthcheck_interval: 60}
  extra_args: {max_attempts: 9}
backend: {type: ray, healthcheck_max_attempts: 120, healthcheck_retry_delay: 15, wait_for_endpoint: true}
vllm_server:
  model_path: org/model
  time_limit: 48:00:00
  hf_overrides: {rope: 1}
  extra_args: [--enable-prefix-caching, --port, 8000]
extra_agent_kwargs: {max_episodes: 5}
chunk_array_max: 3
`

test('a whole file is read, with its defaults and an unquoted duration', () => {
  const file = read(whole)
  expect(file.backend).toMatchObject({ type: 'ray', ray_port: 6379, api_port: 8000, tensor_parallel_size: 1 })
  expect(file.vllm_server).toMatchObject({ num_replicas: 1, time_limit: '48:00:00' })
  expect(file).toMatchObject({ extra_agent_kwargs: { max_episodes: 5 }, chunk_array_max: 3 })
})

test('it chooses one of our engines and its options, request settings included', () => {
  expect(chooseEngine(read(whole))).toEqual({
    name: 'openai-compatible',
    endpointJson: null,
    options: {
      model: 'm',
      api_base: 'http://node:8000/v1',
      api_key_env: 'MY_KEY',
      healthcheck_interval: 60,
      healthcheck_max_attempts: 120,
      healthcheck_retry_delay: 15,
      request_params: { max_tokens: 4096, temperature: 0.7, top_k: 5 },
      max_attempts: 9,
    },
  })
})

test.each([
  [
    'engine: {type: openai, model: g, openai: {organization: o, project: p}}',
    { name: 'openai', options: { model: 'g', headers: { 'openai-organization': 'o', 'openai-project': 'p' } } },
  ],
  [
    'engine: {type: anthropic, model: c, anthropic: {api_key_env: K}}',
    { name: 'anthropic', options: { model: 'c', api_key_env: 'K' } },
  ],
  ['engine: {type: gemini_openai, model: g}', { name: 'gemini', options: { model: 'g' } }],
  ['engine: {type: none}', { name: 'none', options: {} }],
  [
    'engine: {type: vllm_local, vllm_local: {endpoint_json: e.json}}',
    { name: 'openai-compatible', options: {}, endpointJson: 'e.json' },
  ],
  [
    'engine: {type: vllm_local}\nbackend: {endpoint_json_path: b.json}',
    { name: 'openai-compatible', endpointJson: 'b.json' },
  ],
])('%s', (text, choice) => {
  expect(chooseEngine(read(text))).toMatchObject(choice)
})

test.each([
  ['engine: {type: opanai}', /engine\.type: expected one of openai, .* got "opanai"/, /engine\.yaml/],
  ['engine: {type: openai, modle: x}', /engine\.modle is not a known key/, /did you mean engine\.model\?/],
  ['engine: {type: openai}\nbackend: {tensor_paralel_size: 2}', /backend\.tensor_paralel_size/, /tensor_parallel_size/],
  ['engine: {type: openai}\nvllm_server: {zzz: 2}', /vllm_server\.zzz/, /known keys: command, model_path/],
  ['engine: {type: openai}\nengines: {}', /engines is not a known key/, /did you mean engine\?/],
  [
    'engine: {type: openai, max_output_tokens: many}',
    /engine\.max_output_tokens: expected a number, got "many"/,
    /correct it/,
  ],
  ['engine: {type: openai, extra_args: [a]}', /engine\.extra_args: expected a mapping, got \["a"\]/, /correct it/],
  ['engine: {type: vllm_local}', /engine\.vllm_local: expected endpoint_json, or base_url and model_name/, /base_url/],
  ['backend: {}', /engine: expected a mapping, got nothing/, /correct it/],
  ['engine: [', /expected YAML/, /syntax/],
  ['', /the document: expected a mapping, got null/, /correct it/],
])('%j is refused in two readable lines', (text, message, hint) => {
  expect(() => read(text)).toThrow(
    expect.objectContaining({
      name: 'UserError',
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    }),
  )
})

test('a file that is not there is the user’s error', async () => {
  await expect(loadEngineFile('/no/such.yaml')).rejects.toMatchObject({ name: 'UserError' })
})

test.each(readdirSync('configs/engines'))('the preset %s is read, and its engine takes its options', async (name) => {
  const { name: engine, options, endpointJson } = chooseEngine(await loadEngineFile(join('configs/engines', name)))
  const address = endpointJson === null ? {} : { api_base: 'http://localhost:8000/v1' }
  const key = ['openai', 'anthropic', 'gemini', 'vertex'].includes(engine) ? { api_key: 'some-key' } : {}
  const project = engine === 'vertex' ? { project: 'mine' } : {}
  await expect(makeEngine(engine, { ...options, ...address, ...key, ...project })).resolves.toMatchObject({
    name: engine,
  })
})
