import { existsSync, renameSync, statSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import type { HostEnv } from '../../core/redact.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { codeOf, exists } from '../../lib/files.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { removeTree } from '../../lib/remove-tree.ts'
import { syncDir } from '../../lib/sync-dir.ts'
import { openHarborLayout } from '../harbor-layout.ts'
import { type JobDir, loadJobDir, saveLayout } from '../job-dir.ts'
import { acquireOwner } from '../job-owner.ts'
import { indexName } from '../record-index.ts'
import { finishReplacement } from '../replacement.ts'
import { replacementName } from '../trial-record.ts'
import { openPackedStore, type PackedStore } from './packed-store.ts'
import { hasSameFiles } from './same-files.ts'

export interface LeftAlone {
  readonly trial: string
  readonly reason: string
}

export interface PackedJob {
  /** Trials that are now packed. */
  readonly trials: number
  readonly packedBytes: number
  /** Directories that stay where they are. */
  readonly leftAlone: readonly LeftAlone[]
}

export interface ConvertOptions {
  readonly host?: HostEnv
  /** Called after each trial. */
  readonly onProgress?: (done: number) => void
  readonly signal?: AbortSignal
}

/** Trials are packed here first: until this directory gets its final name, the job is in the Harbor layout. */
const staging = '.packing'
/** How many share one sync, which on a slow disk takes longer than packing a trial. */
const trialsAtOnce = 128

/**
 * Turns a job's trial directories into packed files. If interrupted at any moment, the job is whole in one layout or
 * the other, and the same call resumes: every directory stays until all are packed and synced and the job says that it
 * is packed.
 */
export async function packJob(jobDir: string, options: ConvertOptions = {}): Promise<PackedJob> {
  const releaseOwner = await acquireOwner(jobDir)
  try {
    const job = await loadJobDir(jobDir)
    if (job.layout === 'harbor') await packTrials(job, options)
    return await removePacked(job, options)
  } finally {
    await releaseOwner()
  }
}

async function packTrials(job: JobDir, options: ConvertOptions): Promise<void> {
  const [packed, stage] = [join(job.dir, 'packed'), join(job.dir, staging)]
  // A crash came after the files got their final name and before the job said so.
  if (await exists(packed)) await rename(packed, stage)
  await mkdir(stage, { recursive: true })
  const store = await openPackedStore(job.dir, { ...options, dirName: staging, blocking: true })
  try {
    await adoptAll(store, stage, job, options)
  } finally {
    await store.close()
  }
  await rename(stage, packed)
  await syncDir(job.dir)
  await saveLayout(job, 'packed')
  await syncDir(job.dir)
}

async function adoptAll(store: PackedStore, stage: string, job: JobDir, options: ConvertOptions): Promise<void> {
  const seen = new Set<string>()
  let done = 0
  const adopt = async (record: TrialRecord) => {
    const dir = join(job.dir, record.name)
    if (!isFinished(dir)) return
    if (existsSync(join(dir, replacementName))) await finishReplacement(dir)
    seen.add(record.name)
    if (!(await hasSameFiles(dir, record.name, stage, store.index))) await store.adopt(dir, record)
  }
  const records = openHarborLayout(job.dir, options.host, { writes: false }).records()
  for await (const _ of mapInOrder(records, trialsAtOnce, (record) => explained(record.name, () => adopt(record)))) {
    options.signal?.throwIfAborted()
    options.onProgress?.(++done)
  }
  // A directory without a result stays where it is, but the run that finishes the trial must find its tries and its
  // tape.
  for (const name of (await trialDirs(job.dir)).filter((name) => !seen.has(name)))
    await explained(name, () => store.adoptUnfinished(join(job.dir, name), name))
  // Trials that an earlier run packed and that a user has since removed or run again.
  for (const name of store.index.trials.keys()) if (!seen.has(name)) await store.forget(name)
}

/** A tree that cannot be packed is a UserError, because the user can fix it; system errors pass unchanged. */
export async function explained<T>(trial: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (codeOf(error) !== undefined || error instanceof UserError || error instanceof BoundaryError) throw error
    throw new UserError(
      `trial ${JSON.stringify(trial)} cannot be packed: ${messageOf(error)}`,
      'rename or remove that file and pack again; nothing is lost',
    )
  }
}

/** Removes every trial directory whose files are packed byte for byte. */
async function removePacked(job: JobDir, options: ConvertOptions): Promise<PackedJob> {
  const store = await openPackedStore(job.dir, options)
  const packed = join(job.dir, 'packed')
  const trash = await makeScratchDir(join(job.dir, '.packed-'))
  const judge = async (name: string): Promise<LeftAlone | null> => {
    const dir = join(job.dir, name)
    // Everything below blocks; yield between trials so that the process can receive signals.
    await setImmediate()
    if (!isFinished(dir)) return { trial: name, reason: 'it is not finished' }
    if (!(await hasSameFiles(dir, name, packed, store.index)))
      return { trial: name, reason: 'it differs from what is packed under that name' }
    // Renamed in one step, so that no reader finds half of it.
    renameSync(dir, join(trash, name))
    await removeTree(join(trash, name))
    return null
  }
  const leftAlone: LeftAlone[] = []
  for await (const left of mapInOrder(await trialDirs(job.dir), trialsAtOnce, judge)) if (left) leftAlone.push(left)
  await removeDraft(trash)
  await store.keepInterrupted()
  await store.close()
  await rm(join(job.dir, indexName), { force: true })
  const packedBytes = [...store.index.trials.values()].reduce((sum, { length }) => sum + length, 0)
  return { trials: store.index.trials.size, packedBytes, leftAlone }
}

function isFinished(dir: string): boolean {
  return statSync(join(dir, 'result.json'), { throwIfNoEntry: false }) !== undefined
}

async function trialDirs(jobDir: string): Promise<string[]> {
  const entries = await readdir(jobDir, { withFileTypes: true })
  const dirs = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'packed')
  return dirs.map((entry) => entry.name).sort()
}
