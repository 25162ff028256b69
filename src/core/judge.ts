/** The file next to a task's test script that holds the rubric for its judge. */
export const judgeFileName = 'judge.json'

/** Where tests put what a judge should see, below /logs/verifier. */
export const submissionDirName = 'submission'

/** What a judge gets from a trial whose tests have run. */
export interface JudgedWork {
  /** The text of judge.json. */
  readonly rubric: string
  readonly instruction: string
  /**
   * A folder on this machine with what the tests collected; it may be missing, and its content comes from the agent.
   */
  readonly submissionDir: string
  readonly signal: AbortSignal
}

export interface JudgeVerdict {
  readonly reward: number
  /** For readers of the trial's files: scores, reasons, the model. */
  readonly report: Readonly<Record<string, unknown>>
}

/**
 * Judges what tests collected, outside any sandbox, so that no model key is ever inside one. An unreadable rubric is a
 * BoundaryError 'task', a model that does not answer a BoundaryError 'model'.
 */
export type Judge = (work: JudgedWork) => Promise<JudgeVerdict>
