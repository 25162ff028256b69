import { type Boundary, BoundaryError, UserError } from '../core/errors.ts'

/** Where in a pipeline's life something went wrong. */
export type GenerationPhase = 'prepare' | 'generate' | 'postprocess'

interface Failing {
  readonly stage: GenerationPhase
  readonly cause?: unknown
  readonly retryable?: boolean
  /** Who takes the blame (default: the task that was to be made). */
  readonly boundary?: Boundary
}

/** An infrastructure failure in a pipeline: its phase and its cause. The program exits with 3. */
export class GenerationError extends BoundaryError {
  readonly stage: GenerationPhase
  constructor(message: string, { stage, cause, retryable, boundary = 'task' }: Failing) {
    super(boundary, message, {
      code: new.target.name,
      ...(cause !== undefined && { cause }),
      ...(retryable !== undefined && { retryable }),
    })
    this.stage = stage
  }
}

/** Wrong input to a pipeline, found before anything was made: two lines, and the program ends with 2. */
export class InputValidationError extends UserError {
  readonly stage = 'prepare' satisfies GenerationPhase
}

/** A model did not answer, or could not be reached, while tasks were made. */
export class InferenceFailure extends GenerationError {
  constructor(message: string, cause?: unknown) {
    super(message, { stage: 'generate', boundary: 'model', cause })
  }
}

/** Agents could not be run over the tasks, or what they did could not be exported. */
export class TraceFailure extends GenerationError {
  constructor(message: string, cause?: unknown) {
    super(message, { stage: 'postprocess', boundary: 'agent', cause })
  }
}

/** A dataset could not be published. What was made is still there. */
export class UploadFailure extends GenerationError {
  constructor(message: string, cause?: unknown) {
    super(message, { stage: 'postprocess', boundary: 'store', cause })
  }
}
