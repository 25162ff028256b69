import { z } from 'zod'
import { messageOf, UserError } from '../../core/errors.ts'
import { readJson } from '../../lib/parse-json.ts'
import { checkStep, checkTrajectory } from './rules.ts'
import { agentShape, atifVersions, finalMetricsShape, stepShape, type Trajectory, values } from './trajectory.ts'

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

/** A whole trajectory: strict about names and about every rule between fields. */
const trajectorySchema: z.ZodType<Trajectory> = trajectory

const hint = 'expected a trajectory in ATIF, version 1.0 to 1.8'

/** Reads the text of a trajectory of any version; throws UserError that names the first field that is wrong. */
export function parseTrajectory(text: string, path = 'trajectory.json'): Trajectory {
  let raw: unknown
  try {
    raw = readJson(text)
  } catch (error) {
    throw new UserError(`${path} is not JSON: ${messageOf(error)}`, hint)
  }
  return checkedTrajectory(raw, path)
}

/** A trajectory that keeps every rule of the format, from data of any origin. */
export function checkedTrajectory(raw: unknown, path: string): Trajectory {
  const parsed = trajectorySchema.safeParse(withoutNulls(raw))
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new UserError(`${path}: ${issue?.path.join('.') || 'the document'}: ${issue?.message ?? 'not valid'}`, hint)
}

/** Inside these a null is data; elsewhere it means that a field is not there. */
const free = new Set(['arguments', 'extra', 'tool_definitions'])

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, item]) => item !== null)
  return Object.fromEntries(entries.map(([key, item]) => [key, free.has(key) ? item : withoutNulls(item)]))
}
