import type { StepOutput } from '../../store/rows/step-dir.ts'
import type { SunkStage } from './run-sink.ts'

/** What a recipe made, and what already existed. */
export interface RecipeOutcome {
  /** Steps in order, as far as they exist. */
  readonly steps: readonly StepOutput[]
  readonly cached: readonly string[]
  readonly sinks: readonly SunkStage[]
  /** The step with shards that other processes have yet to finish; null when everything exists. */
  readonly waitingAt: string | null
  /** In a rehearsal: the step that left no rows, where the rehearsal ended. */
  readonly emptyAt?: string | undefined
}
