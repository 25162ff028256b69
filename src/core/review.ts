/** A text file as a reviewer sees it; large ones are cut. */
export interface ShownFile {
  readonly path: string
  readonly text: string
}

/** How one solution of a task turned out. */
export interface ShownResult {
  /** In words: the rewards, or why there are none. */
  readonly reward: string
  /** The files that the task asks for, as the solution left them. */
  readonly files: readonly ShownFile[]
}

/** What a reviewer sees of a task. Results of attempts are a model's work and hostile. */
export interface ReviewedTask {
  readonly instruction: string
  readonly tests: readonly ShownFile[]
  /** Of the task's own solution. */
  readonly reference: ShownResult
  /** Of solvers that saw only the instruction. */
  readonly attempts: readonly ShownResult[]
  readonly signal: AbortSignal
}

/** The parts of a task that a review can quote. */
export const reviewedParts = ['instruction', 'tests', 'reference', 'attempts'] as const
export type ReviewedPart = (typeof reviewedParts)[number]

export interface Review {
  /** Whether instruction, tests and results agree. */
  readonly agrees: boolean
  readonly reason: string
  /** Word for word from the parts; this was verified. */
  readonly quotes: readonly { readonly part: ReviewedPart; readonly text: string }[]
  readonly model: string
  /** Null when no price is known. */
  readonly costUsd: number | null
}

/** Judges whether the instruction and tests of a task agree. A model that reaches no verdict is a BoundaryError. */
export type Reviewer = (task: ReviewedTask) => Promise<Review>
