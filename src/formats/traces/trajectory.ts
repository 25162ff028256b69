import { z } from 'zod'
import { messageOf } from '../../core/errors.ts'
import { readJson } from '../../lib/parse-json.ts'
import { markNumbers } from './exact-numbers.ts'

/** The part of a content part that traces need; anything but text is media. */
const part = z.object({ type: z.string(), text: z.string().nullish() })
const content = z.union([z.string(), z.array(part)])

const subagentRef = z.object({ trajectory_id: z.string().nullish(), trajectory_path: z.string().nullish() })

const step = z.object({
  source: z.enum(['system', 'user', 'agent']),
  timestamp: z.string().nullish(),
  model_name: z.string().nullish(),
  message: content.nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z
    .array(z.object({ function_name: z.string(), arguments: z.record(z.string(), z.unknown()).nullish() }))
    .nullish(),
  observation: z
    .object({
      results: z
        .array(z.object({ content: content.nullish(), subagent_trajectory_ref: z.array(subagentRef).nullish() }))
        .nullish(),
    })
    .nullish(),
  metrics: z.object({ prompt_tokens: z.number().nullish(), completion_tokens: z.number().nullish() }).nullish(),
  is_copied_context: z.boolean().nullish(),
})

const trajectory = z.object({
  schema_version: z.string().regex(/^ATIF-v1\.\d+$/, 'expected ATIF-v1.x'),
  trajectory_id: z.string().nullish(),
  agent: z.object({
    name: z.string(),
    model_name: z.string().nullish(),
    tool_definitions: z.array(z.unknown()).nullish(),
  }),
  steps: z.array(step),
  final_metrics: z
    .object({
      total_prompt_tokens: z.number().nullish(),
      total_completion_tokens: z.number().nullish(),
      total_cost_usd: z.number().nullish(),
    })
    .nullish(),
  continued_trajectory_ref: z.string().nullish(),
})

const withSubagents = trajectory.extend({ subagent_trajectories: z.array(trajectory).nullish() })

export type TraceContent = z.output<typeof content>
export type TraceStep = z.output<typeof step>
export type TraceTrajectory = z.output<typeof withSubagents>

/**
 * Reads what a trace needs from an ATIF trajectory of any version, or returns why it cannot. It requires no more than
 * that: an export must not lose a trial over a key that no column uses. Numbers in tool arguments are marked: see
 * `markNumbers`.
 */
export function readTraceTrajectory(bytes: Uint8Array): TraceTrajectory | { readonly wrong: string } {
  let document: unknown
  try {
    document = readJson(markNumbers(utf8.decode(bytes)))
  } catch (error) {
    return { wrong: `no JSON: ${messageOf(error).slice(0, 200)}` }
  }
  const parsed = withSubagents.safeParse(document)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  return { wrong: `no trajectory: ${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'not valid'}` }
}

/** Reads a single step of a trajectory, or returns what is wrong with it. */
export function readTraceStep(value: unknown): TraceStep | { readonly wrong: string } {
  const parsed = step.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  return { wrong: `${issue?.path.join('.') || 'the step'}: ${issue?.message ?? 'not valid'}` }
}

const utf8 = new TextDecoder('utf-8')
