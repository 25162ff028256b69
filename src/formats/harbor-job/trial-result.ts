import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AgentExit, Usage } from '../../core/agent.ts'
import { type HostEnv, redactTrialConfig } from '../../core/redact.ts'
import type { Rewards } from '../../core/rewards.ts'
import type { Span, StepRecord, SystemReport, TrialRecord } from '../../core/trial.ts'
import { exceptionOf, exceptionOfStep, type TrialException } from '../../core/trial-exception.ts'
import { trialConfigDocument } from './config-render.ts'
import { float, floatOrNull, renderLocal, renderPythonJson, renderUtc } from './python-json.ts'

/** The text of a trial's result.json: Harbor's keys in Harbor's order, without secrets. */
export function renderTrialResult(record: TrialRecord, host: HostEnv = process.env): string {
  const { end, spans, config } = record
  const exit = end.kind === 'scored' ? end.exit : null
  return renderPythonJson({
    id: record.id,
    task_name: record.task.name,
    trial_name: record.name,
    trial_uri: pathToFileURL(resolve(config.trialsDir, record.name)).href,
    task_id: taskIdDocument(record),
    source: record.task.source,
    task_checksum: record.task.checksum,
    config: trialConfigDocument(redactTrialConfig(config, host)),
    agent_info: {
      name: record.agent.name,
      version: record.agent.version,
      model_info: modelDocument(record.agent.model),
    },
    agent_result: record.steps === null ? agentResultDocument(record, exit, spans.agentExecution) : null,
    verifier_result: end.kind === 'scored' ? rewardsDocument(end.rewards) : null,
    exception_info: exceptionDocument(exceptionOf(record)),
    started_at: renderUtc(record.startedAt),
    finished_at: renderUtc(record.finishedAt),
    environment_setup: spanDocument(spans.environmentSetup),
    agent_setup: spanDocument(spans.agentSetup),
    agent_execution: spanDocument(spans.agentExecution),
    verifier: spanDocument(spans.verifier),
    step_results: record.steps?.map((step) => stepDocument(step, record.finishedAt)) ?? null,
  })
}

function taskIdDocument({ config, task }: TrialRecord): object {
  if (config.task.name !== null) {
    const slash = config.task.name.indexOf('/')
    return { org: config.task.name.slice(0, slash), name: config.task.name.slice(slash + 1), ref: config.task.ref }
  }
  const path = config.task.path ?? task.path
  if (config.task.gitUrl !== null) return { git_url: config.task.gitUrl, git_commit_id: config.task.gitCommitId, path }
  return { path }
}

function modelDocument(model: string | null): object | null {
  if (model === null) return null
  const slash = model.indexOf('/')
  return slash < 0 ? { name: model, provider: null } : { name: model.slice(slash + 1), provider: model.slice(0, slash) }
}

interface AgentOutcome {
  readonly usage: Usage | null
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly system?: SystemReport
}

/** Harbor creates this when the agent starts, with every field null until it is known. */
function agentResultDocument(
  { usage, metadata, system }: AgentOutcome,
  exit: AgentExit | null,
  span: Span | null,
): object | null {
  if (usage === null && metadata === null && span === null) return null
  const { rollout_details: rolloutDetails = null, ...rest } = {
    ...metadata,
    ...stopReason(exit),
    ...(system && { system_changes: systemDocument(system) }),
  }
  return {
    n_input_tokens: usage?.inputTokens ?? null,
    n_cache_tokens: usage?.cacheTokens ?? null,
    n_output_tokens: usage?.outputTokens ?? null,
    cost_usd: floatOrNull(usage?.costUsd ?? null),
    rollout_details: rolloutDetails,
    metadata: Object.keys(rest).length === 0 ? null : rest,
  }
}

/** Harbor only has names for the time and context limits; the other limits are recorded here. */
function stopReason(exit: AgentExit | null): Readonly<Record<string, unknown>> {
  return exit?.kind === 'limit' && exit.limit !== 'time' ? { stopped_by: exit.limit } : {}
}

/**
 * Harbor has no place for what an agent changed in the system under its tests, but readers of metadata accept any key.
 */
function systemDocument({ restored, onImage, onAgent, differ }: SystemReport): object {
  const rewards = (given: Rewards | null) =>
    given && new Map(Object.entries(given).map(([key, it]) => [key, float(it)]))
  return {
    rewards_differ: differ,
    rewards_on_image: rewards(onImage),
    ...(onAgent !== undefined && { rewards_on_agent: rewards(onAgent) }),
    total: restored.total,
    files: restored.files,
  }
}

function rewardsDocument(rewards: Rewards | null): object | null {
  return rewards && { rewards: new Map(Object.entries(rewards).map(([key, value]) => [key, float(value)])) }
}

function exceptionDocument(exception: TrialException | null): object | null {
  if (exception === null) return null
  return {
    exception_type: exception.type,
    exception_message: exception.message,
    exception_traceback: exception.traceback,
    occurred_at: renderLocal(exception.occurredAt),
  }
}

function spanDocument(span: Span | null): object | null {
  return span && { started_at: renderUtc(span.startedAt), finished_at: span.finishedAt && renderUtc(span.finishedAt) }
}

function stepDocument(step: StepRecord, finishedAt: string): object {
  return {
    step_name: step.name,
    agent_result: agentResultDocument(step, step.exit, step.agentExecution),
    verifier_result: rewardsDocument(step.rewards),
    exception_info: exceptionDocument(exceptionOfStep(step, finishedAt)),
    agent_execution: spanDocument(step.agentExecution),
    verifier: spanDocument(step.verifier),
  }
}
