import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { type AgentConfig, type EnvironmentConfig, noTask, type TrialConfig } from '../../core/job.ts'
import type { ModelFacts } from '../../core/model.ts'
import type { ReplayVerdict } from '../../core/replay.ts'
import type { Task } from '../../core/task.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { makeEngine, sandboxAlternatives } from '../../plugins/make.ts'
import { type ReplayedTrial, replayTrials, type TrialToReplay } from '../../run/replay/replay-trials.ts'
import { agentOf, engineOf, providerOf } from '../job/configured.ts'
import { unnamedRefusal } from '../job/consent.ts'
import { maskedIn } from '../job/hidden-values.ts'
import { prefetchSettings } from '../job/prefetch-settings.ts'
import { type FoundRow, type FoundTrial, notReplayable } from './found-trial.ts'
import { findTasksOf, type TaskPlaces } from './task-finder.ts'

export interface ReplayAsk extends Omit<TaskPlaces, 'workDir'> {
  readonly trials: readonly FoundTrial[]
  readonly nConcurrent: number
  /** A different kind of sandbox than the recorded one. */
  readonly environment?: EnvironmentConfig | undefined
  /** Also runs the tests, to compare rewards. */
  readonly verify: boolean
  /** Variables of this machine that tasks may use. */
  readonly passEnv?: readonly string[] | undefined
  readonly signal: AbortSignal
  readonly onRow?: (done: number) => void
}

/** The result of replaying one row. */
export interface ReplayedRow {
  readonly id: string
  readonly job: string
  readonly trial: string
  readonly task: string
  readonly verdict: ReplayVerdict
  /** Only if the replay's agent has a different version. */
  readonly versions?: { readonly recorded: string; readonly replayed: string } | undefined
  /** Only if the agent's prompts have changed. */
  readonly otherPrompts?: true | undefined
  /** Only if both are known. */
  readonly reward?: { readonly recorded: number; readonly replayed: number } | undefined
}

/**
 * Replays recorded trials the way `ot-agent run` runs them, in the order of their rows; sandboxes are released whatever
 * happens.
 */
export async function performReplay(ask: ReplayAsk): Promise<readonly ReplayedRow[]> {
  const workDir = await makeScratchDir(join(tmpdir(), 'ot-agent-replay-'))
  try {
    return await replayIn(workDir, ask)
  } finally {
    await removeDraft(workDir)
  }
}

async function replayIn(workDir: string, ask: ReplayAsk): Promise<readonly ReplayedRow[]> {
  const { trials, signal } = ask
  const taskOf = await findTasksOf(trials, { ...ask, workDir })
  const rows = new Map<FoundTrial, readonly ReplayedRow[]>()
  let known = 0
  const keep = (found: FoundTrial, own: readonly ReplayedRow[]) => {
    rows.set(found, own)
    known += own.length
  }
  const groups = new Map<
    string,
    { readonly environment: EnvironmentConfig; readonly trials: [FoundTrial, TrialToReplay][] }
  >()
  for (const [nth, found] of trials.entries()) {
    signal.throwIfAborted()
    const environment = ask.environment ?? found.settings.environment
    const prepared = await prepare(found, { nth, workDir, taskOf }, ask)
    if (typeof prepared === 'string') {
      keep(
        found,
        found.rows.map((row) => replayed(found, row.id, cannot(row.cannot ?? prepared))),
      )
      continue
    }
    const key = JSON.stringify(environment)
    const group = groups.get(key) ?? { environment, trials: [] }
    group.trials.push([found, { ...prepared, config: { ...prepared.config, environment } }])
    groups.set(key, group)
  }
  const done = () => ask.onRow?.(known)
  done()
  for (const [index, group] of [...groups.values()].entries()) {
    const provider = await providerOf(group.environment)
    await provider.preflight()
    const dir = join(workDir, `trials-${index}`)
    await mkdir(dir)
    const byTrial = new Map(group.trials.map(([found, trial]) => [trial, found]))
    const request = {
      ...{ provider, makeAgent: agentOf, dir, nConcurrent: ask.nConcurrent, hostEnv: process.env, signal },
      ...{ alternatives: sandboxAlternatives, prefetch: prefetchSettings({}, ask.nConcurrent, provider) },
    }
    await replayTrials([...byTrial.keys()], request, (ended) => {
      const found = byTrial.get(ended.trial)
      if (found) keep(found, rowsOf(found, ended))
      done()
    })
  }
  return trials.flatMap((trial) => rows.get(trial) ?? [])
}

interface ReplayPlace {
  readonly nth: number
  readonly workDir: string
  readonly taskOf: (trial: FoundTrial) => Promise<Task | string>
}

/** Everything needed to replay one trial, or why it cannot be replayed. */
async function prepare(
  found: FoundTrial,
  { nth, workDir, taskOf }: ReplayPlace,
  { verify, passEnv }: ReplayAsk,
): Promise<TrialToReplay | string> {
  const { settings, turns, at, isCut } = found
  const [reason] = found.rows.flatMap(({ cannot }) => cannot ?? [])
  if (turns.length === 0) return reason ?? notReplayable.noExchanges
  const lost = maskedIn({ agent: settings.agent, environment: settings.environment }, 'settings')
  if (lost.length > 0) return `${lost[0]} held a literal value, which is not written to a job's files`
  const task = await taskOf(found)
  if (typeof task === 'string') return task
  const refused = unnamedRefusal(task, { passEnv, verifies: verify || task.steps.length > 0 })
  if (refused !== null) return refused
  const config: TrialConfig = {
    ...settings,
    task: { ...noTask, path: task.dir },
    trialName: `replay-${nth}`,
    trialsDir: workDir,
    // Whether a task's next step starts depends on the previous step's reward.
    verifier: { ...settings.verifier, disable: !verify && task.steps.length === 0 },
    artifacts: [],
    jobId: null,
  }
  const facts = { ...(await factsOf(settings.agent)), ...found.model }
  return { recorded: { turns, at, isCut }, task, config, facts }
}

const unknownFacts: ModelFacts = {
  contextTokens: null,
  outputTokens: null,
  inputUsdPerToken: null,
  cacheUsdPerToken: null,
  outputUsdPerToken: null,
}

/** What the agent was told about its model, as far as settings say; no server is contacted. */
async function factsOf(agent: AgentConfig): Promise<ModelFacts> {
  try {
    const found = await engineOf(agent)
    if (!found?.model) return unknownFacts
    return (await makeEngine(found.name, found.options)).client(found.model).facts
  } catch (error) {
    // A replay needs neither a missing key nor a missing script.
    if (error instanceof UserError) return unknownFacts
    throw error
  }
}

function rowsOf(found: FoundTrial, { verdicts, agentVersion, promptsDigest, rewards }: ReplayedTrial): ReplayedRow[] {
  const { version, promptsDigest: before } = found.agent
  const reward = rewards?.reward ?? (rewards && Object.values(rewards).length === 1 ? Object.values(rewards)[0] : null)
  const verdictOf = ({ id, cannot: reason, within }: FoundRow): ReplayVerdict => {
    if (reason !== null) return cannot(reason)
    const verdict = verdicts.get(within?.row ?? id) ?? cannot('it has no turn of the model')
    return verdict.kind === 'diverged' && within && verdict.turn > within.turns ? { kind: 'holds' } : verdict
  }
  return found.rows.map((row) => ({
    ...replayed(found, row.id, verdictOf(row)),
    ...(version !== null && version !== agentVersion && { versions: { recorded: version, replayed: agentVersion } }),
    ...(before !== null && promptsDigest !== null && before !== promptsDigest && { otherPrompts: true as const }),
    ...(found.reward !== null && reward != null && { reward: { recorded: found.reward, replayed: reward } }),
  }))
}

function replayed({ job, name, task }: FoundTrial, id: string, verdict: ReplayVerdict): ReplayedRow {
  return { id, job, trial: name, task: task.name, verdict }
}

function cannot(reason: string): ReplayVerdict {
  return { kind: 'cannot-be-replayed', reason }
}
