import type { Agent } from '../../../core/agent.ts'
import { BoundaryError } from '../../../core/errors.ts'
import { hadNoValidReply } from '../../../core/model-replies.ts'
import type { Review, ReviewedPart, ReviewedTask, ShownFile, ShownResult } from '../../../core/review.ts'
import type { Sandbox } from '../../../core/sandbox.ts'
import type { Task } from '../../../core/task.ts'
import type { TrialRecord } from '../../../core/trial.ts'
import type { Opinion } from '../check-request.ts'
import { readScript } from '../laws/law-scripts.ts'
import type { TaskFiles } from '../task-files.ts'
import { type Check, describeRewards } from '../verdict.ts'

/** The findings of solvers and a reviewer about a task. */
export interface OpinionReport {
  readonly check: Check
  /** The reward of each scored attempt, in words. */
  readonly rewards: readonly string[]
  readonly review: Review | null
  /** For solvers and reviewer; null when no price is known. */
  readonly costUsd: number | null
}

export interface OpinionAsk {
  readonly task: Task
  readonly files: TaskFiles
  /** The files made by the task's own solution, by path. */
  readonly made: ReadonlyMap<string, string>
  readonly opinion: Opinion
  /** Runs a solver in a trial of its own. */
  readonly runSolver: (agent: Agent) => Promise<TrialRecord>
  readonly makeAgent: (name: string, options: Readonly<Record<string, unknown>>) => Promise<Agent>
  readonly signal: AbortSignal
}

/**
 * Lets solvers that see only the instruction try a task, and asks a reviewer whether instruction, tests and results
 * agree.
 */
export async function checkOpinion(ask: OpinionAsk): Promise<OpinionReport> {
  const { task, files, made, opinion, signal } = ask
  const attempts: ShownResult[] = []
  const costs: (number | null)[] = []
  let failure = ''
  for (let nth = 0; nth < opinion.tries; nth++) {
    const { agent, left } = watched(await ask.makeAgent(opinion.agent.name, opinion.agent.options ?? {}), [
      ...made.keys(),
    ])
    const record = await ask.runSolver(agent)
    const { end, usage } = record
    costs.push(usage?.costUsd ?? null)
    // Its 0 says nothing about the task, and a reviewer could take it for a flaw of the task.
    if (hadNoValidReply(record)) failure = 'the solver’s model never gave a valid reply'
    else if (end.kind === 'scored') attempts.push({ reward: describeRewards(end.rewards), files: left() })
    else failure = end.kind === 'failed' ? `${end.failure.code}: ${end.failure.message}` : end.kind
  }
  const rewards = attempts.map(({ reward }) => reward)
  if (attempts.length === 0)
    return {
      check: unknown(`no attempt says anything about the task: ${failure}`),
      rewards,
      review: null,
      costUsd: sum(costs),
    }
  const reference: ShownResult = { reward: 'full', files: [...made].map(([path, text]) => ({ path, text })) }
  const tests = files.rounds.flatMap((round) => round.tests.map(({ path, text }) => ({ path, text })))
  const reviewed: ReviewedTask = { instruction: task.instruction, tests, reference, attempts, signal }
  try {
    const review = await opinion.review(reviewed)
    return { check: judgeReview(review, reviewed), rewards, review, costUsd: sum([...costs, review.costUsd]) }
  } catch (error) {
    if (!(error instanceof BoundaryError)) throw error
    return { check: unknown(`${error.boundary} failed: ${error.message}`), rewards, review: null, costUsd: sum(costs) }
  }
}

/**
 * A disagreement rejects the task; its evidence is what the reviewer quotes, with the line where the quotation begins.
 */
function judgeReview({ agrees, reason, quotes }: Review, task: ReviewedTask): Check {
  if (agrees) return { name: 'opinion', outcome: 'ok', reasons: [] }
  const evidence = quotes.map(({ part, text }) => `${placeOf(part, text, task)}: ${text}`)
  return { name: 'opinion', outcome: 'fail', reasons: [`the second opinion disagrees: ${reason}`], evidence }
}

function placeOf(part: ReviewedPart, quote: string, { instruction, tests }: ReviewedTask): string {
  const [first = ''] = quote.trim().split('\n')
  const within =
    part === 'instruction' ? [{ path: 'instruction.md', text: instruction }] : part === 'tests' ? tests : []
  for (const { path, text } of within) {
    const at = text.indexOf(first.trim())
    if (at >= 0) return `${path}:${text.slice(0, at).split('\n').length}`
  }
  return part
}

/** An agent whose results are read from its sandbox when it is done. */
function watched(agent: Agent, paths: readonly string[]): { agent: Agent; left: () => readonly ShownFile[] } {
  let files: readonly ShownFile[] = []
  const { name, version, needsModel, repeats } = agent
  return {
    agent: {
      ...{ name, version },
      ...(needsModel !== undefined && { needsModel }),
      ...(repeats !== undefined && { repeats }),
      ...(agent.toolDirs && { toolDirs: (at) => agent.toolDirs?.(at) ?? Promise.resolve([]) }),
      prepare: async (at) => agent.prepare?.(at),
      async solve(at) {
        const exit = await agent.solve(at)
        files = await readFiles(at.sandbox, paths, at.signal)
        return exit
      },
    },
    left: () => files,
  }
}

async function readFiles(sandbox: Sandbox, paths: readonly string[], signal: AbortSignal): Promise<ShownFile[]> {
  if (paths.length === 0) return []
  const { stdout } = await sandbox.exec(['bash', '-c', readScript(paths)], { timeoutSec: 60, signal })
  const lines = stdout.split('\n')
  return paths.flatMap((path, nth) => {
    const text = Buffer.from(lines[nth] ?? '', 'base64').toString('utf8')
    return text === '' ? [] : [{ path, text }]
  })
}

const unknown = (reason: string): Check => ({ name: 'opinion', outcome: 'unknown', reasons: [reason] })

function sum(costs: readonly (number | null)[]): number | null {
  const known = costs.filter((cost) => cost !== null)
  return known.length === 0 ? null : known.reduce((all, cost) => all + cost, 0)
}
