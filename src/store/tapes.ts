import { mkdir, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { RecordedAttempt, RecordedRound } from '../core/replay.ts'
import type { TrialFile } from '../core/trace.ts'
import type { TrialEnd } from '../core/trial.ts'
import { exchangesLimitBytes, exchangesName } from '../formats/exchanges/exchange.ts'
import { modelInHead, readExchanges } from '../formats/exchanges/read-exchanges.ts'
import { turnsOfExchanges } from '../formats/exchanges/recorded-turns.ts'
import { draftOf, renameDraft } from '../lib/drafts.ts'
import { exists } from '../lib/files.ts'
import { type LimitOf, readTrialDir } from './read-trial-dir.ts'

const onlyExchanges: LimitOf = (folder, name) =>
  folder === 'agent' && name === exchangesName ? exchangesLimitBytes : null

/**
 * What interrupted attempts of a job's trials were told by their models, in `.tapes/<trial>/` laid out as in the trial's own
 * directory. A tape is there until its trial ends in another way than by an interruption, or until it turns out to be of no use.
 */
export class Tapes {
  /** A job that was never interrupted has no such directory, and its trials need not look for one. */
  private isThere: Promise<boolean> | undefined

  constructor(private readonly dir: string) {}

  /**
   * Keeps what the attempt in a trial's directory recorded. An attempt that was interrupted while it was replaying a tape has only
   * the beginning of it: then the tape stays.
   */
  async keep(trialName: string, trialDir: string): Promise<void> {
    const files = await readTrialDir(trialDir, onlyExchanges)
    const calls = callsIn(files)
    if (calls === 0 || calls < callsIn(await this.files(trialName))) return
    const draft = draftOf(join(this.dir, `.${trialName}`))
    await rm(draft, { recursive: true, force: true })
    for (const { step, bytes } of files) {
      const path = join(draft, ...(step === null ? [] : ['steps', step]), 'agent', exchangesName)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, bytes)
    }
    await rm(join(this.dir, trialName), { recursive: true, force: true })
    await renameDraft(draft, join(this.dir, trialName))
    this.isThere = Promise.resolve(true)
  }

  /** Null when no interrupted attempt of a trial got a whole reply. */
  async load(trialName: string): Promise<RecordedAttempt | null> {
    const files = await this.files(trialName)
    const rounds = new Map(files.map((file) => [file.step, roundOf(file)]))
    return [...rounds.values()].some(({ turns }) => turns.length > 0) ? { rounds } : null
  }

  async drop(trialName: string): Promise<void> {
    if (!(await this.any())) return
    await rm(join(this.dir, trialName), { recursive: true, force: true })
    // The last one takes the directory along.
    await rmdir(this.dir).catch(() => {})
  }

  /** What an ending means for a tape: one that a person, a budget or a failing machine brought about leaves it to the next attempt. */
  async ended(trialName: string, end: TrialEnd): Promise<void> {
    const isOfUse = end.kind === 'cancelled' || (end.kind === 'failed' && outside.includes(end.failure.boundary))
    if (!isOfUse) await this.drop(trialName)
  }

  private async files(trialName: string): Promise<TrialFile[]> {
    return (await this.any()) ? readTrialDir(join(this.dir, trialName), onlyExchanges) : []
  }

  private any(): Promise<boolean> {
    this.isThere ??= exists(this.dir)
    return this.isThere
  }
}

/** Where failures are neither the agent's nor the task's doing. */
const outside: readonly string[] = ['sandbox', 'model', 'store', 'scheduler']

function callsIn(files: readonly TrialFile[]): number {
  return files.reduce(
    (sum, { bytes }) => sum + readExchanges(bytes).threads.reduce((calls, thread) => calls + thread.calls.length, 0),
    0,
  )
}

function roundOf({ step, bytes }: TrialFile): RecordedRound {
  const exchanges = readExchanges(bytes)
  const at = new Date(exchanges.threads[0]?.calls[0]?.timestamp ?? Number.NaN)
  return {
    turns: turnsOfExchanges(exchanges, step ?? 'trial'),
    at: Number.isNaN(at.getTime()) ? null : at,
    isCut: true,
    wasRefused: exchanges.failed.some(({ code }) => code === 'ContextLengthExceededError'),
    model: modelInHead(bytes),
  }
}
