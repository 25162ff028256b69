import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { buildRl, type RlRequest, rlPresetSchema } from './build-rl.ts'
import { checkOverride, parseOverride, renderOverride } from './overrides.ts'

const presets = readdirSync('configs/rl').map((file) => ({
  file,
  preset: rlPresetSchema.parse(parse(readFileSync(join('configs/rl', file), 'utf8'))),
}))
const request = (more: Partial<RlRequest> = {}): RlRequest => ({
  jobName: 'rl',
  preset: rlPresetSchema.parse({ entrypoint: 'a.b' }),
  presetFile: 'p.yaml',
  trainData: ['/data/a tasks', '/data/b'],
  valData: ['/data/v'],
  modelPath: 'Qwen/Qwen3-8B',
  overrides: [],
  topology: { nodes: 4, gpusPerNode: 2 },
  outputDir: '/out',
  internet: true,
  hasWandbKey: false,
  ...more,
})

describe('settings', () => {
  test.each([
    ['trainer.epochs=3', { key: 'trainer.epochs', value: 3 }],
    ['trainer.run_name=a=b', { key: 'trainer.run_name', value: 'a=b' }],
    ['data.val_data=["x"]', { key: 'data.val_data', value: ['x'] }],
  ])('%s is read', (text, parsed) => {
    expect(parseOverride(text, '-S')).toEqual(parsed)
  })

  test.each([
    ['trainer.epoch=3', 'did you mean trainer.epochs?'],
    ['trainr.epochs=3', 'did you mean trainer?'],
    ['trainer.epochs.more=3', 'nothing below it'],
  ])('%s is refused with a cure', (text, hint) => {
    expect(() => checkOverride(parseOverride(text, '-S'), '-S')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining(hint) }),
    )
  })

  test('a value of the wrong kind and a key with + are refused; a key of the entry point is not looked at', () => {
    expect(() => checkOverride({ key: 'trainer.epochs', value: 'many' }, '-S')).toThrow(/expected int/)
    expect(() => checkOverride({ key: '+own.x', value: 'many' }, '-S', ['own'])).toThrow(/a key without a leading \+/)
    expect(() => checkOverride({ key: 'own.x', value: 1 }, '-S', ['own'])).not.toThrow()
    expect(() =>
      checkOverride({ key: 'generator.inference_engine.engine_init_kwargs.anything', value: 1 }, '-S'),
    ).not.toThrow()
  })

  test.each([
    [{ key: 'a', value: ['x y', "it's", 'plain'] }, `a=["x y","it's",plain]`],
    [{ key: 'a', value: 'true' }, 'a="true"'],
    [{ key: 'a', value: 'no' }, 'a="no"'],
    [{ key: 'a', value: '-' }, 'a="-"'],
    [{ key: 'a', value: { b: 1, c: [true, null] } }, 'a={b: 1, c: [true,null]}'],
    [{ key: 'a', value: '/data/x_1:y' }, 'a=/data/x_1:y'],
    [{ key: 'a', value: 'x: y' }, 'a="x: y"'],
  ])('%j is rendered as one argument, which YAML reads back', (override, text) => {
    expect(renderOverride(override)).toBe(text)
    expect(parse(text.slice(2), { version: '1.1' })).toEqual(override.value)
  })
})

describe('a training run', () => {
  test('is a command whose flags win over the preset, and -S over both', () => {
    const preset = rlPresetSchema.parse({ entrypoint: 'a.b', settings: { 'trainer.epochs': 1, 'trainer.seed': 5 } })
    const { command } = buildRl(request({ preset, overrides: [{ key: 'trainer.epochs', value: 9 }] }))
    expect(command.slice(0, 3)).toEqual(['python', '-m', 'a.b'])
    expect(command).toEqual(
      expect.arrayContaining(['trainer.epochs=9', 'trainer.seed=5', 'data.train_data=["/data/a tasks",/data/b]']),
    )
  })

  test.each(['data.train_data', 'trainer.policy.model.path', 'data.val_data'])('%s belongs to the launcher', (key) => {
    expect(() => buildRl(request({ overrides: [{ key, value: 'x' }] }))).toThrow(/set by the launcher itself/)
  })

  test.each(presets)('the preset $file builds, with what the Harbor entry point insists on', ({ file, preset }) => {
    const { command, env } = buildRl(request({ preset, presetFile: file }))
    expect(command).toContain(preset.entrypoint)
    expect(command.filter((word) => word.startsWith('+') || /[{}]/.test(word))).toEqual([])
    expect(command).toEqual(
      expect.arrayContaining([
        'trainer.algorithm.max_seq_len=32768',
        'generator.inference_engine.served_model_name=Qwen3-8B',
        'generator.inference_engine.num_engines=8',
        'harbor_trial_config.trials_dir=/out/trials',
        'trainer.logger=console',
      ]),
    )
    expect(env.WANDB_DIR).toBe('/out')
  })

  test('reports to Weights & Biases where there is a key, unless it is told otherwise', () => {
    const loggers = (more: Partial<RlRequest>) =>
      buildRl(request({ hasWandbKey: true, ...more })).command.filter((word) => word.startsWith('trainer.logger='))
    expect(loggers({})).toEqual(['trainer.logger=wandb'])
    expect(loggers({ overrides: [{ key: 'trainer.logger', value: 'tensorboard' }] })).toEqual([
      'trainer.logger=tensorboard',
    ])
  })

  test('fills the GPUs of the policy with engines, as large as they are', () => {
    const overrides = [
      { key: 'trainer.placement.colocate_all', value: true },
      { key: 'generator.inference_engine.tensor_parallel_size', value: 2 },
    ]
    expect(buildRl(request({ overrides })).command).toContain('generator.inference_engine.num_engines=4')
    expect(buildRl(request()).command.join(' ')).not.toContain('num_engines')
  })
})
