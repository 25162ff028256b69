import { mkdir, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { RecordedAttempt } from '../core/replay.ts'
import { exchangesName } from '../core/task-paths.ts'
import type { TrialFile } from '../core/trace.ts'
import type { TrialEnd } from '../core/trial.ts'
import { draftOf, renameDraft } from '../lib/drafts.ts'
import { exists } from '../lib/files.ts'

/** Loads the code that reads recorded calls; a job that was never interrupted does not need it. */
const reading = () => import('./read-tapes.ts')

/** For existing jobs: loads the code that reads their tapes while nothing runs yet. */
export async function loadTapeReader(): Promise<void> {
  await reading()
}

/**
 * The model replies that interrupted attempts of a job's trials received, in `.tapes/<trial>/`, laid out as in the
 * trial's own directory. A tape stays until its trial ends other than by an interruption, or until it proves useless.
 */
export class Tapes {
  /** A job that was never interrupted has no such directory, and its trials need not look for one. */
  private isThere: Promise<boolean> | undefined

  constructor(private readonly dir: string) {}

  /**
   * Keeps what the attempt in a trial's directory recorded. If an attempt was interrupted while replaying a tape, it
   * has only the beginning of it, so the tape stays.
   */
  async keep(trialName: string, trialDir: string): Promise<void> {
    if (!(await mayHaveRecorded(trialDir))) return
    const { callsIn, readRecorded } = await reading()
    const files = await readRecorded(trialDir)
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

  /** Null when no interrupted attempt of a trial received a whole reply. */
  async load(trialName: string): Promise<RecordedAttempt | null> {
    const files = await this.files(trialName)
    if (files.length === 0) return null
    const { roundOf } = await reading()
    const rounds = new Map(files.map((file) => [file.step, roundOf(file)]))
    return [...rounds.values()].some(({ turns }) => turns.length > 0) ? { rounds } : null
  }

  async drop(trialName: string): Promise<void> {
    if (!(await this.any())) return
    await rm(join(this.dir, trialName), { recursive: true, force: true })
    // Removing the last tape removes the directory too.
    await rmdir(this.dir).catch(() => {})
  }

  /**
   * Updates a tape after an ending: if a person, a budget or a failing machine caused it, the tape is kept for the next
   * attempt.
   */
  async ended(trialName: string, end: TrialEnd): Promise<void> {
    const isOfUse = end.kind === 'cancelled' || (end.kind === 'failed' && outside.includes(end.failure.boundary))
    if (!isOfUse) await this.drop(trialName)
  }

  private async files(trialName: string): Promise<TrialFile[]> {
    return (await this.any()) ? (await reading()).readRecorded(join(this.dir, trialName)) : []
  }

  private any(): Promise<boolean> {
    this.isThere ??= exists(this.dir)
    return this.isThere
  }
}

/** Boundaries whose failures are neither the agent's nor the task's fault. */
const outside: readonly string[] = ['sandbox', 'model', 'store', 'scheduler']

async function mayHaveRecorded(trialDir: string): Promise<boolean> {
  return (await exists(join(trialDir, 'agent', exchangesName))) || exists(join(trialDir, 'steps'))
}
