import { basename } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { checkOverride, type Override, renderOverride } from './overrides.ts'

/** A file in configs/rl: the training program and its settings. */
export const rlPresetSchema = z.strictObject({
  /** A Python module, run with -m. */
  entrypoint: z.string().regex(/^\w+(\.\w+)+$/, 'expected a Python module such as skyrl.entrypoints.main'),
  /** Groups of settings that belong to the entry point, not to SkyRL. */
  own_groups: z.array(z.string()).default([]),
  /**
   * In strings, {output_dir} stands for this run's output directory, and {model_name} for the model's name without its
   * organization.
   */
  settings: z.record(z.string(), z.unknown()).default({}),
})
export type RlPreset = z.output<typeof rlPresetSchema>

export interface RlRequest {
  readonly jobName: string
  readonly preset: RlPreset
  readonly presetFile: string
  /** Directories of tasks, already unpacked from their parquet files. */
  readonly trainData: readonly string[]
  readonly valData: readonly string[]
  readonly modelPath: string
  /** From `-S key=value`. */
  readonly overrides: readonly Override[]
  readonly topology: { readonly nodes: number; readonly gpusPerNode: number }
  readonly outputDir: string
  readonly internet: boolean
  /** Whether the job will have a Weights & Biases key, without which SkyRL does not start if its logger is on. */
  readonly hasWandbKey: boolean
}

export interface RlPlan {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** A SkyRL training run as a command. */
export function buildRl(request: RlRequest): RlPlan {
  const { preset, presetFile, overrides, jobName, outputDir } = request
  const reserved = reservedOf(request)
  const settings = Object.entries(preset.settings).map(([key, value]) => ({ key, value: filled(value, request) }))
  refuseReserved(settings, reserved, presetFile)
  refuseReserved(overrides, reserved, '-S')
  for (const each of settings) checkOverride(each, presetFile, preset.own_groups)
  for (const each of overrides) checkOverride(each, '-S', preset.own_groups)
  const chosen = new Map([...settings, ...overrides].map(({ key, value }) => [key, value]))
  const merged = new Map([
    ...[...placement(request, chosen), { key: 'trainer.logger', value: request.hasWandbKey ? 'wandb' : 'console' }].map(
      ({ key, value }) => [key, value] as const,
    ),
    ...chosen,
    ...reserved.map(({ key, value }) => [key, value] as const),
  ])
  const offline = !request.internet && { WANDB_MODE: 'offline', HF_HUB_OFFLINE: '1' }
  return {
    command: ['python', '-m', preset.entrypoint, ...[...merged].map(([key, value]) => renderOverride({ key, value }))],
    env: { WANDB_NAME: jobName, WANDB_DIR: outputDir, ...offline },
  }
}

/** How many tasks a batch needs: SkyRL does not start with fewer. Null if neither preset nor flag says. */
export function trainBatchSize({ preset, overrides }: Pick<RlRequest, 'preset' | 'overrides'>): number | null {
  const key = 'trainer.train_batch_size'
  const value = overrides.findLast((each) => each.key === key)?.value ?? preset.settings[key]
  return typeof value === 'number' ? value : null
}

function filled(value: unknown, { outputDir, modelPath }: RlRequest): unknown {
  if (typeof value !== 'string') return value
  return value.replaceAll('{output_dir}', outputDir).replaceAll('{model_name}', basename(modelPath))
}

/** Settings that only dedicated flags may decide. */
function reservedOf({ trainData, valData, modelPath, jobName, outputDir }: RlRequest): readonly Override[] {
  return [
    { key: 'data.train_data', value: trainData },
    { key: 'data.val_data', value: valData },
    { key: 'trainer.policy.model.path', value: modelPath },
    { key: 'trainer.run_name', value: jobName },
    { key: 'trainer.ckpt_path', value: `${outputDir}/checkpoints` },
    { key: 'trainer.export_path', value: `${outputDir}/exports` },
    { key: 'trainer.resume_mode', value: 'latest' },
  ]
}

function refuseReserved(given: readonly Override[], reserved: readonly Override[], where: string): void {
  const clash = given.find(({ key }) => reserved.some((each) => each.key === key))
  if (clash)
    throw new UserError(
      `${where}: ${clash.key} is set by the launcher itself`,
      'use --train-data, --val-data, --model-path, --job-name or --experiments-dir',
    )
}

/** Where the parts of training run, according to the requested nodes; a preset may override it. */
function placement(
  { topology: { nodes, gpusPerNode } }: RlRequest,
  chosen: ReadonlyMap<string, unknown>,
): readonly Override[] {
  const trained = ['policy', 'ref'].flatMap((part) => [
    { key: `trainer.placement.${part}_num_nodes`, value: nodes },
    { key: `trainer.placement.${part}_num_gpus_per_node`, value: gpusPerNode },
  ])
  if (chosen.get('trainer.placement.colocate_all') !== true) return trained
  // Engines that share the policy's GPUs must fill them exactly.
  const sizes = ['tensor', 'pipeline', 'data'].map((kind) =>
    Number(chosen.get(`generator.inference_engine.${kind}_parallel_size`) ?? 1),
  )
  const perEngine = sizes.reduce((product, size) => product * size, 1)
  const value = Math.max(1, Math.floor((nodes * gpusPerNode) / perEngine))
  return [...trained, { key: 'generator.inference_engine.num_engines', value }]
}
