import { type FileHandle, open } from 'node:fs/promises'
import { utcNow } from '../lib/time.ts'

const lineLimit = 4_000
const fileLimitBytes = 16 * 1024 * 1024

/** The `trial.log` of one trial: lines with a time, written in order, cut where an agent talks too much. */
export interface TrialLog {
  readonly write: (line: string) => void
  /** Waits for what is still being written; throws the first thing that went wrong. */
  close(): Promise<void>
}

/** Starts a log in a directory that exists. */
export async function openTrialLog(path: string): Promise<TrialLog> {
  const file = await open(path, 'a')
  let sizeBytes = 0
  let failure: unknown
  let writing: Promise<unknown> = Promise.resolve()
  const append = (text: string) => {
    if (sizeBytes > fileLimitBytes) return
    sizeBytes += text.length
    const rest = sizeBytes > fileLimitBytes ? 'the log is cut here: it grew too large\n' : text
    writing = writing
      .then(() => file.appendFile(rest))
      .catch((error: unknown) => {
        failure ??= error
      })
  }
  return {
    write: (line) => append(`${utcNow()} ${oneLine(line)}\n`),
    close: () => finish(file, writing, () => failure),
  }
}

async function finish(file: FileHandle, writing: Promise<unknown>, failure: () => unknown): Promise<void> {
  await writing
  await file.close()
  if (failure() !== undefined) throw failure()
}

function oneLine(line: string): string {
  return line.replaceAll(/[\r\n]+/g, ' | ').slice(0, lineLimit)
}
