import { join } from 'node:path'
import type { TrialFile } from '../core/trace.ts'
import { blockingDisk, isLocal, patientDisk } from '../lib/disk.ts'
import { openPackedStore } from './packed/packed-store.ts'
import { readPackedFiles } from './packed/read-files.ts'
import { type LimitOf, readTrialDir } from './read-trial-dir.ts'
import type { TrialStore } from './trial-store.ts'

/** A store whose trials can be read file by file, without unpacking them. */
export interface ReadableStore extends Pick<TrialStore, 'records' | 'close'> {
  /**
   * The wanted files in `agent/` and `verifier/` of the trial and of its steps; links and anything but regular files
   * are skipped.
   */
  readFiles(trialName: string, limitOf: LimitOf): Promise<TrialFile[]>
}

/**
 * Opens a job's trials for reading, whichever way they are laid out. Also works for a directory of trials that is not a
 * job.
 */
export async function openForReading(jobDir: string, layout: 'harbor' | 'packed'): Promise<ReadableStore> {
  if (layout === 'packed') {
    const store = await openPackedStore(jobDir)
    const read = readPackedFiles(join(jobDir, 'packed'), store.index)
    return { records: () => store.records(), readFiles: read.files, close: read.close }
  }
  const { openHarborLayout } = await import('./harbor-layout.ts')
  const store = openHarborLayout(jobDir)
  const disk = isLocal(jobDir) ? blockingDisk : patientDisk
  return {
    records: () => store.records(),
    // An untrusted result.json may give any path as its trial's name.
    readFiles: async (trialName, limitOf) =>
      /[/\\\0]|^\./.test(trialName) ? [] : readTrialDir(join(jobDir, trialName), limitOf, disk),
    close: () => store.close(),
  }
}
