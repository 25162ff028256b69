/** Where the tasks of a benchmark can be had, or their texts. */
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
  /** Only files of these patterns. */
  readonly files?: readonly string[] | undefined
}

/** Columns of rows that hold the name and the text of a task; absent: usual names are looked for. */
export interface Columns {
  readonly id?: string | undefined
  readonly text?: string | undefined
}

/** Facts about a benchmark. No code branches on its name: what is different about one is a field here. */
export interface Benchmark {
  readonly name: string
  readonly title: string
  readonly summary: string
  /** Other names it is known by. */
  readonly aliases: readonly string[]
  /** How many tasks it has. */
  readonly tasks: number
  /** The benchmark that these tasks are a part of, and their names in it. */
  readonly partOf?: { readonly benchmark: string; readonly names: readonly string[] } | undefined
  /** Where tasks that can be run come from, the best first. */
  readonly sources: readonly BenchmarkSource[]
  /** Where only the texts of its tasks are, for a pack. */
  readonly texts: readonly BenchmarkSource[]
  /** How it is usually run. */
  readonly run: {
    readonly agent: string
    readonly agentOptions: Readonly<Record<string, unknown>>
    readonly attempts: number
    readonly concurrency?: number | undefined
    readonly timeoutMultiplier: number
    /** What tasks need beside a sandbox: `internet`, `judge`, `images`. */
    readonly needs: readonly string[]
  }
  readonly decontamination: {
    /** Words in a row that make a text one of the benchmark's. */
    readonly words: number
    /** The benchmark whose pack holds these tasks as well. */
    readonly coveredBy?: string | undefined
    /** Why no pack is shipped. */
    readonly unavailable?: string | undefined
  }
  readonly licence: string
  readonly homepage?: string | undefined
  readonly citation?: string | undefined
}
