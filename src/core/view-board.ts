/** Something that was evaluated: a benchmark in one version. */
export interface ViewBenchmark {
  /** `name@version`, or the name alone where no version is known. */
  readonly key: string
  /** The largest number of tasks in any run of it. */
  readonly tasks: number
  /** How many runs were compared with each other for the ranks. */
  readonly ranked: number
}

/** The newest result of a model and agent on a benchmark. */
export interface ViewBoardCell {
  readonly accuracy: number
  /** A 95 % interval. */
  readonly low: number
  readonly high: number
  readonly tasks: number
  readonly trials: number
  /** Infrastructure failures, which do not count as a reward of 0. */
  readonly failed: number
  readonly costUsd: number | null
  readonly startedAt: string
  /** Finished runs of the same model, agent and benchmark. */
  readonly runs: number
  readonly jobName: string
  /** The job's id, if the viewer has that job. */
  readonly job: string | null
  readonly state: 'finished' | 'partial'
  /** One more than the number of runs known to be better. Null for partial results. */
  readonly rank: number | null
  /** Whether others have the same rank. */
  readonly tied: boolean
}

/** A line of the leaderboard: a model with an agent. */
export interface ViewBoardRow {
  readonly model: string | null
  readonly agent: string
  /** Parameters in billions, as far as the names say. */
  readonly sizeB: number | null
  readonly base: string | null
  readonly datasets: readonly string[]
  /** Rows of the datasets it was trained on, if all are known. */
  readonly trainingRows: number | null
  /** In the order of the benchmarks. */
  readonly cells: readonly (ViewBoardCell | null)[]
}

/** A variant of an ablation against its baseline. */
export interface ViewAblationRow {
  readonly variant: string
  readonly summary: string | null
  readonly factors: Readonly<Record<string, string | number | boolean | null>>
  readonly cells: { readonly done: number; readonly of: number }
  readonly score: ViewScore | null
  readonly reasons: readonly string[]
  readonly comparison: {
    readonly difference: ViewScore
    readonly adjustedP: number
    readonly verdict: 'better' | 'worse' | 'undecided'
  } | null
}

export interface ViewScore {
  readonly mean: number
  readonly low: number
  readonly high: number
  readonly tasks: number
  readonly trials: number
}

export interface ViewAblation {
  readonly name: string
  readonly summary: string | null
  readonly scale: 'share' | 'number'
  readonly measure: string
  readonly baseline: string
  readonly seeds: number
  readonly rows: readonly ViewAblationRow[]
  readonly missing: readonly { readonly cell: string; readonly reason: string }[]
}

export interface ViewBoard {
  readonly benchmarks: readonly ViewBenchmark[]
  readonly rows: readonly ViewBoardRow[]
  readonly ablations: readonly ViewAblation[]
}

/** A model or a dataset with what it was made of. */
export interface Ancestor {
  readonly kind: 'model' | 'dataset'
  readonly name: string
  /** False when only its name is known. */
  readonly registered: boolean
  readonly facts: Readonly<Record<string, string | number | null>>
  readonly parents: readonly Ancestor[]
  /** Sources that are not followed further: counted, with the first names. */
  readonly sources: readonly { readonly kind: string; readonly count: number; readonly first: readonly string[] }[]
}

export interface ViewModelRun {
  readonly jobName: string
  readonly job: string | null
  readonly agent: string
  readonly benchmark: string
  readonly status: 'started' | 'partial' | 'finished'
  readonly accuracy: number | null
  readonly trials: number | null
  readonly failed: number | null
  readonly costUsd: number | null
  readonly startedAt: string
}

/** Everything the registry knows about a model. */
export interface ViewModel {
  readonly name: string
  readonly lineage: Ancestor
  /** The parameters of its training run as JSON; null where none are known. */
  readonly parameters: string | null
  readonly benchmarks: readonly ViewBenchmark[]
  /** Its rows on the leaderboard, one per agent. */
  readonly rows: readonly ViewBoardRow[]
  /** Newest first. */
  readonly runs: readonly ViewModelRun[]
  /** Models made from it. */
  readonly children: readonly string[]
}

/** Which parts of the viewer have something to show. */
export interface ViewSections {
  readonly jobs: boolean
  readonly board: boolean
  readonly tasks: boolean
  readonly data: boolean
  /** Whether this server may start runs. */
  readonly runs: boolean
}
