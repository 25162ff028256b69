import { z } from 'zod'
import { UserError } from '../core/errors.ts'
import { parseJson, readJson } from '../lib/parse-json.ts'
import { readJsonDocument } from './harbor-job/read-config.ts'
import type { WandbRun } from './wandb-run.ts'

/** Facts about a training run known before it starts, as recorded by the launcher. */
export interface TrainingFacts {
  readonly modelName: string
  /** Null if no author was given. */
  readonly createdBy: string | null
  readonly baseModel: string | null
  readonly datasets: readonly string[]
  readonly trainingType: 'SFT' | 'RL'
  readonly parameters: Readonly<Record<string, unknown>>
  /** The Hub repository to which the trainer itself uploads. */
  readonly hubModel?: string | undefined
}

const factsSchema = z.strictObject({
  schema: z.literal('training-facts/1'),
  modelName: z.string(),
  createdBy: z.string().nullable(),
  baseModel: z.string().nullable(),
  datasets: z.array(z.string()),
  trainingType: z.enum(['SFT', 'RL']),
  parameters: z.record(z.string(), z.unknown()),
  hubModel: z.string().optional(),
})

export function renderTrainingFacts(facts: TrainingFacts): string {
  return `${JSON.stringify({ schema: 'training-facts/1', ...facts }, null, 2)}\n`
}

export function parseTrainingFacts(text: string, path: string): TrainingFacts {
  const parsed = factsSchema.safeParse(readJsonDocument(text, path))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UserError(`${path}: ${issue?.path.join('.')}: ${issue?.message}`, 'the launcher writes this file')
}

const runSchema = z.object({
  start: z.string(),
  end: z.string(),
  exit_code: z.number(),
  reason: z.string().nullable(),
  job_id: z.string().nullable(),
})

/** One execution of the trainer; a restarted run has several. */
export type TrainerRun = z.output<typeof runSchema>

/** The runs in an earlier summary; empty if there is none, or if it is not ours. */
export function runsIn(text: string | null): readonly TrainerRun[] {
  if (text === null) return []
  try {
    const parsed = z.object({ runs: z.array(runSchema) }).safeParse(readJson(text))
    return parsed.success ? parsed.data.runs : []
  } catch {
    return []
  }
}

/** The Weights & Biases link in an earlier summary. */
export function wandbLinkIn(text: string | null): string | null {
  const parsed = z.object({ wandb_link: z.string() }).safeParse(parseJson(text ?? ''))
  return parsed.success ? parsed.data.wandb_link : null
}

/** What the trainer left: the directory, and the contents of its files, if present. */
export interface TrainerFiles {
  readonly state: unknown
  readonly results: unknown
  readonly outputDir: string
  readonly wandb: WandbRun
}

/** `run_summary.json`: who trained what on what, when it ran, how it ended, and what the trainer reports. */
export function renderRunSummary(
  facts: TrainingFacts,
  runs: readonly TrainerRun[],
  { state, results, outputDir, wandb }: TrainerFiles,
): string {
  const dataset = facts.datasets.join(',')
  const last = runs.at(-1)
  const document = {
    model_name: facts.modelName,
    agent_name: /traces-([^/]+)$/.exec(dataset)?.[1] ?? null,
    training_start: runs[0]?.start ?? null,
    training_end: last?.end ?? null,
    created_by: facts.createdBy,
    base_model_name: facts.baseModel,
    dataset_name: dataset === '' ? null : dataset,
    training_type: facts.trainingType,
    training_parameters: facts.parameters,
    wandb_link: wandb.link,
    wandb_offline_run: wandb.offlineDir,
    // A trainer uploads at its end.
    weights_location: (last?.exit_code === 0 ? facts.hubModel : undefined) ?? outputDir,
    traces_location_s3: null,
    exit_status: last?.exit_code ?? null,
    runs,
    trainer: { ...progressOf(state), results: numbersOf(results) },
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

/** A trainer's progress, according to its own state. */
function progressOf(state: unknown): Record<string, unknown> {
  const { global_step, epoch, max_steps, best_metric, log_history } = Object(state)
  const logs: readonly unknown[] = Array.isArray(log_history) ? log_history : []
  const loss = logs.map((entry) => Object(entry).loss).findLast((value) => typeof value === 'number')
  return numbersOf({ global_step, max_steps, epoch, best_metric, last_loss: loss })
}

function numbersOf(document: unknown): Record<string, number> {
  const entries = Object.entries(Object(document)).filter(([, value]) => typeof value === 'number')
  return Object.fromEntries(entries.slice(0, 200)) as Record<string, number>
}
