import { type Boundary, boundaries } from '../../core/errors.ts'
import type { Phase, Span } from '../../core/trial.ts'

/** Harbor exception names with a certain boundary. */
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

/**
 * The boundary implied by an exception's name alone, or null. `SandboxError` and similar are names we write when there
 * is no better one.
 */
export function boundaryOfCode(code: string): Boundary | null {
  if (Object.hasOwn(known, code)) return known[code] ?? null
  return boundaries.find((boundary) => code.toLowerCase() === `${boundary}error`) ?? null
}

/** The boundary of a failure recorded by Harbor: from the exception's name, else the last phase that started. */
export function boundaryOf(code: string, spans: Readonly<Record<Phase, Span | null>>): Boundary {
  const byName = boundaryOfCode(code)
  if (byName !== null) return byName
  if (spans.verifier) return 'verifier'
  if (spans.agentExecution || spans.agentSetup) return 'agent'
  return spans.environmentSetup ? 'sandbox' : 'task'
}
