import { constants } from 'node:fs'
import { dirname } from 'node:path'
import type { Recorder, Usage } from '../../core/agent.ts'
import { blockingDisk, isNear, mkdir, patientDisk } from '../../lib/disk.ts'
import { utcNow } from '../../lib/time.ts'

const atEnd = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND
const lineLimit = 4_000
const fileLimitBytes = 16 * 1024 * 1024

/** The `trial.log` of one trial: lines with a time, written in order, cut where an agent talks too much. */
export interface TrialLog {
  /** Rejects when the log cannot be written at all. */
  readonly ready: Promise<void>
  write(line: string): void
  /** Waits for what is still being written; throws the first thing that went wrong. */
  close(): Promise<void>
}

/** Starts a log; its directory is made if missing. Every line passes through `mask` first. */
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

/** What an agent said about one round, as far as it came. */
export interface AgentReport {
  readonly usage: Usage | null
  readonly metadata: Readonly<Record<string, unknown>> | null
}

/** A recorder for one round of an agent, and what was told to it so far. */
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
