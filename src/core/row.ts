/** What flows between stages: `raw` rows of a source, `draft` tasks that are not on disk yet, tasks, trials of tasks, training traces. */
export type RowKind = 'raw' | 'draft' | 'task' | 'trial' | 'trace'

/** One row of an upstream source, before any conversion. */
export interface RawRow {
  /** Unique in its source and the same in every run. */
  readonly id: string
  /** Which source it came from, for example `nl2bash`. */
  readonly source: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface DraftFile {
  readonly data: string | Uint8Array
  readonly executable?: boolean
}

/** Where a task came from: written into its `[metadata]`, so it travels with the task. */
export interface TaskLineage {
  readonly pipeline: string
  /** How the row became a task, for example `row-template`. */
  readonly strategy: string
  readonly rowId: string
  /** SHA-256 of the row's canonical JSON, hex. */
  readonly rowDigest: string
  readonly seed: number
  /** SHA-256 of the prompt that a model received, hex; absent when no model was involved. */
  readonly promptDigest?: string
  readonly model?: string
  /** The tasks this one was made from, by content digest. */
  readonly parents?: readonly string[]
}

/** A task that is not on disk yet. Paths are relative to the task's directory: `environment/Dockerfile`, `tests/test.sh`, `solution/solve.sh`, ... */
export interface TaskDraft {
  /** Unique among the tasks made together; becomes the directory's name. */
  readonly name: string
  readonly instruction: string
  readonly files: Readonly<Record<string, DraftFile>>
  /** Merged over the default task.toml, key by key, in Harbor's spelling. */
  readonly config?: Readonly<Record<string, unknown>>
  readonly lineage: TaskLineage
}

/** A task as it travels between the stages of a recipe. */
export interface TaskRow {
  /** Unique in its set and the same in every run. */
  readonly id: string
  readonly name: string
  /** The pipeline, folder or dataset it came from, which mixers go by. */
  readonly source: string
  readonly instruction: string
  /** Content digest: its identity. Copies of a task share it. */
  readonly digest: string
  /** The task's directory as tar.gz. */
  readonly archive: Uint8Array
  /** Null for an external task that does not say. */
  readonly lineage: TaskLineage | null
  /** What stages measured about it, by name: `response-tokens`, `ask-llm`, `pass-rate`, ... */
  readonly signals: Readonly<Record<string, number>>
}
