import type { StoredKind } from '../../store/rows/columns.ts'
import type { Shard } from '../../store/rows/shards.ts'
import type { JudgedAhead } from './judged-ahead.ts'
import type { LiveStage } from './resolve.ts'
import type { StepContext } from './step-run.ts'
import type { Step } from './steps.ts'

/** One step and everything it is run with. */
export interface StepWork {
  readonly step: Step
  readonly digest: string
  readonly dir: string
  readonly kind: StoredKind
  readonly inputKind: StoredKind
  readonly limit: number | null
  /** The most rows for each shard, or as many as it took; null: no such limit. A rehearsal tries what multiplies rows on few. */
  readonly mostRows: number | null
  readonly shardRows: number
  /** Which shards this process makes: all of them, unless several share a recipe. */
  readonly mine: (index: number) => boolean
  /** Several processes share the recipe: none of them does what needs every row. */
  readonly shared: boolean
  readonly at: StepContext
  /** Ordered filters right below the step whose rows are not there yet: its scan is theirs too. */
  readonly below: readonly LiveStage[]
  readonly judged: JudgedAhead
  readonly signal: AbortSignal
  /** Called for each row that it takes, or gives if it is a source. */
  readonly onRow: () => void
  readonly onShard: (shard: Shard) => void
}
