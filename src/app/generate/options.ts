import { type ZodObject, z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { nearest } from '../../lib/nearest.ts'
import { ownOptions, parseOwnOptions } from './own-options.ts'

const number = z.preprocess(
  (value) => (typeof value === 'string' && value.trim() !== '' ? Number(value) : value),
  z.number(),
)
const whole = (least: number) => number.pipe(z.int().min(least)).optional()
const text = z.string().min(1).optional()
const flag = z.boolean().optional()
const texts = z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional()
const share = z.object({ index: z.int(), of: z.int() }).optional()

/** The options of every pipeline, named after the flags of `ot-agent generate`. */
const schema = z.strictObject({
  stage: z.enum(['tasks', 'traces', 'both']).default('tasks'),
  source: z.string().min(1).default('fixture'),
  limit: whole(1),
  seed: number.pipe(z.int().min(0)).default(42),
  inputDir: text,
  outputDir: text,
  overwrite: flag,
  tasksInput: text,
  fromParquet: z.union([z.string(), z.literal(true)]).optional(),
  tasksRepo: text,
  tasksRevision: text,
  parquetName: text,
  dryRun: flag,
  targetRepo: text,
  upload: z.boolean().default(true),
  check: z.boolean().default(true),
  decontaminate: z.boolean().default(true),
  checkRepeats: number.pipe(z.int().min(1)).default(2),
  nConcurrent: whole(1),
  environment: z.string().min(1).default('local'),
  environmentKwarg: texts,
  sandboxCpu: whole(1),
  sandboxMemoryGb: whole(1),
  sandboxDiskGb: whole(1),
  sandboxGpu: whole(0),
  endpointJson: text,
  passEnv: texts,
  restartInterrupted: flag,
  quiet: flag,
  json: flag,
  model: texts,
  apiBase: text,
  engine: text,
  engineConfig: text,
  engineKwarg: texts,
  apiKeyEnv: text,
  rpm: number.optional(),
  tpm: number.optional(),
  budgetUsd: number.optional(),
  budgetTokens: whole(1),
  budgetRequests: whole(1),
  budgetSec: number.optional(),
  adaptive: flag,
  adaptiveMin: whole(1),
  adaptiveMax: whole(1),
  adaptiveInterval: number.optional(),
  judgeModel: text,
  judgeApiBase: text,
  judgeApiKeyEnv: text,
  judgeEngineKwarg: texts,
  traceAgentName: text,
  traceModel: text,
  traceAgentKwargs: text,
  traceHarborConfig: text,
  traceJobsDir: text,
  traceShare: share,
  traceStore: z.enum(['harbor', 'packed']).optional(),
  traceEnv: text,
  traceNConcurrent: whole(1),
  traceNAttempts: whole(1),
  traceEpisodes: z.enum(['last', 'all']).optional(),
  traceExportFilter: z.enum(['success', 'failure', 'none']).optional(),
  traceDatasetType: text,
  traceExportSubagents: flag,
  traceSkipSubagents: flag,
  traceAgentTimeoutSec: number.optional(),
  traceVerifierTimeoutSec: number.optional(),
  traceEvalOnly: flag,
  disableVerification: flag,
  agentMayModifySystem: flag,
})

/** The names of the options of every pipeline. */
export const generateOptionNames: readonly string[] = Object.keys(schema.shape)

/** The options of a pipeline run, including the pipeline's own under their own names. */
export type GenerateOptions = z.output<typeof schema>

/** A pipeline's arguments as a recipe or program gives them; `max_rows` and `max-rows` also mean `maxRows`. */
export type PipelineArgs = Readonly<Record<string, unknown>>

/** Parses a pipeline's arguments; an unknown one is a UserError. */
export function parsePipelineArgs(pipeline: string, args: PipelineArgs, own: ZodObject | undefined): GenerateOptions {
  const given = Object.entries(args).map(([name, value]) => [camelCase(name), value] as const)
  const ownNames = ownOptions(own).map(([name]) => name)
  const common = schema.safeParse(Object.fromEntries(given.filter(([name]) => !ownNames.includes(name))))
  if (!common.success) throw wrongArgs(pipeline, common.error.issues[0], ownNames)
  const mine = Object.fromEntries(given.filter(([name]) => ownNames.includes(name)))
  parseOwnOptions(own, mine)
  return { ...common.data, ...mine }
}

function wrongArgs(pipeline: string, issue: z.core.$ZodIssue | undefined, ownNames: readonly string[]): UserError {
  const known = [...ownNames, ...generateOptionNames]
  const help = `ot-agent generate ${/^[\w-]+$/.test(pipeline) ? `data/${pipeline}/generate.ts` : pipeline} --help lists its arguments`
  if (issue?.code !== 'unrecognized_keys')
    return new UserError(`pipeline ${pipeline}: ${issue?.path.join('.')}: ${issue?.message}`, help)
  const [unknown = ''] = issue.keys
  const near = nearest(unknown, known)
  return new UserError(
    `pipeline ${pipeline}: unknown argument ${JSON.stringify(unknown)}`,
    near === null ? help : `did you mean ${near}? ${help}`,
  )
}

export function camelCase(name: string): string {
  return name.replace(/[-_]+([a-zA-Z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
