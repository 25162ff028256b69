import type { TraceStep, TraceTrajectory } from './trajectory.ts'
import type { Subagent } from './trial-trajectories.ts'
import { type Turn, turnsOfStep } from './turns.ts'

/** What the subagents that a step refers to said, each turn under its speaker's name; what they were only handed is left out. */
export function inlineTurns(step: TraceStep, subagents: readonly Subagent[]): Turn[] {
  const names = namesIn(step)
  return subagents
    .filter((subagent) => subagent.names.some((name) => names.includes(name)))
    .flatMap(({ label, read }) => ('good' in read ? transcript(label, read.good) : []))
}

/** The subagents a step refers to, by file name or id. */
export function namesIn(step: TraceStep): string[] {
  const refs = (step.observation?.results ?? []).flatMap((result) => result.subagent_trajectory_ref ?? [])
  return refs
    .flatMap((ref) => [ref.trajectory_id, ref.trajectory_path?.split('/').at(-1)])
    .filter((name) => name != null)
}

function transcript(label: string, { steps }: TraceTrajectory): Turn[] {
  const turns = steps.filter((step) => step.is_copied_context !== true).flatMap(turnsOfStep)
  return turns.map((turn) => ({
    ...turn,
    content: `[subagent:${label}] ${turn.role.toUpperCase()}: ${turn.content}`,
  }))
}
