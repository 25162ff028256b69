import { stringify } from 'yaml'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { checkOverride, type Override, renderOverride } from './overrides.ts'

/** A file of configs/rl: which program trains, and with which settings. */
export const rlPresetSchema = z.strictObject({
  /** A Python module, run with -m. */
  entrypoint: z.string().regex(/^\w+(\.\w+)+$/, 'expected a Python module such as skyrl.entrypoints.main'),
  /** Groups of settings that belong to the entry point, not to SkyRL. */
  own_groups: z.array(z.string()).default([]),
  /** What trials are run with; written as a file, and named to the entry point by `trial_config_key`. */
  trial_config: z.record(z.string(), z.unknown()).optional(),
  trial_config_key: z.string().optional(),
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
  /** `-S key=value`. */
  readonly overrides: readonly Override[]
  readonly topology: { readonly nodes: number; readonly gpusPerNode: number }
  readonly outputDir: string
  readonly configDir: string
  readonly internet: boolean
}

export interface RlPlan {
  readonly command: readonly string[]
  readonly files: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string>>
}

/** A training run of SkyRL as a command and the files it reads. */
export function buildRl(request: RlRequest): RlPlan {
  const { preset, presetFile, overrides, jobName } = request
  const reserved = reservedOf(request)
  const settings = Object.entries(preset.settings).map(([key, value]) => ({ key, value }))
  refuseReserved(settings, reserved, presetFile)
  refuseReserved(overrides, reserved, '-S')
  for (const each of settings) checkOverride(each, presetFile, preset.own_groups)
  for (const each of overrides) checkOverride(each, '-S', preset.own_groups)
  const file = `${jobName}_trial_config.yaml`
  const merged = new Map(
    [...placement(request), ...settings, ...overrides, ...reserved].map(({ key, value }) => [key, value]),
  )
  if (preset.trial_config && preset.trial_config_key)
    merged.set(preset.trial_config_key, `${request.configDir}/${file}`)
  const words = [...merged].map(([key, value]) => renderOverride({ key, value }))
  return {
    command: ['python', '-m', preset.entrypoint, ...words],
    files: preset.trial_config ? { [file]: stringify(preset.trial_config) } : {},
    env: { WANDB_NAME: jobName, ...(!request.internet && { WANDB_MODE: 'offline', HF_HUB_OFFLINE: '1' }) },
  }
}

/** Settings that flags decide: nobody else may. */
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
  const clash = given.find(({ key }) => reserved.some((each) => each.key === key.replace(/^\++/, '')))
  if (clash)
    throw new UserError(
      `${where}: ${clash.key} is set by the launcher itself`,
      'use --train-data, --val-data, --model-path, --job-name or --experiments-dir',
    )
}

/** Where the parts of the training run, by the nodes that were asked for; a preset may say otherwise. */
function placement({ topology: { nodes, gpusPerNode } }: RlRequest): readonly Override[] {
  return ['policy', 'ref'].flatMap((part) => [
    { key: `trainer.placement.${part}_num_nodes`, value: nodes },
    { key: `trainer.placement.${part}_num_gpus_per_node`, value: gpusPerNode },
  ])
}
