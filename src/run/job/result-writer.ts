import type { JobResult } from '../../core/job-stats.ts'
import { saveJobResult } from '../../store/job-dir.ts'

/** Between two writes there is at least this, and twenty times what the last one took. */
const leastMs = 1000
const patience = 20

/** Keeps result.json up to date while a job runs, without writing a large file all the time. */
export interface ResultWriter {
  /** Something changed; it will be written soon. */
  touch(): void
  /** Writes the last state and stops. Throws what kept any write from succeeding. */
  finish(): Promise<void>
}

export function makeResultWriter(jobDir: string, current: (final: boolean) => JobResult): ResultWriter {
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()
  let waitMs = 0
  let done = false
  const write = async (final: boolean) => {
    const startedMs = performance.now()
    await saveJobResult(jobDir, current(final))
    waitMs = Math.max(leastMs, patience * (performance.now() - startedMs))
  }
  const touch = () => {
    if (timer || done) return
    timer = setTimeout(() => {
      // A write that fails now is tried again by the next one, and in the end by `finish`, which tells.
      writing = write(false)
        .catch(() => {})
        .finally(() => {
          timer = undefined
        })
    }, waitMs)
  }
  const finish = async () => {
    done = true
    clearTimeout(timer)
    await writing
    await write(true)
  }
  return { touch, finish }
}
