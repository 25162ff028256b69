import type { LiveStage } from './resolve.ts'

/** Stages that run as one: rows go through all of them without being written to disk in between. */
export interface Step {
  /** The id of its last stage, by which later steps refer to it. */
  readonly id: string
  readonly stages: readonly LiveStage[]
  /** The steps its rows come from. */
  readonly from: readonly string[]
}

/**
 * Fuses adjacent stages of the same form into steps. Sources, whole-set stages and sinks stand alone, and the output of
 * expensive stages is kept.
 */
export function planSteps(stages: readonly LiveStage[]): readonly Step[] {
  const steps: Step[] = []
  const taken = new Map<string, number>()
  for (const { from } of stages) for (const id of from) taken.set(id, (taken.get(id) ?? 0) + 1)
  for (const stage of stages) {
    const above = steps.at(-1)
    if (above && fuses(above, stage, taken)) {
      steps[steps.length - 1] = { id: stage.id, stages: [...above.stages, stage], from: above.from }
    } else {
      steps.push({ id: stage.id, stages: [stage], from: stage.from })
    }
  }
  return steps
}

/**
 * Whether a single process must make a step, because it needs every row or makes all of them at once, as a pipeline
 * does.
 */
export function isUndivided({ stages: [first] }: Pick<Step, 'stages'>): boolean {
  if (first?.form !== 'source') return first?.form === 'whole' || first?.form === 'sink'
  return 'expensive' in first.stage && first.stage.expensive === true
}

function fuses(above: Step, stage: LiveStage, taken: ReadonlyMap<string, number>): boolean {
  const last = above.stages.at(-1)
  if (!last || stage.from.length !== 1 || stage.from[0] !== last.id || taken.get(last.id) !== 1) return false
  if ('expensive' in last.stage && last.stage.expensive) return false
  return stage.form === last.form && (stage.form === 'stream' || stage.form === 'sql-filter')
}
