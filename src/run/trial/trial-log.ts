import { constants } from 'node:fs'
import { dirname } from 'node:path'
import type { Recorder, Usage } from '../../core/agent.ts'
import { blockingDisk, isNear, mkdir, patientDisk } from '../../lib/disk.ts'
import { utcNow } from '../../lib/time.ts'

const atEnd = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND
const lineLimit = 4_000
const fileLimitBytes = 16 * 1024 * 1024

/** The `trial.log` of one trial: timestamped lines in order, truncated if an agent logs too much. */
export interface TrialLog {
  /** Rejects when the log cannot be written at all. */
  readonly ready: Promise<void>
  write(line: string): void
  /** Waits for pending writes; throws the first error. */
  close(): Promise<void>
}

/** Opens a log, making its directory if missing. Every line is masked first. */
export function openTrialLog(path: string, mask: (text: string) => string): TrialLog {
  const disk = isNear(path) ? blockingDisk : patientDisk
  const opening = mkdir(dirname(path), { recursive: true }).then(() => disk.open(path, atEnd, 0o666))
  const ready = opening.then(() => {})
  let sizeBytes = 0
  let writing: Promise<void> = ready
  const append = (text: string) => {
    if (sizeBytes > fileLimitBytes) return
    sizeBytes += text.length
    const rest = sizeBytes > fileLimitBytes ? 'the log was cut here because it was too large\n' : text
    writing = writing.then(async () => writeAll(await opening, Buffer.from(rest)))
    writing.catch(() => {})
  }
  const writeAll = async (file: number, bytes: Uint8Array) => {
    for (let done = 0; done < bytes.length; ) done += await disk.write(file, bytes.subarray(done))
  }
  ready.catch(() => {})
  return {
    ready,
    write: (line) => append(`${utcNow()} ${oneLine(mask(line))}\n`),
    close: async () => {
      const file = await opening
      await writing.finally(() => disk.close(file))
    },
  }
}

function oneLine(line: string): string {
  return line.replaceAll(/[\r\n]+/g, ' | ').slice(0, lineLimit)
}

/** What an agent reported about one round so far. */
export interface AgentReport {
  readonly usage: Usage | null
  readonly metadata: Readonly<Record<string, unknown>> | null
}

/** A recorder for one round of an agent, and what it has received so far. */
export function makeRecorder(
  log: (line: string) => void,
  { mark, refused }: Pick<Recorder, 'mark' | 'refused'> = { mark: () => {}, refused: () => {} },
): { readonly record: Recorder; report(): AgentReport } {
  let usage: Usage | null = null
  let metadata: Readonly<Record<string, unknown>> | null = null
  const record: Recorder = {
    usage: (more) => {
      usage = { inputTokens: null, cacheTokens: null, outputTokens: null, costUsd: null, ...usage, ...more }
    },
    metadata: (more) => {
      metadata = { ...metadata, ...more }
    },
    log: (line) => log(`agent: ${line}`),
    mark,
    refused,
  }
  return { record, report: () => ({ usage, metadata }) }
}
