import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { exceptionOf } from '../../core/trial-exception.ts'
import { isSuccess, rewardOf } from '../../formats/traces/trial-facts.ts'
import { AlreadyThere, makeDirWhole } from '../../lib/new-dir.ts'
import { copyTree } from '../../lib/tree.ts'
import { oneLine } from '../../lib/visible.ts'
import { findInputs, type TraceInput } from '../../run/traces/find-inputs.ts'
import { secondsBetween, trialMeasures } from '../../stats/trial-measures.ts'
import { openTrialStore } from '../../store/open-store.ts'

/** The best trial of a task. */
export interface BestTrial {
  readonly task: string
  readonly job: string
  readonly trial: string
  readonly reward: number | null
  /** How many trials it was chosen from. */
  readonly of: number
}

export interface BestRequest {
  readonly paths: readonly string[]
  /** The directory to create; it must not exist. */
  readonly out: string
  readonly recursive?: boolean | undefined
  /** Only tasks solved at least once. */
  readonly solvedOnly?: boolean | undefined
  readonly onBroken: (line: string) => void
  readonly signal: AbortSignal
}

interface Candidate {
  readonly input: TraceInput
  readonly task: string
  readonly trial: string
  readonly reward: number | null
  readonly isSolved: boolean
  readonly rank: readonly number[]
  of: number
}

/**
 * Copies the best trial of each task into a new directory: the highest reward first, then trials without an exception,
 * then the fewest output tokens, turns and seconds. Other commands read that directory as trials.
 */
export async function copyBestTrials(request: BestRequest): Promise<readonly BestTrial[]> {
  const { paths, out, recursive = false, solvedOnly = false, onBroken, signal } = request
  const { inputs, broken } = await findInputs(paths, recursive)
  for (const { dir, why } of broken) onBroken(`${oneLine(dir)} was skipped: ${oneLine(why)}`)
  const best = await choose(inputs, signal)
  const chosen = best.filter(({ isSolved }) => isSolved || !solvedOnly)
  refuseDoubles(chosen)
  const rows = chosen.map(({ input, task, trial, reward, of }) => ({ task, job: input.job, trial, reward, of }))
  const manifest = { schema: 'best-trials/1', solvedOnly, trials: rows }
  try {
    await makeDirWhole(out, async (dir) => {
      for (const input of inputs) await copyFrom(input, chosen, dir, signal)
      await writeFile(join(dir, 'best-trials.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    })
  } catch (error) {
    if (!(error instanceof AlreadyThere)) throw error
    throw new UserError(
      `${out}: expected a new directory, but it already exists`,
      'choose another directory with --out',
    )
  }
  return rows
}

async function choose(inputs: readonly TraceInput[], signal: AbortSignal): Promise<Candidate[]> {
  const best = new Map<string, Candidate>()
  for (const input of inputs) {
    const store = await openTrialStore(input.dir, input.layout)
    try {
      for await (const record of store.records()) {
        signal.throwIfAborted()
        if (input.only !== null && record.name !== input.only) continue
        // Two sources may use the same name for different tasks.
        const key = record.task.checksum || record.task.name
        const known = best.get(key)
        const candidate = candidateOf(input, record, (known?.of ?? 0) + 1)
        if (known === undefined || isBetter(candidate.rank, known.rank)) best.set(key, candidate)
        else known.of++
      }
    } finally {
      await store.close()
    }
  }
  return [...best.values()].sort((a, b) => (a.task < b.task ? -1 : 1))
}

function candidateOf(input: TraceInput, record: TrialRecord, of: number): Candidate {
  const reward = rewardOf(record)
  const { outputTokens, turns } = trialMeasures(record)
  const most = Number.POSITIVE_INFINITY
  const rank = [
    -(reward ?? -most),
    exceptionOf(record) === null ? 0 : 1,
    outputTokens ?? most,
    turns ?? most,
    secondsBetween(record.startedAt, record.finishedAt),
  ]
  return { input, task: record.task.name, trial: record.name, reward, isSolved: isSuccess(record), rank, of }
}

function isBetter(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, i) => value !== b[i])
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0)
}

/** Rejects duplicate trial names: a trial keeps its name, because its files contain it. */
function refuseDoubles(chosen: readonly Candidate[]): void {
  const seen = new Map<string, Candidate>()
  for (const each of chosen) {
    const other = seen.get(each.trial)
    if (other)
      throw new UserError(
        `expected trials with different names, found ${each.trial} in ${other.input.dir} and in ${each.input.dir}`,
        'copy the best trials of each job into its own directory',
      )
    seen.set(each.trial, each)
  }
}

async function copyFrom(input: TraceInput, chosen: readonly Candidate[], dir: string, signal: AbortSignal) {
  const mine = chosen.filter((each) => each.input === input)
  if (mine.length === 0) return
  const store = await openTrialStore(input.dir, input.layout)
  try {
    for (const { trial } of mine) {
      signal.throwIfAborted()
      await using opened = await store.open(trial)
      await copyTree(opened.dir, join(dir, trial))
    }
  } finally {
    await store.close()
  }
}
