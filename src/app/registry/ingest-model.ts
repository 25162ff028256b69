import { dirname } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { Database } from '../../registry/database.ts'
import { registerTrainedModel } from '../../registry/entities.ts'

const text = z.string().nullish().default(null)

/** `run_summary.json` in our launcher's format and OpenThoughts-Agent's: only the model's name is always present. */
const summarySchema = z.object({
  model_name: z.string().min(1),
  agent_name: text,
  training_start: text,
  training_end: text,
  created_by: text,
  base_model_name: text,
  dataset_name: text,
  dataset_names: z.array(z.string()).nullish().default(null),
  training_type: z.enum(['SFT', 'RL']).nullish().catch(null).default(null),
  training_parameters: z.unknown().optional(),
  wandb_link: text,
  weights_location: text,
  exit_status: z.number().nullish().default(null),
  runs: z
    .array(z.object({ job_id: text }))
    .nullish()
    .default(null),
})

/** Registers the model of a training run, with its base model, its datasets and how the run ended. */
export async function ingestModel(
  database: Database,
  path: string,
  { weights, isPublic }: { readonly weights: string | undefined; readonly isPublic: boolean },
) {
  const parsed = summarySchema.safeParse(parseJson((await readTextIfExists(path)) ?? ''))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new UserError(
      `${path}: expected a run_summary.json: ${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'not valid'}`,
      'launch writes this file after a training run',
    )
  }
  const summary = parsed.data
  const names = summary.dataset_names ?? summary.dataset_name?.split(',') ?? []
  const model = {
    name: summary.model_name,
    baseModel: summary.base_model_name,
    datasets: names.map((name) => name.trim()).filter((name) => name !== ''),
    agent: summary.agent_name,
    trainingType: summary.training_type,
    status: statusOf(summary),
    run: summary.runs?.findLast(({ job_id }) => job_id !== null)?.job_id ?? dirname(path),
    startedAt: summary.training_start,
    endedAt: summary.training_end,
    parameters: summary.training_parameters,
    createdBy: summary.created_by,
    weightsLocation: weights ?? summary.weights_location,
    wandbLink: summary.wandb_link,
  } as const
  await database.transaction((queries) => registerTrainedModel(queries, model, isPublic))
  const { name, weightsLocation, wandbLink } = model
  return { kind: 'model', path, name, weightsLocation, wandbLink } as const
}

function statusOf({ exit_status, training_end }: z.output<typeof summarySchema>): 'started' | 'finished' | 'failed' {
  if (exit_status !== null) return exit_status === 0 ? 'finished' : 'failed'
  return training_end === null ? 'started' : 'finished'
}
