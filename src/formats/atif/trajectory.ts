import { z } from 'zod'

/** The supported versions of the format. */
export const atifVersions = [
  'ATIF-v1.0',
  'ATIF-v1.1',
  'ATIF-v1.2',
  'ATIF-v1.3',
  'ATIF-v1.4',
  'ATIF-v1.5',
  'ATIF-v1.6',
  'ATIF-v1.7',
  'ATIF-v1.8',
] as const
/** The version we write. 1.8 only adds audio, which no agent here records, and Harbor before 0.25 cannot open it. */
export const atifVersion = 'ATIF-v1.7'

/** Anything others may add under `extra`. */
export const values = z.record(z.string(), z.unknown())
const count = z.int().nonnegative()
const timestamp = z.string().refine(isIsoTime, { error: 'expected an ISO 8601 time' })

const audioTypes = [
  ...(['audio/wav', 'audio/mpeg', 'audio/mp4', 'audio/aac'] as const),
  ...(['audio/ogg', 'audio/flac', 'audio/webm', 'audio/aiff'] as const),
] as const
const audioAliases: Readonly<Record<string, string>> = {
  ...{ mp3: 'mpeg', mpga: 'mpeg', 'x-mpeg': 'mpeg', 'x-wav': 'wav', wave: 'wav', 'vnd.wave': 'wav' },
  ...{ 'x-m4a': 'mp4', m4a: 'mp4', 'x-aac': 'aac', 'x-flac': 'flac', 'x-aiff': 'aiff' },
}

/** Alternative spellings of an audio type that Harbor accepts. */
function audioType(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const type = value.trim().toLowerCase()
  const alias = audioAliases[type.replace(/^audio\//, '')]
  return alias === undefined ? type : `audio/${alias}`
}

const contentPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('image'),
    source: z.strictObject({
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      path: z.string(),
    }),
  }),
  // Since 1.8.
  z.strictObject({
    type: z.literal('audio'),
    source: z.strictObject({
      media_type: z.preprocess(audioType, z.enum(audioTypes)),
      path: z.string(),
      duration_sec: z.number().nonnegative().optional(),
    }),
  }),
])
const content = z.union([z.string(), z.array(contentPart)])

const toolCall = z.strictObject({
  tool_call_id: z.string(),
  function_name: z.string(),
  arguments: values,
  extra: values.optional(),
})

const subagentRef = z.strictObject({
  trajectory_id: z.string().optional(),
  session_id: z.string().optional(),
  trajectory_path: z.string().optional(),
  extra: values.optional(),
})

const observation = z.strictObject({
  results: z.array(
    z.strictObject({
      source_call_id: z.string().optional(),
      content: content.optional(),
      subagent_trajectory_ref: z.array(subagentRef).optional(),
      extra: values.optional(),
    }),
  ),
})

const metrics = z.strictObject({
  prompt_tokens: count.optional(),
  completion_tokens: count.optional(),
  cached_tokens: count.optional(),
  cost_usd: z.number().optional(),
  prompt_token_ids: z.array(z.int()).optional(),
  completion_token_ids: z.array(z.int()).optional(),
  logprobs: z.array(z.number()).optional(),
  extra: values.optional(),
})

/** One step, before checking the rules between its fields. */
export const stepShape = z.strictObject({
  step_id: z.int().positive(),
  timestamp: timestamp.optional(),
  source: z.enum(['system', 'user', 'agent']),
  model_name: z.string().optional(),
  reasoning_effort: z.union([z.string(), z.number()]).optional(),
  message: content,
  reasoning_content: z.string().optional(),
  tool_calls: z.array(toolCall).optional(),
  observation: observation.optional(),
  metrics: metrics.optional(),
  is_copied_context: z.boolean().optional(),
  llm_call_count: count.optional(),
  extra: values.optional(),
})

/** The creator of a trajectory. */
export const agentShape = z.strictObject({
  name: z.string(),
  version: z.string(),
  model_name: z.string().optional(),
  tool_definitions: z.array(values).optional(),
  extra: values.optional(),
})

/** A trajectory's totals. */
export const finalMetricsShape = z.strictObject({
  total_prompt_tokens: count.optional(),
  total_completion_tokens: count.optional(),
  total_cached_tokens: count.optional(),
  total_cost_usd: z.number().optional(),
  total_steps: count.optional(),
  extra: values.optional(),
})

/** A trajectory in the Agent Trajectory Interchange Format: what one agent said, did and saw, step by step. */
export interface Trajectory {
  schema_version: (typeof atifVersions)[number]
  session_id?: string | undefined
  trajectory_id?: string | undefined
  agent: z.output<typeof agentShape>
  steps: TrajectoryStep[]
  notes?: string | undefined
  final_metrics?: z.output<typeof finalMetricsShape> | undefined
  continued_trajectory_ref?: string | undefined
  extra?: Record<string, unknown> | undefined
  subagent_trajectories?: Trajectory[] | undefined
}

export type TrajectoryStep = z.output<typeof stepShape>
export type Observation = z.output<typeof observation>
export type StepMetrics = z.output<typeof metrics>
export type FinalMetrics = z.output<typeof finalMetricsShape>
export type SubagentRef = z.output<typeof subagentRef>
export type TrajectoryAgent = z.output<typeof agentShape>

function isIsoTime(text: string): boolean {
  const isIso = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?$/.test(text)
  return isIso && !Number.isNaN(Date.parse(text.slice(0, 10)))
}
