import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { accumulationSteps } from './batch.ts'
import { buildSft, type SftRequest } from './build-sft.ts'
import { checkTrainingValues, parseTrainingValue } from './training-values.ts'

const request = (more: Partial<SftRequest> = {}): SftRequest => ({
  jobName: 'job',
  preset: { model_name_or_path: 'Qwen/Qwen3-8B', template: 'qwen3_nothink', global_batch_size: 96 },
  presetFile: 'preset.yaml',
  overrides: {},
  topology: { nodes: 8, gpusPerNode: 4 },
  launcher: 'torchrun',
  datasets: [{ name: 'dataset', use: 'train', entry: { hf_hub_url: 'org/traces', formatting: 'sharegpt' } }],
  outputDir: '/out/job',
  configDir: '/exp/configs',
  hubOwner: 'me',
  internet: true,
  ...more,
})

describe('values', () => {
  test('an unknown key is refused with the nearest known one', () => {
    expect(() => checkTrainingValues({ learing_rate: 1e-5 }, 'a.yaml')).toThrow(/a\.yaml: unknown key "learing_rate"/)
    expect(() => checkTrainingValues({ constructor: 1 }, 'a.yaml')).toThrow(/unknown key/)
  })

  test.each([
    ['cutoff_len', '32768', 32768],
    ['bf16', 'true', true],
    ['learning_rate', '4e-5', 4e-5],
    ['stage', 'sft', 'sft'],
    ['deepspeed', 'none', null],
    ['fsdp_config', '{"a":1}', { a: 1 }],
  ])('%s %s is read as its key takes it', (key, text, value) => {
    expect(parseTrainingValue(key, text, '--x')).toEqual(value)
  })

  test.each([
    ['cutoff_len', 'long', 'a whole number'],
    ['bf16', 'yes', 'true or false'],
    ['stage', 'sftt', 'one of pt, sft'],
  ])('%s %s is refused', (key, text, expected) => {
    expect(() => parseTrainingValue(key, text, '--x')).toThrow(expected)
  })
})

describe('the global batch', () => {
  test('is reached exactly, or refused', () => {
    const part = fc.integer({ min: 1, max: 8 })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 512 }),
        part,
        part,
        part,
        part,
        (global, per, nodes, gpusPerNode, tensor) => {
          const values = {
            global_batch_size: global,
            per_device_train_batch_size: per,
            tensor_model_parallel_size: tensor,
          }
          let steps: number | null
          try {
            steps = accumulationSteps(values, { nodes, gpusPerNode })
          } catch {
            const groups = (nodes * gpusPerNode) / tensor
            expect(!Number.isInteger(groups) || global % (per * groups) !== 0).toBe(true)
            return
          }
          expect((steps ?? 0) * per * ((nodes * gpusPerNode) / tensor)).toBe(global)
        },
      ),
    )
  })

  test('every kind of parallelism counts', () => {
    const parallel = {
      tensor_model_parallel_size: 2,
      pipeline_model_parallel_size: 2,
      expert_model_parallel_size: 2,
      context_parallel_size: 2,
    }
    expect(accumulationSteps({ global_batch_size: 16, ...parallel }, { nodes: 4, gpusPerNode: 8 })).toBe(8)
  })

  test('and a stated number of steps that does not reach it is refused', () => {
    const both = { gradient_accumulation_steps: 2, global_batch_size: 96 }
    expect(() => buildSft(request({ overrides: both }))).toThrow(/needs 3/)
    expect(() => buildSft(request({ preset: { ...request().preset, ...both } }))).toThrow(/needs 3/)
  })

  test('and a number of steps over a preset is taken as it is, to try the preset out', () => {
    const { values } = buildSft(request({ overrides: { gradient_accumulation_steps: 1 } }))
    expect(values).toMatchObject({ gradient_accumulation_steps: 1 })
    expect(values).not.toHaveProperty('global_batch_size')
  })
})

describe('a training run', () => {
  test('has a config, its dataset, and a command', () => {
    const { files, values, command } = buildSft(request())
    expect(Object.keys(files)).toEqual(['job_train_config.yaml', 'job_data/dataset_info.json', 'job_deepspeed.json'])
    expect(parse(files['job_train_config.yaml']!)).toEqual(values)
    expect(values).toMatchObject({ gradient_accumulation_steps: 3, dataset: 'dataset_1', output_dir: '/out/job' })
    expect(JSON.parse(files['job_data/dataset_info.json']!).dataset_1).toEqual({
      hf_hub_url: 'org/traces',
      formatting: 'sharegpt',
    })
    expect(command.slice(0, 5)).toEqual(['torchrun', '--nnodes', '8', '--nproc_per_node', '4'])
  })

  test('a key of the preset is never overwritten by a default', () => {
    const preset = { ...request().preset, seed: 7, cutoff_len: 1024, save_strategy: 'steps', bf16: false }
    expect(buildSft(request({ preset })).values).toMatchObject({
      seed: 7,
      cutoff_len: 1024,
      save_strategy: 'steps',
      bf16: false,
    })
  })

  test('a preset with FSDP gets no DeepSpeed, and both at once are refused', () => {
    const preset = { ...request().preset, fsdp: 'full_shard auto_wrap', fsdp_config: { fsdp_version: 2 } }
    const plan = buildSft(request({ preset, launcher: 'accelerate' }))
    expect(plan).toMatchObject({ strategy: 'fsdp2' })
    expect(plan.values).not.toHaveProperty('deepspeed')
    expect(parse(plan.files['job_accelerate.yaml']!)).toMatchObject({ distributed_type: 'FSDP', num_processes: 32 })
    expect(() => buildSft(request({ preset: { ...preset, deepspeed: 'x.json' } }))).toThrow(
      /expected DeepSpeed or FSDP, got both/,
    )
  })

  test('compute nodes without internet upload nothing, and record what Weights & Biases gets later', () => {
    const offline = (report_to: string) =>
      buildSft(request({ internet: false, overrides: { push_to_hub: true, report_to } }))
    expect(offline('all').values).toMatchObject({ report_to: 'none', push_to_hub: false })
    const { values, env } = offline('wandb')
    expect(values).toMatchObject({ report_to: 'wandb', push_to_hub: false })
    expect(env).toMatchObject({ WANDB_MODE: 'offline', HF_HUB_OFFLINE: '1' })
  })

  test('a model that is uploaded is named after its author and job, unless it has a name', () => {
    const named = (overrides: SftRequest['overrides'], internet = true) =>
      buildSft(request({ jobName: 'Qwen2.5-7B--32k_train', overrides, internet })).values.hub_model_id
    expect(named({ push_to_hub: true })).toBe('me/Qwen2_5-7B-32k_train')
    expect(named({ push_to_hub: true, hub_model_id: 'org/m' })).toBe('org/m')
    expect(named({})).toBeUndefined()
    const unnamed = request({ hubOwner: null, overrides: { push_to_hub: true } })
    expect(buildSft(unnamed).values.hub_model_id).toBeUndefined()
    expect(named({ push_to_hub: true }, false)).toBeUndefined()
  })

  test('what is held out is looked at after each epoch, unless something else is said', () => {
    const entry = { file_name: '/d/a.parquet' }
    const datasets = [
      { name: 'train_0', use: 'train', entry },
      { name: 'train_0', use: 'train', entry },
      { name: 'validation_0', use: 'eval', entry },
    ] as const
    const { values, files } = buildSft(request({ datasets }))
    expect(values).toMatchObject({ dataset: 'train_0,dataset_2', eval_dataset: 'validation_0', eval_strategy: 'epoch' })
    expect(Object.keys(JSON.parse(files['job_data/dataset_info.json']!))).toEqual([
      'train_0',
      'dataset_2',
      'validation_0',
    ])
    expect(buildSft(request({ datasets, overrides: { eval_strategy: 'no' } })).values.eval_strategy).toBe('no')
    expect(buildSft(request({ datasets, overrides: { val_size: 0.1 } })).values).not.toHaveProperty('eval_dataset')
  })

  test('one process shares the model with nobody, and keys of Megatron need Megatron', () => {
    const alone = { nodes: 1, gpusPerNode: 1 }
    expect(buildSft(request({ topology: alone })).strategy).toBe('none')
    expect(buildSft(request({ overrides: { deepspeed: null } })).strategy).toBe('none')
    expect(() => buildSft(request({ overrides: { tensor_model_parallel_size: 2 } }))).toThrow(/key of Megatron/)
    const mca = buildSft(request({ overrides: { tensor_model_parallel_size: 2, use_mca: true } }))
    expect(mca).toMatchObject({ strategy: 'megatron', env: { USE_MCA: '1' } })
  })

  test('keys are those of the published trainer', () => {
    expect(parseTrainingValue('use_cpu', 'true', '--x')).toBe(true)
    for (const gone of ['group_by_length', 'save_safetensors', 'kt_config'])
      expect(() => parseTrainingValue(gone, 'true', '--x')).toThrow(/unknown key/)
  })

  test('pretokenizing trains nothing', () => {
    expect(buildSft(request({ pretokenize: '/tok' })).values).toMatchObject({ tokenized_path: '/tok', do_train: false })
  })
})

test.each(readdirSync('configs/sft'))('the preset %s builds', (file) => {
  const preset = parse(readFileSync(join('configs/sft', file), 'utf8')) as Record<string, unknown>
  const { values } = buildSft(request({ preset, presetFile: file, topology: { nodes: 24, gpusPerNode: 4 } }))
  expect(values).toMatchObject({ finetuning_type: 'full', learning_rate: expect.any(Number) })
})
