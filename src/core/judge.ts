/** The file beside a task's test script that says by what a judge decides. */
export const judgeFileName = 'judge.json'

/** Where tests put what a judge is to see, below /logs/verifier. */
export const submissionDirName = 'submission'

/** What a judge is given of a trial whose tests have run. */
export interface JudgedWork {
  /** The text of judge.json. */
  readonly rubric: string
  readonly instruction: string
  /** A folder of this machine with what the tests collected; it may be missing, and whatever is in it is the agent's. */
  readonly submissionDir: string
  readonly signal: AbortSignal
}

export interface JudgeVerdict {
  readonly reward: number
  /** For readers of the trial's files: scores, reasons, the model. */
  readonly report: Readonly<Record<string, unknown>>
}

/**
 * Judges what tests collected, outside of any sandbox, so that no key of a model is ever inside one. A rubric that cannot be
 * read is a BoundaryError 'task', a model that does not answer a BoundaryError 'model'.
 */
export type Judge = (work: JudgedWork) => Promise<JudgeVerdict>
