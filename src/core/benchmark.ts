/** Where to get the tasks of a benchmark, or their texts. */
export type BenchmarkSource =
  /** A dataset of the Hugging Face Hub: tasks as folders or packed, or rows. */
  | ({ readonly kind: 'hub'; readonly name: string } & Where & Columns)
  /** An entry of Harbor's registry, NAME or NAME@VERSION. */
  | { readonly kind: 'harbor'; readonly name: string; readonly registry?: string | undefined }
  /** A git repository: tasks in folders below `path`, or files of rows. */
  | ({ readonly kind: 'git'; readonly name: string; readonly path?: string | undefined } & Where & Columns)
  /** A folder of tasks, or a file of rows, on this machine. */
  | ({ readonly kind: 'path'; readonly name: string } & Where & Columns)

interface Where {
  /** Branch, tag or commit. */
  readonly revision?: string | undefined
  readonly config?: string | undefined
  readonly split?: string | undefined
  /** Only files that match these patterns. */
  readonly files?: readonly string[] | undefined
}

/** The columns of rows that hold a task's name and text; if absent, the usual names are tried. */
export interface Columns {
  readonly id?: string | undefined
  readonly text?: string | undefined
}

/** Facts about a benchmark. No code branches on its name: whatever differs about one is a field here. */
export interface Benchmark {
  readonly name: string
  readonly title: string
  readonly summary: string
  /** Other names it is known by. */
  readonly aliases: readonly string[]
  readonly tasks: number
  /** The benchmark these tasks are a subset of, and their names in it. */
  readonly partOf?: { readonly benchmark: string; readonly names: readonly string[] } | undefined
  /** Where to get runnable tasks, best first. */
  readonly sources: readonly BenchmarkSource[]
  /** Where to get only the texts of its tasks, for a pack. */
  readonly texts: readonly BenchmarkSource[]
  /** How it is usually run. */
  readonly run: {
    readonly agent: string
    readonly agentOptions: Readonly<Record<string, unknown>>
    readonly attempts: number
    readonly concurrency?: number | undefined
    readonly timeoutMultiplier: number
    /** What tasks need besides a sandbox: `internet`, `judge`, `images`. */
    readonly needs: readonly string[]
  }
  readonly decontamination: {
    /** This many consecutive words in common mark a text as the benchmark's. */
    readonly words: number
    /** The benchmark whose pack also covers these tasks. */
    readonly coveredBy?: string | undefined
    /** Why no pack is shipped. */
    readonly unavailable?: string | undefined
  }
  readonly licence: string
  readonly homepage?: string | undefined
  readonly citation?: string | undefined
}
