import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { lstatOrNull } from '../../lib/disk.ts'
import { draftBeside, makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { exists } from '../../lib/files.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { execProcess } from '../../lib/spawn-process.ts'
import { syncDir } from '../../lib/sync-dir.ts'
import { type JobDir, loadJobDir, saveLayout } from '../job-dir.ts'
import { acquireOwner } from '../job-owner.ts'
import { type ConvertOptions, explained } from './pack-job.ts'
import type { PackedIndex } from './packed-index.ts'
import { openPackedStore, type PackedStore } from './packed-store.ts'
import { restoreTrial } from './restore.ts'
import { hasSameFiles } from './same-files.ts'

export interface UnpackedJob {
  /** Trials that are now directories. */
  readonly trials: number
  /** Links that lead out of their trial; they are not restored. */
  readonly droppedLinks: number
}

const trialsAtOnce = 4

/**
 * Turns a packed job back into trial directories. If interrupted at any moment, the job is whole in one layout or the
 * other, and the same call resumes: the packed files stay until every directory is in place and synced and the job says
 * so.
 */
export async function unpackJob(jobDir: string, options: ConvertOptions = {}): Promise<UnpackedJob> {
  const releaseOwner = await acquireOwner(jobDir)
  try {
    const job = await loadJobDir(jobDir)
    const store = await openPackedStore(job.dir, options)
    const droppedLinks = job.layout === 'packed' ? await restoreAll(job, store, options) : 0
    // The job says that its trials are directories: anything still packed was left by an interruption.
    await removeAway(job.dir, 'packed')
    return { trials: store.index.trials.size, droppedLinks }
  } finally {
    await releaseOwner()
  }
}

async function restoreAll(job: JobDir, store: PackedStore, options: ConvertOptions): Promise<number> {
  const { index } = store
  let missing: string[]
  try {
    await store.keepInterrupted()
    missing = await namesToRestore(job.dir, join(job.dir, 'packed'), index)
    await keepUnfinished(job.dir, missing, store)
  } finally {
    await store.close()
  }
  let droppedLinks = 0
  let done = 0
  for await (const dropped of mapInOrder(missing, trialsAtOnce, (name) => restoreOne(job.dir, name, index))) {
    options.signal?.throwIfAborted()
    droppedLinks += dropped
    options.onProgress?.(++done)
  }
  await syncAll(job.dir)
  await saveLayout(job, 'harbor')
  return droppedLinks
}

/** Renamed first, because in a Harbor job the name `packed` alone decides the layout. */
async function removeAway(jobDir: string, name: string): Promise<void> {
  const away = draftBeside(join(jobDir, name))
  if (await exists(join(jobDir, name))) await rename(join(jobDir, name), away)
  await syncDir(jobDir)
  await removeDraft(away)
  await rm(join(jobDir, '.work'), { recursive: true, force: true })
}

/** Runs before anything is written: a finished directory that differs from what is packed is a user's work. */
async function namesToRestore(jobDir: string, packed: string, index: PackedIndex): Promise<string[]> {
  const missing: string[] = []
  for (const name of index.names()) {
    const dir = join(jobDir, name)
    if (!(await exists(join(dir, 'result.json')))) missing.push(name)
    else if (!(await hasSameFiles(dir, name, packed, index))) {
      throw new UserError(
        `${dir} exists and differs from what is packed under that name`,
        'move it elsewhere and unpack again',
      )
    }
  }
  return missing
}

/** Unfinished trial directories left by a crash make way for what is packed. */
async function keepUnfinished(jobDir: string, names: readonly string[], store: PackedStore): Promise<void> {
  for (const name of names) {
    const dir = join(jobDir, name)
    if ((await lstatOrNull(dir))?.isDirectory()) await explained(name, () => store.adoptUnfinished(dir, name))
  }
}

async function restoreOne(jobDir: string, name: string, index: PackedIndex): Promise<number> {
  const stage = await makeScratchDir(join(jobDir, '.unpack-'))
  const dropped = await restoreTrial(join(jobDir, 'packed'), index, name, stage)
  // A directory without a result; everything worth keeping is already packed.
  if (await exists(join(jobDir, name))) await rename(join(jobDir, name), join(stage, '.unfinished'))
  await rename(join(stage, name), join(jobDir, name))
  await removeDraft(stage)
  return dropped
}

/** One call for a hundred thousand trials; a sync per file would take hours. */
async function syncAll(dir: string): Promise<void> {
  await execProcess('sync', ['-f', dir])
}
