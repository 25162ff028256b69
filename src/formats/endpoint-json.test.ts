import { mkdtemp, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  apiBase,
  type EndpointFile,
  loadEndpoint,
  parseEndpoint,
  renderEndpoint,
  saveEndpoint,
} from './endpoint-json.ts'

const plain: EndpointFile = {
  modelName: 'm',
  endpointUrls: ['http://node:8000'],
  apiPath: null,
  apiKey: null,
  healthPath: null,
  createdBy: null,
  more: {},
}

test('what another tool wrote is read, and what we do not know is kept', () => {
  const text = `{"model_name": "org/m", "endpoint_url": "http://10.0.0.1:8000", "ray_address": "10.0.0.1:6379",
    "created_by": "start_vllm_ray_controller", "metadata": {"tensor_parallel_size": 2}, "api_path": null}`
  expect(parseEndpoint(text, 'e.json')).toEqual({
    ...plain,
    modelName: 'org/m',
    endpointUrls: ['http://10.0.0.1:8000'],
    createdBy: 'start_vllm_ray_controller',
    more: { ray_address: '10.0.0.1:6379', metadata: { tensor_parallel_size: 2 } },
  })
})

test('what is written reads back the same', () => {
  const some = fc.option(fc.string({ minLength: 1 }))
  const endpoint = fc.record({
    modelName: fc.string({ minLength: 1 }),
    endpointUrls: fc.uniqueArray(fc.constantFrom('http://node:8000', 'https://x.example/y', 'http://b:1'), {
      minLength: 1,
    }),
    apiPath: some,
    apiKey: some,
    healthPath: some,
    createdBy: some,
    more: fc.constantFrom({}, { metadata: { a: [1] } }),
  })
  fc.assert(
    fc.property(endpoint, (value) => {
      expect(parseEndpoint(renderEndpoint(value), 'e.json')).toEqual(value)
    }),
  )
})

test.each([
  ['http://n:1', null, 'http://n:1/v1'],
  ['http://n:1/', '', 'http://n:1/v1'],
  ['http://n:1/v1', null, 'http://n:1/v1'],
  ['http://n:1', '/v1/', 'http://n:1/v1'],
  ['http://n:1', 'serve', 'http://n:1/serve/v1'],
  ['http://n:1', 'api/v2', 'http://n:1/api/v2'],
])('%s with the path %s has its API at %s', (endpointUrl, apiPath, base) => {
  expect(apiBase({ endpointUrls: [endpointUrl], apiPath })).toBe(base)
})

test('several addresses are read from either key, each once, and are one text for an engine', () => {
  const read = (more: object) => parseEndpoint(JSON.stringify({ model_name: 'm', ...more }), 'e.json')
  const both = read({ endpoint_url: 'http://a:1', endpoint_urls: ['http://a:1', 'http://b:2/v1'] })
  expect(apiBase(both)).toBe('http://a:1/v1,http://b:2/v1')
  expect(read({ endpoint_url: ['http://a:1', 'http://b:2/v1'] })).toEqual(both)
  expect(read({ endpoint_urls: ['http://a:1', 'http://b:2/v1'] })).toEqual(both)
})

test('a file with a key is its owner’s alone, and a key may be named instead', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'endpoint-'))
  const path = join(dir, 'e.json')
  const named = { ...plain, apiKey: `\${MY_KEY}` }
  await saveEndpoint(path, named)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await loadEndpoint(path, { MY_KEY: 'k' })).toEqual({ ...plain, apiKey: 'k' })
  await expect(loadEndpoint(path, {})).rejects.toThrow(/MY_KEY/)
  await saveEndpoint(path, plain)
  expect(await loadEndpoint(path, {})).toEqual(plain)
})

test.each([
  ['{', /expected JSON/],
  ['{"model_name": "m"}', /endpoint_url/],
  ['{"model_name": "m", "endpoint_url": "node:8000"}', /endpoint_url/],
  ['{"model_name": "m", "endpoint_urls": []}', /endpoint_url/],
  ['[]', /expected an endpoint file/],
])('%s is refused', (text, message) => {
  expect(() => parseEndpoint(text, 'e.json')).toThrow(message)
})
