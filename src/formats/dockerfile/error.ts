import { BoundaryError } from '../../core/errors.ts'

/** A place in a Dockerfile, for messages. */
export interface Place {
  /** As shown to people, for example `environment/Dockerfile`. */
  readonly file: string
  readonly line: number
}

/** The task's own fault: a Dockerfile that is wrong, or asks for something that cannot be honoured here. */
export function dockerfileError(at: Place, message: string): BoundaryError {
  return new BoundaryError('task', `${at.file}:${at.line}: ${message}`, {
    code: 'EnvironmentBuildError',
    retryable: false,
  })
}
