import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import {
  agentShape,
  atifVersions,
  finalMetricsShape,
  stepShape,
  type Trajectory,
  type TrajectoryStep,
  values,
} from './trajectory.ts'

const trajectory = z
  .strictObject({
    schema_version: z.enum(atifVersions),
    session_id: z.string().optional(),
    trajectory_id: z.string().optional(),
    agent: agentShape,
    steps: z.array(stepShape.superRefine(checkStep)).min(1),
    notes: z.string().optional(),
    final_metrics: finalMetricsShape.optional(),
    continued_trajectory_ref: z.string().optional(),
    extra: values.optional(),
    get subagent_trajectories() {
      return z.array(trajectorySchema).optional()
    },
  })
  .superRefine(checkTrajectory)

/** A whole trajectory, strict about field names and about every rule between fields. */
const trajectorySchema: z.ZodType<Trajectory> = trajectory

const hint = 'expected a trajectory in ATIF, version 1.0 to 1.8'

/** Validates data of any origin against every rule of the format. */
export function checkedTrajectory(raw: unknown, path: string): Trajectory {
  const parsed = trajectorySchema.safeParse(withoutNulls(raw))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new UserError(`${path}: ${issue?.path.join('.') || 'the document'}: ${issue?.message ?? 'not valid'}`, hint)
}

/** Inside these keys a null is data; elsewhere it means that a field is absent. */
const free = new Set(['arguments', 'extra', 'tool_definitions'])

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, item]) => item !== null)
  return Object.fromEntries(entries.map(([key, item]) => [key, free.has(key) ? item : withoutNulls(item)]))
}

type Context = z.core.$RefinementCtx

const agentOnly = ['model_name', 'reasoning_effort', 'reasoning_content', 'tool_calls', 'metrics'] as const

/** Checks what one step may hold, beyond the types of its fields. */
function checkStep(step: TrajectoryStep, context: Context): void {
  if (step.source !== 'agent') {
    for (const field of agentOnly) {
      if (step[field] === undefined) continue
      fail(context, [field], `only an agent's step has ${field}, this one is the ${step.source}'s`)
    }
  }
  if (step.llm_call_count === 0) {
    for (const field of ['metrics', 'reasoning_content'] as const) {
      if (step[field] !== undefined) fail(context, [field], `a step without a model call has no ${field}`)
    }
  }
  const calls = new Set(step.tool_calls?.map((call) => call.tool_call_id))
  for (const [i, { source_call_id: id }] of (step.observation?.results ?? []).entries()) {
    if (id === undefined || calls.has(id)) continue
    fail(context, ['observation', 'results', i, 'source_call_id'], `${JSON.stringify(id)} is no tool call of this step`)
  }
}

/** Checks the rules between parts of a trajectory. */
function checkTrajectory(trajectory: Trajectory, context: Context): void {
  for (const [i, { step_id: id }] of trajectory.steps.entries()) {
    if (id === i + 1) continue
    fail(context, ['steps', i, 'step_id'], `expected ${i + 1} (steps are numbered from 1), got ${id}`)
    break
  }
  checkReferences(trajectory, context)
  const ids = new Set<string>()
  for (const [i, { trajectory_id: id }] of (trajectory.subagent_trajectories ?? []).entries()) {
    const path = ['subagent_trajectories', i, 'trajectory_id']
    if (id === undefined) fail(context, path, 'a trajectory inside another needs an id')
    else if (ids.has(id)) fail(context, path, `${JSON.stringify(id)} is already used`)
    else ids.add(id)
  }
}

/** Checks references to other trajectories; before 1.7 a session id was enough. */
function checkReferences({ schema_version: version, steps }: Trajectory, context: Context): void {
  for (const [i, step] of steps.entries()) {
    for (const [j, result] of (step.observation?.results ?? []).entries()) {
      for (const [k, ref] of (result.subagent_trajectory_ref ?? []).entries()) {
        const isNamed = ref.trajectory_id !== undefined || ref.trajectory_path !== undefined
        if (isNamed || (isBefore17(version) && ref.session_id !== undefined)) continue
        const path = ['steps', i, 'observation', 'results', j, 'subagent_trajectory_ref', k]
        fail(context, path, 'expected a trajectory_id or a trajectory_path')
      }
    }
  }
}

function isBefore17(version: Trajectory['schema_version']): boolean {
  return !['ATIF-v1.7', 'ATIF-v1.8'].includes(version)
}

function fail(context: Context, path: (string | number)[], message: string): void {
  context.addIssue({ code: 'custom', path, message })
}
