import { z } from 'zod'
import { parseTime } from './python-json.ts'

const time = z.string().transform((text, context) => {
  const utc = parseTime(text)
  if (utc === null) context.addIssue({ code: 'custom', message: `expected a time, got ${JSON.stringify(text)}` })
  return utc ?? text
})
export const timeOrNull = time.nullable().default(null)
export { time }

const span = z
  .object({ started_at: timeOrNull, finished_at: timeOrNull })
  .transform((raw) => (raw.started_at === null ? null : { startedAt: raw.started_at, finishedAt: raw.finished_at }))
  .nullable()
  .default(null)

const agentResult = z
  .object({
    n_input_tokens: z.number().nullable().default(null),
    n_cache_tokens: z.number().nullable().default(null),
    n_output_tokens: z.number().nullable().default(null),
    cost_usd: z.number().nullable().default(null),
    rollout_details: z.array(z.unknown()).nullable().default(null),
    metadata: z.record(z.string(), z.unknown()).nullable().default(null),
  })
  .nullable()
  .default(null)

const someRewards = z.record(z.string(), z.number()).nullable()

/** What an agent changed in the system its tests run in, stored in the agent's metadata. */
export const systemChanges = z
  .object({
    rewards_differ: z.boolean(),
    rewards_on_image: someRewards,
    rewards_on_agent: someRewards.exactOptional(),
    total: z.number(),
    files: z.array(z.object({ path: z.string(), change: z.enum(['modified', 'added', 'removed']) })),
  })
  .transform((raw) => ({
    restored: { files: raw.files, total: raw.total },
    onImage: raw.rewards_on_image,
    ...(raw.rewards_on_agent !== undefined && { onAgent: raw.rewards_on_agent }),
    differ: raw.rewards_differ,
  }))

/** Old trials have a single `reward` instead of named ones. */
const verifierResult = z
  .object({
    rewards: z.record(z.string(), z.number()).nullable().default(null),
    reward: z.number().nullable().default(null),
  })
  .nullable()
  .default(null)
  .transform((raw) => raw?.rewards ?? (raw?.reward == null ? null : { reward: raw.reward }))

const exceptionInfo = z
  .object({
    exception_type: z.string(),
    exception_message: z.string(),
    exception_traceback: z.string(),
    occurred_at: time,
  })
  .nullable()
  .default(null)

/** The result.json of a trial of any Harbor version; unknown keys are dropped. */
export const trialResultSchema = z.object({
  id: z.string(),
  task_name: z.string(),
  trial_name: z.string(),
  task_id: z.object({ path: z.string().default(''), ref: z.string().nullable().default(null) }),
  source: z.string().nullable().default(null),
  task_checksum: z.string(),
  config: z.unknown(),
  agent_info: z.object({
    name: z.string(),
    version: z.string(),
    model_info: z
      .object({ name: z.string(), provider: z.string().nullable().default(null) })
      .nullable()
      .default(null),
  }),
  agent_result: agentResult,
  verifier_result: verifierResult,
  exception_info: exceptionInfo,
  started_at: timeOrNull,
  finished_at: timeOrNull,
  environment_setup: span,
  agent_setup: span,
  agent_execution: span,
  verifier: span,
  step_results: z
    .array(
      z.object({
        step_name: z.string(),
        agent_result: agentResult,
        verifier_result: verifierResult,
        exception_info: exceptionInfo,
        agent_execution: span,
        verifier: span,
      }),
    )
    .nullable()
    .default(null),
})

export type RawTrialResult = z.output<typeof trialResultSchema>
export type RawStep = NonNullable<RawTrialResult['step_results']>[number]
export type RawAgentResult = RawTrialResult['agent_result']
export type RawException = NonNullable<RawTrialResult['exception_info']>
