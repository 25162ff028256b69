import { join } from 'node:path'
import type { Agent } from '../../../core/agent.ts'
import { BoundaryError } from '../../../core/errors.ts'
import { judgeFileName } from '../../../core/judge.ts'
import { parseRewards } from '../../../core/rewards.ts'
import type { Task } from '../../../core/task.ts'
import { testsDir } from '../../../core/task-paths.ts'
import type { TrialRecord } from '../../../core/trial.ts'
import { exists } from '../../../lib/files.ts'
import type { CheckRequest } from '../check-request.ts'
import { verifiesSeparately } from '../lint-scripts.ts'
import type { TaskFiles } from '../task-files.ts'
import { type Check, isFull } from '../verdict.ts'
import { checkStated, hidesOrder } from './check-stated.ts'
import { type LawAsk, seeLaws, shallowAgent } from './law-bench.ts'
import { checkReference, checkShallow, type LawsReport, lawPathsOf, stderrWarning } from './law-checks.ts'
import type { ShallowSolution } from './shallow-solutions.ts'

/** The checks made here. */
export const lawNames = ['reference', 'stated', 'shallow'] as const

/** Runs one of the check's agents in a trial of its own. */
export type RunAgent = (agent: Agent) => Promise<TrialRecord>

/** Whether the laws apply: only to a single-step task on Linux. */
export function hasLaws({ steps, environment }: Task): boolean {
  return steps.length === 0 && environment.os === 'linux'
}

/** Checks in one sandbox whether a sound task's instruction, solution and tests agree. */
export async function checkLaws(
  { task, files }: { readonly task: Task; readonly files: TaskFiles },
  request: CheckRequest,
  dir: string,
  runAgent: RunAgent,
): Promise<LawsReport> {
  const paths = lawPathsOf(task, files)
  const all = [...new Set([...paths.told, ...paths.tested].map(({ path }) => path))].slice(0, mostPaths)
  const isScored = !verifiesSeparately(task, null) && !(await exists(join(testsDir(task.dir), judgeFileName)))
  const ask: LawAsk = { task, paths: all, isScored, isOrderHidden: hidesOrder(task, files), pays }
  try {
    const sights = await seeLaws(ask, request, dir)
    const shallow = checkShallow(sights.tried, await firstPaid(sights.paid, runAgent))
    const checks = [checkReference(paths, sights, task, files), checkStated(paths, sights, task), shallow]
    return { checks, findings: stderrWarning(sights), made: sights.made }
  } catch (error) {
    if (!(error instanceof BoundaryError)) throw error
    const reasons = [`${error.boundary} failed: ${error.code}: ${error.message}`]
    return { checks: lawNames.map((name) => unknown(name, reasons)), findings: [], made: new Map() }
  }
}

const mostPaths = 60
const mostConfirmed = 2

/** The first solution that is also paid in a sandbox of its own. */
async function firstPaid(paid: readonly ShallowSolution[], runAgent: RunAgent): Promise<ShallowSolution | null> {
  for (const solution of paid.slice(0, mostConfirmed)) {
    const { end } = await runAgent(shallowAgent(solution))
    if (end.kind === 'scored' && isFull(end.rewards)) return solution
  }
  return null
}

function pays(kind: 'txt' | 'json', text: string): boolean {
  try {
    return isFull(parseRewards({ txt: null, json: null, [kind]: text }, kind))
  } catch {
    return false
  }
}

const unknown = (name: Check['name'], reasons: readonly string[]): Check => ({ name, outcome: 'unknown', reasons })
