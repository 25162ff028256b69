import { openTrialStore } from '../../store/open-store.ts'
import type { OpenTrial } from '../../store/trial-store.ts'
import { type LibraryJob, NotHere } from './library-job.ts'

/** How many packed trials stay unpacked. */
const mostOpen = 4

/** The directories of trials. A packed trial is unpacked to a temporary directory, which is kept for a while. */
export class OpenTrials {
  private readonly opened = new Map<string, Promise<OpenTrial>>()

  /** The directory of a trial, finished or running. */
  async dirOf(job: LibraryJob, trial: string): Promise<string> {
    const running = job.index.dirOfRunning(trial)
    if (running !== null) return running
    const row = job.index.rows.get(trial)
    if (row === undefined) throw new NotHere(`job ${JSON.stringify(job.id)} has no trial ${JSON.stringify(trial)}`)
    const key = `${job.there.dir}\0${trial}\0${row.startedAt}`
    const open = this.opened.get(key) ?? this.open(job, trial, key)
    // Move it to the end: the least recently used is removed first.
    this.opened.delete(key)
    this.opened.set(key, open)
    const { dir } = await open
    await this.closeOldest()
    return dir
  }

  async close(): Promise<void> {
    const all = [...this.opened.values()]
    this.opened.clear()
    for (const each of all) await each.then((open) => open[Symbol.asyncDispose]()).catch(() => {})
  }

  private open(job: LibraryJob, trial: string, key: string): Promise<OpenTrial> {
    const opening = (async () => {
      const store = await openTrialStore(job.there.dir, job.there.layout)
      try {
        return await store.open(trial)
      } finally {
        await store.close()
      }
    })()
    opening.catch(() => this.opened.delete(key))
    return opening
  }

  private async closeOldest(): Promise<void> {
    while (this.opened.size > mostOpen) {
      const [oldest] = this.opened
      if (oldest === undefined) return
      this.opened.delete(oldest[0])
      await oldest[1].then((open) => open[Symbol.asyncDispose]()).catch(() => {})
    }
  }
}
