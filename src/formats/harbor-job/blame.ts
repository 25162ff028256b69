import { type Boundary, boundaries } from '../../core/errors.ts'
import type { Phase, Span } from '../../core/trial.ts'

/** Exception names of Harbor whose boundary is certain. */
const known: Readonly<Record<string, Boundary>> = {
  EnvironmentStartTimeoutError: 'sandbox',
  HealthcheckError: 'sandbox',
  MemoryLimitExceededError: 'sandbox',
  AgentSetupTimeoutError: 'agent',
  AgentTimeoutError: 'agent',
  NonZeroAgentExitCodeError: 'agent',
  AgentAuthenticationError: 'model',
  AgentSafetyRefusalError: 'model',
  ApiConnectionClosedError: 'model',
  ApiInternalServerError: 'model',
  ApiRateLimitError: 'model',
  ApiResponseStalledError: 'model',
  ApiUsageLimitError: 'model',
  ContextLengthExceededError: 'model',
  ModelNotFoundError: 'model',
  NetworkConnectionError: 'model',
  OutputLengthExceededError: 'model',
  UnknownApiError: 'model',
  AddTestsDirError: 'verifier',
  DownloadVerifierDirError: 'verifier',
  RewardFileEmptyError: 'verifier',
  RewardFileNotFoundError: 'verifier',
  VerifierNetworkError: 'verifier',
  VerifierOutputParseError: 'verifier',
  VerifierTimeoutError: 'verifier',
}

/** The boundary an exception's name alone tells, or null. `SandboxError` and its kin are what we write when there is no better name. */
export function boundaryOfCode(code: string): Boundary | null {
  if (Object.hasOwn(known, code)) return known[code] ?? null
  return boundaries.find((boundary) => code.toLowerCase() === `${boundary}error`) ?? null
}

/** The boundary of a failure Harbor recorded: by the exception's name, else by the last phase that began. */
export function boundaryOf(code: string, spans: Readonly<Record<Phase, Span | null>>): Boundary {
  const byName = boundaryOfCode(code)
  if (byName !== null) return byName
  if (spans.verifier) return 'verifier'
  if (spans.agentExecution || spans.agentSetup) return 'agent'
  return spans.environmentSetup ? 'sandbox' : 'task'
}
