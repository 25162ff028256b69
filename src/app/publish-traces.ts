import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { TrialRecord } from '../core/trial.ts'
import { checkWriter } from '../formats/hub/check-writer.ts'
import { openRepository } from '../formats/hub/open.ts'
import { parseTarget } from '../formats/hub/target.ts'
import { rewardOf } from '../formats/traces/trial-facts.ts'
import { makeScratchDir, removeDraft } from '../lib/drafts.ts'
import { exportTraces } from './export-traces.ts'
import { type Uploaded, uploadToHub } from './hub/upload.ts'
import { arrivedTraces, noteTraces, type SentTraces } from './traces/sent-traces.ts'

/** The job whose traces to publish, and where. */
export interface TracesTarget {
  readonly jobDir: string
  /** `org/name`, or `file:PATH`. */
  readonly repository: string
  /** For new datasets only. */
  readonly isPrivate: boolean
}

export interface PublishedTraces extends Pick<Uploaded, 'repository' | 'rows' | 'url'> {
  /** How many trials were rescored after their traces were sent: the dataset has their old rewards. */
  readonly outdated: number
}

/** Rejects, before a job is run, a target that its traces cannot be published to. */
export async function checkTracesTarget(repository: string, signal: AbortSignal): Promise<void> {
  const target = parseTarget(repository, '--upload-traces')
  if (target.kind === 'hub') await checkWriter(target.repo, process.env, signal)
}

/**
 * Exports a job's traces and adds them to a dataset. Each run of a trial is sent once; without new ones, nothing is
 * sent.
 */
export async function publishTraces(
  { jobDir, repository, isPrivate }: TracesTarget,
  signal: AbortSignal,
): Promise<PublishedTraces> {
  const dataset = openRepository(repository, { env: process.env, signal })
  const arrived = rewardsOf(await arrivedTraces(jobDir, dataset))
  const outdated = new Set<string>()
  const sent: TrialRecord[] = []
  const skip = (record: TrialRecord) => {
    const run = runOf(record)
    const sentReward = arrived.get(run)
    if (sentReward !== undefined && sentReward !== rewardOf(record)) outdated.add(run)
    return arrived.has(run)
  }
  const onExported = (record: TrialRecord) => void sent.push(record)
  const scratch = await makeScratchDir(join(tmpdir(), 'ot-agent-traces-'))
  try {
    const out = join(scratch, 'traces')
    const asked = { from: jobDir, out, name: repository, skip, onExported }
    const { rows, trials, files } = await exportTraces(asked, { signal })
    if (rows === 0 && arrived.size > 0) return { repository: dataset.name, rows, url: null, outdated: outdated.size }
    if (rows === 0)
      throw new UserError(`${jobDir}: expected traces of ${trials} trials, got none`, 'its agent wrote no trajectories')
    const note = { trials: sent.map(runOf), rewards: sent.map(rewardOf), files: files.map(({ sha256 }) => sha256) }
    await noteTraces(jobDir, { repository: dataset.name, ...note })
    const uploaded = await uploadToHub(
      {
        ...{ dir: out, repository, type: 'dataset', isPrivate, replace: false },
        ...{ packed: false, branch: 'main', dryRun: false },
      },
      { signal, onProgress: () => {} },
    )
    return { ...uploaded, outdated: outdated.size }
  } finally {
    await removeDraft(scratch)
  }
}

/** What each run scored when it was sent, if that was noted. */
function rewardsOf(uploads: readonly SentTraces[]): Map<string, number | null | undefined> {
  return new Map(uploads.flatMap(({ trials, rewards }) => trials.map((run, at) => [run, rewards?.[at]] as const)))
}

/** A trial that runs again is another run. */
function runOf({ name, startedAt }: TrialRecord): string {
  return `${name} ${startedAt}`
}
