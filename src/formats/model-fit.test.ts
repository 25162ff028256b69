import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkEngineFile, loadEngineFile } from './engine-yaml.ts'
import { gpuMemoryOf, profileFor, refuseMisfit } from './model-fit.ts'

const gpus = (perNode: number, memoryGib: number, nodes = 1) => ({ perNode, memoryGib, nodes })
const fileOf = (server: object, more = {}) =>
  checkEngineFile(
    {
      engine: { type: 'vllm_local', vllm_local: { endpoint_json: 'e.json' } },
      vllm_server: { max_model_len: 32_768, ...server },
      ...more,
    },
    'engine.yaml',
  )
const glm = { model: 'a/glm', parameters_b: 357, weight_bits: 16, kv_bytes_per_token: 376_832, kv_heads: 8 }

test.each([
  ['H100 80GB', 80],
  ['A100 or H100 80GB', 80],
  ['GH200 96 GB', 96],
  ['MI250X', null],
  [undefined, null],
])('a GPU of type %s has %s GiB', (type, gib) => {
  expect(gpuMemoryOf(type)).toBe(gib)
})

test('a model that is too large is refused with the arithmetic and what would do', () => {
  const file = fileOf({ model_path: 'a/glm', tensor_parallel_size: 8 }, { model_facts: glm })
  expect(() => refuseMisfit(file, gpus(8, 80))).toThrow(
    expect.objectContaining({
      name: 'UserError',
      message:
        'a/glm does not fit on 8 GPUs of 80 GiB: 357 billion parameters of 16 bits are 665 GiB; on each GPU they take 83.1 GiB, the cache of 32768 tokens 1.4 GiB, the rest 2 GiB, and 72 GiB is available',
      hint: 'set vllm_server.tensor_parallel_size=16, or use weights with fewer bits',
    }),
  )
  expect(() => refuseMisfit(file, gpus(8, 141))).not.toThrow()
})

test('the cache of a long context counts, on every GPU where it has no heads to split', () => {
  const small = { model: 'a/glm', parameters_b: 30, weight_bits: 8, kv_bytes_per_token: 100_000 }
  const server = { model_path: 'a/glm', tensor_parallel_size: 4, max_model_len: 1_000_000 }
  expect(() => refuseMisfit(fileOf(server, { model_facts: small }), gpus(4, 80))).toThrow('93.1 GiB')
  expect(() => refuseMisfit(fileOf(server, { model_facts: { ...small, kv_heads: 4 } }), gpus(4, 80))).not.toThrow()
})

test('without model facts, the name gives the size and the bits of the weights', () => {
  const named = (model_path: string, tensor = 1) => fileOf({ model_path, tensor_parallel_size: tensor })
  expect(() => refuseMisfit(named('Qwen/Qwen3-8B'), gpus(1, 24))).not.toThrow()
  expect(() => refuseMisfit(named('x/Llama-3.3-70B-Instruct'), gpus(1, 80))).toThrow('70 billion parameters of 16 bits')
  expect(() => refuseMisfit(named('x/Llama-3.3-70B-Instruct-AWQ'), gpus(1, 80))).not.toThrow()
  expect(() => refuseMisfit(named('Qwen/Qwen3-30B-A3B-FP8'), gpus(1, 24))).toThrow('30 billion parameters of 8 bits')
  expect(() => refuseMisfit(named('x/some-model'), gpus(1, 8))).not.toThrow()
  const facts = { model_facts: { ...glm, model: 'another/model' } }
  expect(() => refuseMisfit(fileOf({ model_path: 'Qwen/Qwen3-8B' }, facts), gpus(1, 24))).not.toThrow()
})

test('the copies of a data-parallel server share experts; memory of the host counts where it is lent', () => {
  const server = { model_path: 'a/glm', tensor_parallel_size: 8, data_parallel_size: 2 }
  const of = (more: object) => fileOf({ ...server, ...more }, { model_facts: glm })
  expect(() => refuseMisfit(of({}), gpus(8, 80))).toThrow('does not fit')
  expect(() => refuseMisfit(of({ enable_expert_parallel: true }), gpus(8, 80))).not.toThrow()
  expect(() => refuseMisfit(of({ cpu_offload_gb: 20 }), gpus(8, 80))).not.toThrow()
  expect(() => refuseMisfit(of({ command: ['other-server'] }), gpus(8, 80))).not.toThrow()
})

const teachers: string[] = []
for (const name of readdirSync('configs/engines'))
  if ((await loadEngineFile(`configs/engines/${name}`)).gpu_profiles) teachers.push(name)

test('there are ready-made teachers', () => {
  expect(teachers.length).toBeGreaterThanOrEqual(10)
})

test.each(teachers)('every profile of %s fits on the GPUs it is for', async (name) => {
  const file = await loadEngineFile(`configs/engines/${name}`)
  expect(file.model_facts?.model).toBe(file.vllm_server?.model_path)
  for (const { gpus: count, memory_gb: memory, vllm_server: settings } of file.gpu_profiles ?? []) {
    const merged = checkEngineFile({ ...file, vllm_server: { ...file.vllm_server, ...settings } }, name)
    const { tensor_parallel_size: tensor = 0, pipeline_parallel_size: pipeline = 0 } = merged.vllm_server ?? {}
    expect(tensor * pipeline).toBe(count)
    expect(() => refuseMisfit(merged, gpus(count, memory))).not.toThrow()
  }
})

test('a profile is chosen by the GPUs of the cluster, on one node where it can be', async () => {
  const file = await loadEngineFile('configs/engines/kimi-k2-5.yaml')
  expect(profileFor(file, gpus(8, 141))).toMatchObject({ tensor_parallel_size: 8 })
  expect(profileFor(file, gpus(8, 80, 4))).toMatchObject({ pipeline_parallel_size: 2 })
  expect(() => profileFor(file, gpus(8, 80, 1))).toThrow('none for 1 node with 8 GPUs of 80 GiB')
  expect(() => profileFor(file, gpus(8, 40, 4))).toThrow(
    'moonshotai/Kimi-K2.5 has settings for 8 x 141 GiB, 16 x 80 GiB, but none for 4 nodes',
  )
  expect(profileFor(fileOf({ model_path: 'x' }), gpus(1, 8))).toBeNull()
})
