import { z } from 'zod'
import type { Asker, Charge, Spent } from '../core/budget.ts'
import { openJsonLines, readJsonLines } from '../lib/jsonl.ts'
import { ledgerFile } from './job-dir.ts'

/** The totals of the calls of a trial or of a whole job. */
export interface Sums extends Omit<Spent, 'wallSec'> {
  readonly inputTokens: number
  readonly cacheTokens: number
  readonly outputTokens: number
  /** Calls that were answered but whose price is unknown: `costUsd` does not include them. */
  readonly unpricedCalls: number
}

/**
 * The account of what a job's calls used, written to disk as they happen. Discarded tries stay in it, because they were
 * paid for.
 */
export interface Ledger {
  add(trial: string | null, charge: Charge, asker?: Asker): void
  /** Totals since the job's first run; `wallSec` is only the time it was running. */
  spent(): Spent
  total(): Sums
  ofTrial(trial: string): Sums
  flush(): Promise<void>
  close(): Promise<void>
}

const entrySchema = z.object({
  schema: z.literal('spend/1'),
  at: z.iso.datetime(),
  /** Marks the start of a run: the time since the previous call does not count. */
  run: z.literal('start').optional(),
  trial: z.string().nullish(),
  /** Absent for the agent or the owner of the ledger. */
  asker: z.literal('judge').optional(),
  model: z.string().optional(),
  inputTokens: z.number().default(0),
  cacheTokens: z.number().default(0),
  outputTokens: z.number().default(0),
  costUsd: z.number().nullish(),
  requests: z.number().default(0),
  answered: z.boolean().default(false),
})
type Entry = z.output<typeof entrySchema>

/** Opens a ledger, creating it if missing, and adds up its contents. Lines cut short by a crash are skipped. */
export async function openLedger(path: string, now: () => Date = () => new Date()): Promise<Ledger> {
  const job = makeSum()
  const trials = new Map<string, Sum>()
  const ofTrial = (trial: string) => {
    const sum = trials.get(trial) ?? makeSum()
    trials.set(trial, sum)
    return sum
  }
  const count = (entry: Entry) => {
    job.add(entry)
    if (entry.trial) ofTrial(entry.trial).add(entry)
  }
  let earlierMs = 0
  let run = { from: Number.NaN, to: Number.NaN }
  for await (const value of readJsonLines(path)) {
    const entry = entrySchema.safeParse(value).data
    if (!entry) continue
    const at = Date.parse(entry.at)
    if (entry.run || Number.isNaN(run.from)) {
      earlierMs += lengthOf(run)
      run = { from: at, to: at }
    } else run.to = Math.max(run.to, at)
    count(entry)
  }
  earlierMs += lengthOf(run)
  const startedAt = now().getTime()
  const file = await openJsonLines(path)
  file.append({ schema: 'spend/1', at: now().toISOString(), run: 'start' })
  return {
    add(trial, { model, usage, costUsd, requests }, asker) {
      const counts = usage ?? { inputTokens: 0, cacheTokens: 0, outputTokens: 0 }
      const { inputTokens, cacheTokens, outputTokens } = counts
      const tokens = { inputTokens, cacheTokens, outputTokens }
      const entry = {
        schema: 'spend/1' as const,
        at: now().toISOString(),
        trial,
        ...(asker && { asker }),
        model,
        ...tokens,
        costUsd,
        requests,
        answered: usage !== null,
      }
      count(entry)
      file.append(entry)
    },
    spent() {
      const { costUsd, tokens, requests } = job.account()
      return { costUsd, tokens, requests, wallSec: (earlierMs + now().getTime() - startedAt) / 1000 }
    },
    total: job.account,
    ofTrial: (trial) => (trials.get(trial) ?? makeSum()).account(),
    flush: file.flush,
    close: file.close,
  }
}

/** The sums of a ledger that need not be open, and the share of them used by judges. */
export async function loadSums(path: string): Promise<{ readonly all: Sums; readonly judge: Sums }> {
  const [all, judge] = [makeSum(), makeSum()]
  for await (const value of readJsonLines(path)) {
    const entry = entrySchema.safeParse(value).data
    if (!entry) continue
    all.add(entry)
    if (entry.asker === 'judge') judge.add(entry)
  }
  return { all: all.account(), judge: judge.account() }
}

/** What judges used on behalf of a job; null when no judge was asked. */
export async function judgeSums(jobDir: string): Promise<Sums | null> {
  const { judge } = await loadSums(ledgerFile(jobDir))
  return judge.requests > 0 ? judge : null
}

type Sum = ReturnType<typeof makeSum>

function makeSum() {
  let costUsd = 0
  let requests = 0
  let inputTokens = 0
  let cacheTokens = 0
  let outputTokens = 0
  let unpricedCalls = 0
  return {
    add(entry: Entry): void {
      costUsd += entry.costUsd ?? 0
      requests += entry.requests
      inputTokens += entry.inputTokens
      cacheTokens += entry.cacheTokens
      outputTokens += entry.outputTokens
      if (entry.answered && typeof entry.costUsd !== 'number') unpricedCalls++
    },
    account: (): Sums => ({
      costUsd,
      tokens: inputTokens + outputTokens,
      requests,
      inputTokens,
      cacheTokens,
      outputTokens,
      unpricedCalls,
    }),
  }
}

function lengthOf({ from, to }: { readonly from: number; readonly to: number }): number {
  return Number.isNaN(from) ? 0 : to - from
}
