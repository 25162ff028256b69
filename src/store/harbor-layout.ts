import { readFileSync } from 'node:fs'
import { readdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { TrialConfig } from '../core/job.ts'
import type { HostEnv } from '../core/redact.ts'
import type { TrialRecord } from '../core/trial.ts'
import { exceptionOf } from '../core/trial-exception.ts'
import { renderTrialConfig } from '../formats/harbor-job/job-config.ts'
import { renderTrialResult } from '../formats/harbor-job/trial-result.ts'
import { isLocal, mkdir, writeText } from '../lib/disk.ts'
import { codeOf, isMissing, readTextIfExists, writeAtomic } from '../lib/files.ts'
import { clearTry, isHalfCleared, keepInterruptedTry, packFailedTry, recoverTrajectories } from './failed-tries.ts'
import type { FoundRecord, IndexOptions, RecordFiles } from './record-index.ts'
import { Tapes } from './tapes.ts'
import { idIn, parseTrialRecord, renderTrialRecord, replacementName } from './trial-record.ts'
import type { TrialStore } from './trial-store.ts'

const standardDirs = ['agent', 'verifier', 'artifacts'] as const
const readAtOnce = 32

/**
 * Trials as directories that Harbor's own tools can open: `<job>/<trial>/{config.json, result.json, agent/, ...}`, plus
 * our record.json. A trial is finished exactly when its result.json exists and is complete.
 */
export function openHarborLayout(jobDir: string, host: HostEnv = process.env, reading: IndexOptions = {}): TrialStore {
  const dirOf = (trialName: string) => join(jobDir, checkTrialName(trialName))
  const tapes = new Tapes(join(jobDir, '.tapes'))
  return {
    records: () => oneByOne(readRecords(jobDir, reading)),
    batches: () => readRecords(jobDir, reading),
    async begin(config) {
      const dir = dirOf(config.trialName)
      if (await isNew(dir)) return writeConfig(dir, config, host)
      if (!(await isHalfCleared(dir))) {
        await tapes.keep(config.trialName, dir)
        await keepInterruptedTry(dir)
      }
      return makeEmpty(dir, config, host)
    },
    tapeOf: (trialName) => tapes.load(trialName),
    dropTape: (trialName) => tapes.drop(trialName),
    async startOver(config) {
      await tapes.drop(config.trialName)
      return makeEmpty(dirOf(config.trialName), config, host)
    },
    async keepFailedTry(trialName, nth, record) {
      const dir = dirOf(trialName)
      await recoverTrajectories(dir)
      await writeRecord(dir, record, host)
      await packFailedTry(dir, nth)
      await clearTry(dir)
      await tapes.ended(trialName, record.end)
    },
    async commit(record) {
      await commit(dirOf(record.name), record, host)
      if (record.end.kind !== 'cancelled') await tapes.drop(record.name)
    },
    async replace(record, from) {
      const dir = dirOf(record.name)
      if ((await readFinishedTrial(dir)) === null) throw noSuchTrial(record.name, jobDir)
      const texts = { result: renderTrialResult(record, host), record: renderTrialRecord(record, host) }
      await (await import('./replacement.ts')).replaceTrial(dir, from, texts)
    },
    async retract(trialName) {
      const dir = dirOf(trialName)
      const record = await readFinishedTrial(dir)
      if (record === null) throw noSuchTrial(trialName, jobDir)
      if (record.end.kind === 'cancelled') await tapes.keep(trialName, dir)
      await (await import('./replacement.ts')).finishReplacement(dir)
      await packFailedTry(dir, 1)
      await clearTry(dir)
    },
    async open(trialName) {
      const dir = dirOf(trialName)
      const trial = await readTrial(dir)
      if (trial === null) throw noSuchTrial(trialName, jobDir)
      if (trial.half) return (await import('./replacement.ts')).openReplaced(dir)
      return { dir, [Symbol.asyncDispose]: async () => {} }
    },
    close: async () => {},
  }
}

async function makeEmpty(dir: string, config: TrialConfig, host: HostEnv): Promise<string> {
  await mkdir(dir, { recursive: true })
  await clearTry(dir)
  return writeConfig(dir, config, host)
}

async function writeConfig(dir: string, config: TrialConfig, host: HostEnv): Promise<string> {
  await writeText(join(dir, 'config.json'), renderTrialConfig(config, host), 'w')
  return dir
}

/**
 * Makes a directory; false if it exists or its parent does not. Most trials run once, so a new directory saves looking
 * for leftovers of an earlier try.
 */
async function isNew(dir: string): Promise<boolean> {
  try {
    await mkdir(dir)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || isMissing(error)) return false
    throw error
  }
}

async function commit(dir: string, record: TrialRecord, host: HostEnv): Promise<void> {
  await recoverTrajectories(dir)
  await writeRecord(dir, record, host)
  for (const name of standardDirs) {
    if (record.steps === null) await mkdir(join(dir, name), { recursive: true })
    else await removeIfEmpty(join(dir, name))
  }
  await writeAtomic(join(dir, 'result.json'), renderTrialResult(record, host))
}

async function writeRecord(dir: string, record: TrialRecord, host: HostEnv): Promise<void> {
  await writeAtomic(join(dir, 'record.json'), renderTrialRecord(record, host))
  const exception = exceptionOf(record)
  if (exception) await writeText(join(dir, 'exception.txt'), exception.traceback, 'w')
}

async function* readRecords(jobDir: string, options: IndexOptions): AsyncGenerator<readonly TrialRecord[], void, void> {
  const entries = await readdir(jobDir, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name)
  if (names.length >= (options.indexFrom ?? 1000)) {
    const { readIndexed, stampOfFiles } = await import('./record-index.ts')
    const stampOf = (name: string) => stampOfFiles(`${jobDir}/${name}/result.json`, `${jobDir}/${name}/record.json`)
    const readText = isLocal(jobDir) ? readTextNow : readTextIfExists
    const read = (left: ReadonlySet<string>) => readFiles(jobDir, left, { stampOf, readText })
    yield* readIndexed(jobDir, new Set(names), { stampOf, read }, options)
  } else for await (const found of readFiles(jobDir, new Set(names))) yield found.map(({ record }) => record)
}

async function* readFiles(
  jobDir: string,
  names: ReadonlySet<string>,
  { stampOf, readText }: { stampOf: RecordFiles['stampOf']; readText: ReadText } = {
    stampOf: () => null,
    readText: readTextIfExists,
  },
): AsyncGenerator<readonly FoundRecord[], void, void> {
  for (const trials of inChunks([...names], readAtOnce)) {
    const stamps = trials.map(stampOf)
    const found = await Promise.all(trials.map((name) => readTrial(join(jobDir, name), readText)))
    // Trials written by Harbor alone are always read from their files.
    yield trials.flatMap((name, i) => {
      const trial = found[i]
      return trial ? [{ name, record: trial.record, stamp: trial.own ? (stamps[i] ?? null) : null }] : []
    })
  }
}

/** Flattens batches into items. With many items, a generator would take longer than the work itself. */
export function oneByOne<T extends object>(
  batches: AsyncGenerator<readonly T[], void, void>,
): AsyncIterableIterator<T> {
  let batch: readonly T[] = []
  let at = 0
  const nextBatch = async (): Promise<IteratorResult<T>> => {
    for (;;) {
      const { done, value } = await batches.next()
      if (done) return { done, value: undefined }
      const [first] = value
      if (first === undefined) continue
      batch = value
      at = 1
      return { done: false, value: first }
    }
  }
  return {
    next() {
      const value = batch[at++]
      return value === undefined ? nextBatch() : Promise.resolve({ done: false, value })
    },
    async return() {
      batch = []
      await batches.return()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function* inChunks<T>(items: readonly T[], size: number): Generator<readonly T[], void, void> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size)
}

/** The record of a finished trial, or null. Our record holds more than result.json, the only one Harbor writes. */
export async function readFinishedTrial(dir: string): Promise<TrialRecord | null> {
  return (await readTrial(dir))?.record ?? null
}

type ReadText = (path: string) => string | null | Promise<string | null>

/** Blocking read, for a local disk when nothing else is running. */
function readTextNow(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

interface FoundTrial {
  readonly record: TrialRecord
  /** True if the record is ours, false if it is Harbor's. */
  readonly own: boolean
  /** A process died after writing this result: some files may not match the record yet. */
  readonly half: boolean
}

async function readTrial(
  dir: string,
  readText: ReadText = readTextIfExists,
  again = false,
): Promise<FoundTrial | null> {
  const result = await readText(join(dir, 'result.json'))
  const id = result === null ? null : idIn(result)
  if (result === null || id === null) return null
  const text = await readText(join(dir, 'record.json'))
  const own = text === null ? null : parseTrialRecord(text)
  if (own?.id === id) return { record: own, own: true, half: false }
  const waiting = await readText(join(dir, replacementName, 'record.json'))
  const anew = waiting === null ? null : parseTrialRecord(waiting)
  if (anew?.id === id) return { record: anew, own: true, half: true }
  // The job's owner may have just moved the record into place.
  if (own && !anew && !again) return readTrial(dir, readText, true)
  const record = await parseOrNull(result)
  return record && { record, own: false, half: false }
}

/** Only trials that Harbor ran lack our record; they are read before a job starts. */
async function parseOrNull(result: string): Promise<TrialRecord | null> {
  const { parseTrialResult } = await import('../formats/harbor-job/trial-result-parse.ts')
  try {
    return parseTrialResult(result)
  } catch (error) {
    if (error instanceof UserError) return null
    throw error
  }
}

async function removeIfEmpty(dir: string): Promise<void> {
  try {
    await rmdir(dir)
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error
  }
}

function checkTrialName(name: string): string {
  if (name !== '' && !name.startsWith('.') && !/[/\\\0]/.test(name)) return name
  throw new UserError(
    `expected the name of a trial, got ${JSON.stringify(name)}`,
    'jobs show lists the trials of a job',
  )
}

function noSuchTrial(name: string, jobDir: string): UserError {
  return new UserError(`${jobDir} has no finished trial ${JSON.stringify(name)}`, 'jobs show lists the trials of a job')
}
