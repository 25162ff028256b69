import type { StepOutput } from '../../store/rows/step-dir.ts'
import type { SunkStage } from './run-sink.ts'

/** What a recipe made, and what it found made before. */
export interface RecipeOutcome {
  /** Steps in order, as far as they are there. */
  readonly steps: readonly StepOutput[]
  readonly cached: readonly string[]
  readonly sinks: readonly SunkStage[]
  /** The step other processes have yet to finish shards of; null when everything is there. */
  readonly waitingAt: string | null
  /** In a rehearsal: the step that left no rows, where it ended. */
  readonly emptyAt?: string | undefined
}
