import { UserError } from '../../core/errors.ts'
import type { TrainingValues } from './training-values.ts'

export interface Topology {
  readonly nodes: number
  readonly gpusPerNode: number
}

/** Keys that split one model over several GPUs, which then see the same examples. */
const parallelKeys = [
  'tensor_model_parallel_size',
  'pipeline_model_parallel_size',
  'expert_model_parallel_size',
  'context_parallel_size',
] as const

/** Gradient accumulation steps for an update over `global_batch_size` examples; refused if that is not an integer. */
export function accumulationSteps(values: TrainingValues, { nodes, gpusPerNode }: Topology): number | null {
  const global = values.global_batch_size
  if (typeof global !== 'number') return null
  const gpus = nodes * gpusPerNode
  const together = parallelKeys.reduce((product, key) => product * numberOf(values[key]), 1)
  if (gpus % together !== 0)
    throw new UserError(
      `${gpus} GPUs cannot be split into groups of ${together}, which the parallel sizes need`,
      `parallel sizes: ${parallelKeys.map((key) => `${key} ${numberOf(values[key])}`).join(', ')}`,
    )
  const perDevice = numberOf(values.per_device_train_batch_size)
  const perStep = perDevice * (gpus / together)
  if (global % perStep === 0) return global / perStep
  throw new UserError(
    `a global batch of ${global} is not a multiple of ${perStep}: ${perDevice} on each of ${gpus / together} groups of GPUs`,
    `use ${Math.max(1, Math.round(global / perStep)) * perStep}, or change the nodes or per_device_train_batch_size`,
  )
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 1
}
