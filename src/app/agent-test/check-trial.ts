import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Agent } from '../../core/agent.ts'
import type { Engine } from '../../core/model.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { Task } from '../../core/task.ts'
import type { TrialEnd } from '../../core/trial.ts'
import { parseTrialConfigDocument } from '../../formats/harbor-job/job-config.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { sandboxAlternatives } from '../../plugins/make.ts'
import { runTrial } from '../../run/trial.ts'
import { explainDisk } from '../disk-errors.ts'
import type { Check } from '../engine/check-model.ts'

export interface TrialToTry {
  readonly task: Task
  readonly provider: SandboxProvider
  readonly agent: Agent
  readonly engine: Engine | null
  readonly model: string | null
  /** Where to keep the trial's files; null discards them. */
  readonly keep: string | null
}

/** Has the agent work on one task and scores the result. A low score is fine: the agent ran. */
export async function checkTrial(asked: TrialToTry, signal: AbortSignal): Promise<Check> {
  const { task, agent, engine, model, keep } = asked
  const dir = keep === null ? await makeScratchDir(join(tmpdir(), 'ot-agent-test-')) : resolve(keep)
  const document = {
    task: { path: task.dir },
    trial_name: 'agent-test',
    agent: { name: agent.name, model_name: model },
  }
  try {
    await explainDisk(dir, () => mkdir(dir, { recursive: true }))
    const { end, usage } = await runTrial({
      task,
      agent,
      client: engine === null || model === null ? null : engine.client(model),
      provider: asked.provider,
      config: parseTrialConfigDocument(document, 'agents test').config,
      jobName: 'agent-test',
      attempt: 0,
      retries: 0,
      dir,
      signal,
      hooks: [],
      hostEnv: process.env,
      alternatives: sandboxAlternatives,
    })
    signal.throwIfAborted()
    const says = `task ${task.name}: ${renderEnd(end)}`
    return { name: 'task', ok: end.kind === 'scored', says, blame: 'world', details: { task: task.name, end, usage } }
  } finally {
    if (keep === null) await removeDraft(dir)
  }
}

function renderEnd(end: TrialEnd): string {
  if (end.kind === 'cancelled') return 'cancelled'
  if (end.kind === 'failed') return `failed at the ${end.failure.boundary}: ${end.failure.message}`
  const { exit, rewards } = end
  const stopped = exit.kind === 'limit' ? `stopped by its ${exit.limit} limit` : exit.kind
  const scores = Object.entries(rewards ?? {}).map(([name, value]) => `${name} ${value}`)
  return `${stopped}, ${scores.join(', ') || 'not scored'}`
}
