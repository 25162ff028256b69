import type { StoredKind } from '../../store/rows/columns.ts'
import type { Shard } from '../../store/rows/shards.ts'
import type { JudgedAhead } from './judged-ahead.ts'
import type { LiveStage } from './resolve.ts'
import type { StepContext } from './step-run.ts'
import type { Step } from './steps.ts'

/** One step and everything it runs with. */
export interface StepWork {
  readonly step: Step
  readonly digest: string
  readonly dir: string
  readonly kind: StoredKind
  readonly inputKind: StoredKind
  readonly limit: number | null
  /**
   * The maximum number of rows per shard, though never fewer than its input shard has; null for no such limit. A
   * rehearsal tries stages that multiply rows on only a few.
   */
  readonly mostRows: number | null
  readonly shardRows: number
  /** Which shards this process makes: all, unless several processes share a recipe. */
  readonly mine: (index: number) => boolean
  /** Several processes share the recipe: none of them does work that needs every row. */
  readonly shared: boolean
  readonly at: StepContext
  /** Ordered filters directly below the step whose rows do not exist yet: its scan serves them too. */
  readonly below: readonly LiveStage[]
  readonly judged: JudgedAhead
  readonly signal: AbortSignal
  /** Called for each row the step takes (or gives, for a source). */
  readonly onRow: () => void
  readonly onShard: (shard: Shard) => void
}
