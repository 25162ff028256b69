import type { AgentExit, Usage } from '../../core/agent.ts'
import type { Rewards } from '../../core/rewards.ts'
import {
  type Failure,
  type Phase,
  type Span,
  type StepRecord,
  type SystemReport,
  type TrialEnd,
  type TrialRecord,
  usageOf,
} from '../../core/trial.ts'
import { boundaryOf } from './blame.ts'
import { parseTrialConfigDocument } from './job-config.ts'
import { parseConfig, readJsonDocument } from './read-config.ts'
import {
  type RawAgentResult,
  type RawException,
  type RawStep,
  type RawTrialResult,
  systemChanges,
  trialResultSchema,
} from './trial-result-schema.ts'

/**
 * Parses a trial's result.json, ours or Harbor's. What only our own record has gets the most conservative value:
 * attempt 0, no retries, no isolation claimed. Throws a UserError for anything else.
 */
export function parseTrialResult(text: string, path = 'result.json'): TrialRecord {
  const hint = 'a trial result has the keys of a Harbor trial result.json'
  const raw = parseConfig(trialResultSchema, readJsonDocument(text, path), path, hint).value
  const spans = {
    environmentSetup: raw.environment_setup,
    agentSetup: raw.agent_setup,
    agentExecution: raw.agent_execution,
    verifier: raw.verifier,
  }
  const { config } = parseTrialConfigDocument(raw.config, `${path}: config`)
  const steps = raw.step_results?.map((step) => toStep(step, spans)) ?? null
  const startedAt = raw.started_at ?? spans.environmentSetup?.startedAt ?? raw.finished_at ?? epoch
  return {
    schema: 'trial/1',
    id: raw.id,
    name: raw.trial_name,
    task: {
      name: raw.task_name,
      path: raw.task_id.path,
      source: raw.source,
      digest: raw.task_id.ref?.match(/^sha256:([0-9a-f]{64})$/)?.[1] ?? '',
      checksum: raw.task_checksum,
    },
    agent: { name: raw.agent_info.name, version: raw.agent_info.version, model: toModel(raw.agent_info.model_info) },
    attempt: 0,
    config,
    end: toEnd(raw, steps, config.verifier.disable, spans),
    isolation: null,
    bothRewardFiles: false,
    ...toSystem(raw.agent_result),
    usage: usageOf({ usage: steps === null ? toUsage(raw.agent_result) : null, steps }),
    metadata: toMetadata(raw.agent_result),
    sandbox: null,
    spans,
    steps,
    retries: 0,
    startedAt,
    finishedAt: raw.finished_at ?? latest(spans) ?? startedAt,
  }
}

const epoch = '1970-01-01T00:00:00.000000Z'

type Spans = Readonly<Record<Phase, Span | null>>

/** Rewards only count if Harbor verified deliberately: after a clean run, a limit, or a bad exit of the agent. */
function toEnd(raw: RawTrialResult, steps: readonly StepRecord[] | null, unverified: boolean, spans: Spans): TrialEnd {
  const exception = raw.exception_info
  if (exception?.exception_type === 'CancelledError') return { kind: 'cancelled' }
  const exit = exception
    ? exitOf(exception)
    : (steps?.findLast((step) => step.exit !== null)?.exit ?? stoppedBy(raw.agent_result))
  const rewards: Rewards | null = raw.verifier_result
  if (exit !== null && (rewards !== null || unverified)) return { kind: 'scored', rewards, exit }
  if (exception) return { kind: 'failed', failure: toFailure(exception, spans, exit !== null) }
  const failure = steps?.find((step) => step.failure !== null)?.failure ?? noRewards(raw)
  return { kind: 'failed', failure }
}

/** How the agent stopped, if that is all the exception says; null if something failed. */
function exitOf({ exception_type: type, exception_message: message }: RawException): AgentExit | null {
  if (type === 'AgentTimeoutError' || type === 'TimeoutError') return { kind: 'limit', limit: 'time' }
  if (type === 'ContextLengthExceededError') return { kind: 'limit', limit: 'context' }
  if (type !== 'NonZeroAgentExitCodeError' && !apiExit.has(type)) return null
  return {
    kind: 'exited',
    exitCode: Number(/exit(?:ed)?(?: with)?(?: non-zero)? (?:code|status):? (-?\d+)/i.exec(message)?.[1] ?? 1),
  }
}

/** Newer Harbor distinguishes these by the agent's output; all of them are bad exits. */
const apiExit: ReadonlySet<string> = new Set([
  'ApiRateLimitError',
  'ApiUsageLimitError',
  'ApiConnectionClosedError',
  'ApiResponseStalledError',
  'ApiInternalServerError',
  'UnknownApiError',
  'NetworkConnectionError',
  'AgentAuthenticationError',
  'AgentSafetyRefusalError',
  'ModelNotFoundError',
])

function stoppedBy(agent: RawAgentResult): AgentExit {
  const reason = agent?.metadata?.stopped_by
  return reason === 'turns' || reason === 'context' || reason === 'cost' || reason === 'storage'
    ? { kind: 'limit', limit: reason }
    : { kind: 'finished' }
}

/** After a limit or bad exit, Harbor keeps that exception even if the verifier then failed. */
function toFailure(exception: RawException, spans: Spans, agentStopped = false): Failure {
  const code = exception.exception_type
  return {
    boundary: agentStopped && spans.verifier ? 'verifier' : boundaryOf(code, spans),
    code,
    message: exception.exception_message,
    stack: exception.exception_traceback,
    retryable: true,
    occurredAt: exception.occurred_at,
  }
}

function noRewards(raw: RawTrialResult): Failure {
  const message = 'the trial ended without an exception and without rewards'
  const occurredAt = raw.finished_at ?? raw.started_at ?? epoch
  return { boundary: 'verifier', code: 'VerifierError', message, stack: message, retryable: true, occurredAt }
}

function toStep(raw: RawStep, trial: Spans): StepRecord {
  const exit = raw.exception_info ? exitOf(raw.exception_info) : stoppedBy(raw.agent_result)
  const failed =
    raw.exception_info !== null && (exit === null || (raw.verifier_result === null && raw.verifier !== null))
  const spans = { ...trial, agentExecution: raw.agent_execution, verifier: raw.verifier }
  return {
    name: raw.step_name,
    rewards: raw.verifier_result,
    exit: raw.agent_execution === null || (failed && exit === null) ? null : exit,
    failure: failed && raw.exception_info ? toFailure(raw.exception_info, spans, exit !== null) : null,
    usage: toUsage(raw.agent_result),
    metadata: toMetadata(raw.agent_result),
    agentExecution: raw.agent_execution,
    verifier: raw.verifier,
    ...toSystem(raw.agent_result),
  }
}

/** Our own entry in the agent's metadata; anything else under that name belongs to the agent. */
function toSystem(agent: RawAgentResult): { readonly system?: SystemReport } {
  const parsed = systemChanges.safeParse(agent?.metadata?.system_changes)
  return parsed.success ? { system: parsed.data } : {}
}

function toUsage(agent: RawAgentResult): Usage | null {
  if (agent === null) return null
  const usage = {
    inputTokens: agent.n_input_tokens,
    cacheTokens: agent.n_cache_tokens,
    outputTokens: agent.n_output_tokens,
    costUsd: agent.cost_usd,
  }
  return Object.values(usage).every((value) => value === null) ? null : usage
}

function toMetadata(agent: RawAgentResult): Readonly<Record<string, unknown>> | null {
  const { stopped_by: _, system_changes: changes, ...rest } = agent?.metadata ?? {}
  const isOurs = changes === undefined || systemChanges.safeParse(changes).success
  const metadata = isOurs ? rest : { ...rest, system_changes: changes }
  const rollouts = agent?.rollout_details ?? null
  const all = rollouts === null ? metadata : { ...metadata, rollout_details: rollouts }
  return Object.keys(all).length === 0 ? null : all
}

function toModel(model: { name: string; provider: string | null } | null): string | null {
  return model && (model.provider === null ? model.name : `${model.provider}/${model.name}`)
}

function latest(spans: Spans): string | undefined {
  return Object.values(spans)
    .flatMap((span) => span?.finishedAt ?? span?.startedAt ?? [])
    .sort()
    .at(-1)
}
