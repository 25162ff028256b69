import { BoundaryError } from '../../core/errors.ts'
import { sleep } from '../../lib/deadline.ts'

/** How a cloud can fail us, as codes that records show. All may pass by themselves, so all are retryable. */
export type CloudFailure =
  | 'SandboxQuotaError'
  | 'SandboxRateLimitError'
  | 'SandboxUnavailableError'
  | 'SandboxGoneError'
  | 'SandboxLostError'

/** A failure of a cloud with its code. */
export function cloudFailure(code: CloudFailure, message: string, cause?: unknown): BoundaryError {
  return new BoundaryError('sandbox', message, { code, retryable: true, ...(cause !== undefined && { cause }) })
}

/**
 * Too many requests, or a server in trouble: worth a short wait on the spot. A quota is not, because only its owner can
 * make room.
 */
const passing = new Set<string>(['SandboxRateLimitError', 'SandboxUnavailableError'])

const tries = 5
const firstPauseMs = 500

/** Tries a request a few times while the cloud says that it is busy or in trouble, with growing waits. */
export async function withPatience<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof BoundaryError) || !passing.has(error.code) || attempt >= tries) throw error
      const pauseMs = firstPauseMs * 2 ** (attempt - 1)
      await sleep(pauseMs * (0.75 + Math.random() / 2), signal)
    }
  }
}
