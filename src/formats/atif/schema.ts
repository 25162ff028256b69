import { z } from 'zod'
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
export const trajectorySchema: z.ZodType<Trajectory> = trajectory
