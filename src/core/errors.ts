/** Where a trial can fail. Every failure is blamed on exactly one boundary. */
export const boundaries = ['task', 'sandbox', 'agent', 'model', 'verifier', 'store', 'scheduler'] as const
export type Boundary = (typeof boundaries)[number]

/** Wrong name, option, file or secret: shown as two lines without a stack, exit code 2. */
export class UserError extends Error {
  override readonly name = 'UserError'
  constructor(
    message: string,
    readonly hint: string,
    /** 3: the request itself is fine; something is missing that the user can provide. */
    readonly exitCode: 2 | 3 = 2,
  ) {
    super(message)
  }
}

export interface Blame {
  /** Python-style class name that Harbor's tools show as `exception_type`. */
  readonly code?: string
  readonly retryable?: boolean
  readonly cause?: unknown
}

/** A failure at a boundary: it is recorded, and other trials continue. */
export class BoundaryError extends Error {
  override readonly name = 'BoundaryError'
  readonly code: string
  readonly retryable: boolean
  constructor(
    readonly boundary: Boundary,
    message: string,
    blame: Blame = {},
  ) {
    super(message, blame.cause === undefined ? undefined : { cause: blame.cause })
    this.code = blame.code ?? defaultCode[boundary]
    this.retryable = blame.retryable ?? boundary !== 'task'
  }
}

const defaultCode: Record<Boundary, string> = {
  task: 'TaskError',
  sandbox: 'SandboxError',
  agent: 'AgentError',
  model: 'ModelError',
  verifier: 'VerifierError',
  store: 'StoreError',
  scheduler: 'SchedulerError',
}

/** True for what `AbortController.abort()` throws: recorded as cancelled, never blamed on anyone. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

/** Runs `work`; what it throws is blamed on `boundary`, unless a closer boundary already took the blame. */
export async function blame<T>(boundary: Boundary, work: () => Promise<T>, details: Blame = {}): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof BoundaryError || error instanceof UserError || isAbort(error)) throw error
    throw new BoundaryError(boundary, messageOf(error), { ...details, cause: error })
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
