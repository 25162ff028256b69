import { expect, test } from 'vitest'
import { parseEngineFile } from './engine-yaml.ts'
import { renderVllmCommand } from './vllm-command.ts'

function commandOf(server: object, model: string | null = null) {
  const engine = { type: 'vllm_local', vllm_local: { base_url: 'http://x/v1', model_name: 'm' } }
  const file = parseEngineFile(JSON.stringify({ engine, vllm_server: server }), 'engine.json')
  return renderVllmCommand(file.vllm_server!, { host: '127.0.0.1', port: 8000, model })
}

test('every setting becomes its option', () => {
  const { argv, env, modelName } = commandOf({
    model_path: 'org/weights',
    custom_model_name: 'mine',
    tensor_parallel_size: 4,
    hf_overrides: { rope: { type: 'yarn' } },
    max_num_seqs: 64,
    gpu_memory_utilization: 0.9,
    enable_expert_parallel: true,
    swap_space: 8,
    max_model_len: 32768,
    cpu_offload_gb: 0,
    trust_remote_code: true,
    disable_log_requests: false,
    enable_auto_tool_choice: true,
    tool_call_parser: 'hermes',
    reasoning_parser: 'qwen3',
    logging_level: 'INFO',
    use_deep_gemm: true,
    time_limit: '24:00:00',
    extra_args: '--kv-cache-dtype fp8 --override-generation-config \'{"seed": 42}\'',
  })
  expect(argv.join(' ')).toBe(
    'vllm serve org/weights --host 127.0.0.1 --port 8000 --served-model-name mine --tensor-parallel-size 4 ' +
      '--hf-overrides {"rope":{"type":"yarn"}} --max-num-seqs 64 --gpu-memory-utilization 0.9 --enable-expert-parallel ' +
      '--swap-space 8 --max-model-len 32768 --cpu-offload-gb 0 --trust-remote-code --enable-auto-tool-choice ' +
      '--tool-call-parser hermes --reasoning-parser qwen3 --kv-cache-dtype fp8 --override-generation-config {"seed": 42}',
  )
  expect(argv.at(-1)).toBe('{"seed": 42}')
  expect(env).toEqual({ VLLM_LOGGING_LEVEL: 'INFO', VLLM_USE_DEEP_GEMM: '1' })
  expect(modelName).toBe('mine')
})

test.each([
  [
    ['--a', 1],
    ['--a', '1'],
  ],
  [
    { 'enable-prefix-caching': true, all2all_backend: 'pplx', off: false },
    ['--enable-prefix-caching', '--all2all-backend', 'pplx'],
  ],
  ['', []],
])('more arguments come as %j', (extra_args, expected) => {
  expect(commandOf({ model_path: 'w', extra_args }).argv.slice(7)).toEqual(expected)
})

test('the model may be named by the engine; without one it is refused', () => {
  expect(commandOf({}, 'weights').argv[2]).toBe('weights')
  expect(() => commandOf({})).toThrow('expected model_path')
})
