import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Agent } from '../../core/agent.ts'
import { requiredHostVars } from '../../core/env-template.ts'
import type { ModelClient } from '../../core/model.ts'
import { mayModifySystem, type Task } from '../../core/task.ts'
import type { TrialEnd, TrialRecord } from '../../core/trial.ts'
import type { SecondRun } from '../trial/context.ts'
import { runTrial } from '../trial.ts'
import type { CheckRequest } from './check-request.ts'
import type { Finding } from './finding.ts'
import { checkLaws, hasLaws, lawNames } from './laws/check-laws.ts'
import { verifiesSeparately } from './lint-scripts.ts'
import { lintTask } from './lints.ts'
import { checkOpinion, type OpinionReport } from './opinion/second-opinion.ts'
import { checkStart, firstTrial } from './start.ts'
import { loadTaskFiles, type TaskFiles } from './task-files.ts'
import { checkTrialConfig } from './trial-config.ts'
import type { Check, CheckName, Verdict } from './verdict.ts'
import * as verdicts from './verdict.ts'

/** One trial run by the check, and how it ended. */
export interface CheckRun {
  readonly agent: string
  readonly end: TrialEnd
  /** The trial's directory; null when it was not kept. */
  readonly dir: string | null
}

/** Everything found out about one task. */
export interface TaskReport {
  readonly task: string
  readonly dir: string
  readonly digest: string | null
  readonly verdict: Verdict
  readonly checks: readonly Check[]
  readonly findings: readonly Finding[]
  /** What a reader should know about the sandbox, for example a replaced base image. */
  readonly notes: readonly string[]
  readonly runs: readonly CheckRun[]
  /** Absent unless a second opinion was requested and the task passed every other check. */
  readonly opinion?: Omit<OpinionReport, 'check'>
}

/**
 * Lints a task and, unless only lints are requested, runs its trials: oracle (repeatedly), nop, the laws and forger.
 */
export async function checkTask(task: Task, request: CheckRequest, workDir: string): Promise<TaskReport> {
  const files = await loadTaskFiles(task)
  const linted = await lintTask(task, files)
  const spine = request.lintOnly ? noSpine : await runSpine(task, files, request, workDir)
  const checks = [verdicts.judgeLints(linted), ...spine.checks]
  const findings = [...linted, ...spine.findings]
  const { name, dir, digests } = task
  const { notes, runs, opinion } = spine
  const about = { task: name, dir, digest: digests.content, verdict: verdicts.judge(checks) }
  return { ...about, checks, findings, notes, runs, ...(opinion && { opinion }) }
}

/** The report on a directory that could not even be read as a task. */
export function brokenTask(dir: string, name: string, message: string): TaskReport {
  const finding: Finding = { lint: 'task-unreadable', severity: 'error', path: '', message }
  const checks = [verdicts.judgeLints([finding]), ...skipped(...allBut('lint'))]
  return { task: name, dir, digest: null, verdict: 'rejected', checks, findings: [finding], notes: [], runs: [] }
}

interface Spine {
  readonly checks: readonly Check[]
  readonly findings: readonly Finding[]
  readonly notes: readonly string[]
  readonly runs: readonly CheckRun[]
  readonly opinion?: TaskReport['opinion']
}

const noSpine: Spine = { checks: skipped(...allBut('lint')), findings: [], notes: [], runs: [] }

async function runSpine(task: Task, files: TaskFiles, request: CheckRequest, workDir: string): Promise<Spine> {
  if (!files.rounds.every(({ testScript, step }) => testScript || verifiesSeparately(task, step))) return noSpine
  const unset = unsetHostVars(task, request)
  if (unset.length > 0) return startedOnly(unknownStart(`needs host variables that are not set: ${unset.join(', ')}`))
  if (request.startOnly) {
    const { start, notes } = await checkStart(task, request, join(workDir, 'start'))
    return { ...startedOnly(start), notes }
  }
  const runs: CheckRun[] = []
  const play = async (agent: Agent, nth: number | string, secondRun: SecondRun, client: ModelClient | null = null) => {
    const dir = join(workDir, `${agent.name}-${nth}`)
    const record = await runCheckTrial(task, request, { agent, secondRun, client }, dir)
    runs.push({ agent: agent.name, end: record.end, dir })
    return record
  }
  const runAgent = async (name: string, nth: number | string = 1, secondRun: SecondRun = 'always', options = {}) =>
    play(await request.makeAgent(name, options), nth, secondRun)
  // A forger that earns nothing on the image's system has failed, so a second run is not needed; a solution may need
  // the system it changed.
  const forge = (nth: number, options = {}) => runAgent('forger', nth, 'if-paid', options)
  const solvable = files.rounds.every((round) => round.solveScript)
  const first = await firstTrial(request, (nth) => runAgent(solvable ? 'oracle' : 'nop', nth))
  const start = verdicts.judgeStart(first)
  const notes = notesOf(first)
  if (start.outcome !== 'ok') return { ...startedOnly(start), notes, runs }
  const oracles = solvable ? [first] : []
  for (let nth = 2; solvable && nth <= request.repeats; nth++) oracles.push(await runAgent('oracle', nth))
  const ofOracle = solvable
    ? [verdicts.judgeOracle(oracles, task.steps), verdicts.judgeRepeats(oracles)]
    : skipped('oracle', 'repeat')
  const nop = verdicts.judgeNop(solvable ? await runAgent('nop') : first)
  // For an unsound task these checks prove nothing.
  const isSound = solvable && [...ofOracle, nop].every(({ outcome }) => outcome !== 'fail')
  const laws =
    isSound && hasLaws(task)
      ? await checkLaws({ task, files }, request, join(workDir, 'laws'), (agent) => play(agent, runs.length, 'if-paid'))
      : { checks: skipped(...lawNames), findings: [], made: new Map() }
  const whole = await forge(1)
  const linked = await forge(2, { system: false, link: true })
  const isProtected = whole.system !== undefined || whole.steps?.some(({ system }) => system) === true
  // If a replaced system paid and nothing restores it, the result says nothing about the other attacks.
  const isClear = isProtected || verdicts.judgeForger([whole]).outcome === 'ok'
  const forger = verdicts.judgeForger([isClear ? whole : await forge(3, { system: false }), linked])
  if (!isProtected && !mayModifySystem(task) && whole.end.kind === 'scored') notes.push(unprotected)
  const spine = { checks: [start, ...ofOracle, nop, ...laws.checks, forger], findings: laws.findings, notes, runs }
  const { opinion, makeAgent, signal } = request
  // It costs money, so it is only worth it for a task that passed everything else.
  if (!opinion || !isSound || !hasLaws(task) || verdicts.judge(spine.checks) !== 'accepted')
    return { ...spine, checks: [...spine.checks, ...skipped('opinion')] }
  const runSolver = (agent: Agent) => play(agent, runs.length, 'if-paid', opinion.client)
  const ask = { task, files, made: laws.made, opinion, runSolver, makeAgent, signal }
  const { check, ...found } = await checkOpinion(ask)
  return { ...spine, checks: [...spine.checks, check], opinion: found }
}

const unprotected =
  'this kind of sandbox does not restore system files: an agent that replaces bash can forge the reward'

interface CheckAgent {
  readonly agent: Agent
  readonly secondRun: SecondRun
  /** The agent's model. */
  readonly client: ModelClient | null
}

async function runCheckTrial(
  task: Task,
  request: CheckRequest,
  { agent, secondRun, client }: CheckAgent,
  dir: string,
): Promise<TrialRecord> {
  const { provider, sandboxOptions, hostEnv, alternatives, signal } = request
  const config = checkTrialConfig(task, {
    agentName: agent.name,
    model: client?.model,
    trialName: `check-${agent.name}`,
    trialsDir: dir,
    sandbox: provider.name,
    sandboxOptions,
  })
  await mkdir(dir, { recursive: true })
  const record = await runTrial({
    task,
    agent,
    client,
    provider,
    config,
    jobName: 'tasks-check',
    attempt: 0,
    retries: 0,
    dir,
    signal,
    hooks: [],
    hostEnv,
    alternatives,
    judge: request.judge,
    secondRun,
  })
  signal.throwIfAborted()
  return record
}

function notesOf(record: TrialRecord): string[] {
  const shared = record.isolation === 'shared' ? ['the verifier ran in a sandbox that the agent could tamper with'] : []
  return [...(record.sandbox?.notes ?? []), ...shared]
}

function unknownStart(reason: string): Check {
  return { name: 'start', outcome: 'unknown', reasons: [reason] }
}

function startedOnly(start: Check): Spine {
  return { ...noSpine, checks: [start, ...skipped(...allBut('lint', 'start'))] }
}

function unsetHostVars(task: Task, { hostEnv, startOnly }: CheckRequest): string[] {
  const scripts = [task.solution.env, ...[task, ...task.steps].map(({ verifier }) => verifier.env)]
  const needed = requiredHostVars([task.environment.env, ...(startOnly ? [] : scripts)])
  return needed.filter(({ name, fallback }) => fallback === null && hostEnv[name] === undefined).map(({ name }) => name)
}

function allBut(...names: CheckName[]): CheckName[] {
  return verdicts.checkNames.filter((name) => !names.includes(name))
}

function skipped(...names: CheckName[]): Check[] {
  return names.map((name) => ({ name, outcome: 'skipped', reasons: [] }))
}
