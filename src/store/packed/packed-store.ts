import { mkdir, readdir, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { TrialConfig } from '../../core/job.ts'
import type { HostEnv } from '../../core/redact.ts'
import type { RecordedAttempt } from '../../core/replay.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { codeOf, exists } from '../../lib/files.ts'
import { type PackOptions, packDir } from '../../lib/tar.ts'
import { keepInterruptedTry, listFailedTries, makeReadable } from '../failed-tries.ts'
import { oneByOne, openHarborLayout } from '../harbor-layout.ts'
import type { IndexOptions } from '../record-index.ts'
import { Tapes } from '../tapes.ts'
import { renderTrialRecord } from '../trial-record.ts'
import type { OpenTrial, TrialStore } from '../trial-store.ts'
import { type Addition, Appender } from './appender.ts'
import { listSegments, loadIndex, type PackedIndex, segmentName } from './packed-index.ts'
import { readPackedRecords, recordsBetween } from './packed-records.ts'
import { collectPayload, type Payload } from './payload.ts'
import { memberOptions, restoreTrial } from './restore.ts'

export interface PackedStoreOptions {
  readonly host?: HostEnv
  /** A segment that reaches this size is followed by a new one. Default 256 MiB. */
  readonly rollBytes?: number
  /** The directory of segments and index, for a job being converted between layouts. Default `packed`. */
  readonly dirName?: string
  /** True for a program that does nothing else at the time: directories are read with blocking calls. */
  readonly blocking?: boolean
  /** How the records are read. */
  readonly reading?: IndexOptions
}

/**
 * Trials in a few append-only files: `packed/segment-00000.tar.gz` holds one gzip member with a tar per trial,
 * `packed/index.jsonl` says where each lies and holds its record. A trial is finished exactly when its index line is
 * whole and its bytes are present. Trials in progress are directories in `.work/`, laid out as in the Harbor layout.
 * Reading changes none of this.
 */
export async function openPackedStore(jobDir: string, options: PackedStoreOptions = {}): Promise<PackedStore> {
  const dirs = {
    job: jobDir,
    packed: join(jobDir, options.dirName ?? 'packed'),
    work: join(jobDir, '.work'),
    tapes: join(jobDir, '.tapes'),
  }
  return new PackedStore(dirs, await loadIndex(dirs.packed), options)
}

/** Where a packed try is stored. */
interface TryPlace {
  readonly store: TrialStore
  readonly root: string
}

interface Dirs {
  readonly job: string
  readonly packed: string
  readonly work: string
  readonly tapes: string
}

export class PackedStore implements TrialStore {
  readonly index: PackedIndex
  readonly #dirs: Dirs
  readonly #tapes: Tapes
  readonly #host: HostEnv
  readonly #rollBytes: number
  readonly #blocking: boolean
  readonly #reading: IndexOptions
  readonly #workshop: TrialStore
  #appender: Promise<Appender> | undefined

  constructor(dirs: Dirs, index: PackedIndex, options: PackedStoreOptions) {
    this.index = index
    this.#dirs = dirs
    this.#tapes = new Tapes(dirs.tapes)
    this.#host = options.host ?? process.env
    this.#rollBytes = options.rollBytes ?? 256 << 20
    this.#blocking = options.blocking ?? false
    this.#reading = options.reading ?? {}
    this.#workshop = openHarborLayout(dirs.work, this.#host)
  }

  readonly batches = () => readPackedRecords(this.#dirs, this.index, this.#reading)
  readonly records = () => oneByOne(this.batches())

  async begin(config: TrialConfig): Promise<string> {
    await this.#ready()
    return this.#workshop.begin(config)
  }

  async tapeOf(trialName: string): Promise<RecordedAttempt | null> {
    await this.#ready()
    return this.#tapes.load(trialName)
  }

  async dropTape(trialName: string): Promise<void> {
    await this.#tapes.drop(trialName)
  }

  async startOver(config: TrialConfig): Promise<string> {
    await this.#tapes.drop(config.trialName)
    return this.#workshop.startOver(config)
  }

  async keepFailedTry(trialName: string, nth: number, record: TrialRecord): Promise<void> {
    const appender = await this.#ready()
    const addition = await this.#packTry(trialName, nth, record)
    await appender.append([addition]).finally(() => addition.payload.discard())
    await rm(join(this.#dirs.work, trialName), { recursive: true, force: true })
    await this.#tapes.ended(trialName, record.end)
  }

  async commit(record: TrialRecord): Promise<void> {
    await this.#ready()
    await this.#workshop.commit(record)
    const dir = join(this.#dirs.work, record.name)
    await this.adopt(dir, record)
    if (record.end.kind !== 'cancelled') await this.#tapes.drop(record.name)
    await rm(dir, { recursive: true, force: true })
  }

  /** Commits a finished trial's directory from any location, as it is, and leaves the directory there. */
  async adopt(dir: string, record: TrialRecord): Promise<{ packedBytes: number }> {
    const appender = await this.#ready()
    const payload = await this.#pack(dir, memberOptions(record.name))
    const recordText = renderTrialRecord(record, this.#host, 0)
    await appender.append([{ kind: 'trial', trial: record.name, payload, recordText }]).finally(() => payload.discard())
    return { packedBytes: payload.length }
  }

  /** Keeps what a dead process left in `.work/`, as the next run would. */
  async keepInterrupted(): Promise<void> {
    await this.#ready()
  }

  /**
   * Keeps the model's replies and the tries set aside from an unfinished trial's directory, wherever it is. Removes
   * nothing.
   */
  async adoptUnfinished(dir: string, trialName: string): Promise<void> {
    await this.#keepTry(await this.#ready(), trialName, dir)
  }

  /** Drops a finished trial as if it had never existed. */
  async forget(trialName: string): Promise<void> {
    const appender = await this.#ready()
    await appender.append([{ kind: 'forget', trial: trialName }])
  }

  async replace(record: TrialRecord, from: string): Promise<void> {
    const trial = record.name
    if (!this.index.trials.has(trial)) throw this.#noSuchTrial(trial)
    const appender = await this.#ready()
    const stage = await this.#stageOf(trial)
    const nth = this.index.nextTry(trial, 1)
    await openHarborLayout(stage, this.#host).replace(record, from)
    const dir = join(stage, trial)
    const aside = await this.#packTryFile(dir, trial, nth)
    const filter = ({ path }: { readonly path: string }) => !/^failed-\d+\.tar\.gz$/.test(path)
    const payload = await this.#pack(dir, { ...memberOptions(trial), filter })
    const recordText = renderTrialRecord(record, this.#host, 0)
    const added: Addition[] = [{ kind: 'failed-try', trial, nth, payload: aside }]
    added.push({ kind: 'trial', trial, payload, recordText })
    await appender.append(added).finally(() => Promise.all([aside.discard(), payload.discard()]))
    await removeDraft(stage)
  }

  async retract(trialName: string): Promise<void> {
    const record = await this.#recordOf(trialName)
    const appender = await this.#ready()
    await rm(join(this.#dirs.work, trialName), { recursive: true, force: true })
    const stage = await this.#stageOf(trialName)
    if (record.end.kind === 'cancelled') await this.#tapes.keep(trialName, join(stage, trialName))
    const place = { store: openHarborLayout(stage, this.#host), root: stage }
    const addition = await this.#packTry(trialName, 1, record, place)
    await appender.append([addition, { kind: 'forget', trial: trialName }]).finally(() => addition.payload.discard())
    await removeDraft(stage)
  }

  async open(trialName: string): Promise<OpenTrial> {
    if (!this.index.trials.has(trialName)) throw this.#noSuchTrial(trialName)
    const stage = await makeScratchDir(join(tmpdir(), 'ot-agent-trial-'))
    const discard = () => removeDraft(stage)
    try {
      await restoreTrial(this.#dirs.packed, this.index, trialName, stage)
    } catch (error) {
      await discard()
      throw error
    }
    return { dir: join(stage, trialName), [Symbol.asyncDispose]: discard }
  }

  async close(): Promise<void> {
    const appender = await this.#appender
    await appender?.close()
    if (appender) {
      // Model calls of trials that could not be committed were paid for all the same.
      for (const trial of await this.#atWork()) await this.#tapes.keep(trial, join(this.#dirs.work, trial))
      await rm(this.#dirs.work, { recursive: true, force: true })
    }
    this.#appender = undefined
  }

  /**
   * Before the first write: cuts off what a crash left behind, and keeps from a dead process's work only what was
   * committed.
   */
  #ready(): Promise<Appender> {
    this.#appender ??= this.#open().catch((error: unknown) => {
      // The cause, such as a full disk, may be gone by the next call.
      this.#appender = undefined
      throw error
    })
    return this.#appender
  }

  async #open(): Promise<Appender> {
    await this.#repair()
    const appender = new Appender(this.#dirs.packed, this.index, this.#rollBytes)
    for (const trial of await this.#atWork()) await this.#keepTry(appender, trial, join(this.#dirs.work, trial))
    await rm(this.#dirs.work, { recursive: true, force: true })
    return appender
  }

  /** Trials whose files are not yet committed. */
  async #atWork(): Promise<string[]> {
    const entries = await readdir(this.#dirs.work, { withFileTypes: true }).catch(() => [])
    return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name)
  }

  async #keepTry(appender: Appender, trial: string, dir: string): Promise<void> {
    // A committed trial needs no tape, even if its working files are still there.
    if (!this.index.trials.has(trial)) await this.#tapes.keep(trial, dir)
    await keepInterruptedTry(dir, this.index.nextTry(trial, 1))
    const known = this.index.triesOf(trial)
    for (const nth of (await listFailedTries(dir)).filter((nth) => !known.has(nth))) {
      const payload = await this.#packTryFile(dir, trial, nth)
      await appender.append([{ kind: 'failed-try', trial, nth, payload }]).finally(() => payload.discard())
    }
  }

  async #repair(): Promise<void> {
    await mkdir(this.#dirs.packed, { recursive: true })
    const index = join(this.#dirs.packed, 'index.jsonl')
    if (await exists(index)) await truncate(index, this.index.bytes)
    for (const segment of await listSegments(this.#dirs.packed)) {
      const path = join(this.#dirs.packed, segmentName(segment))
      const bytes = this.index.segmentBytes.get(segment)
      if (bytes === undefined) await rm(path)
      else await truncate(path, bytes)
    }
  }

  /** Unpacks a finished trial's files into a directory of their own: other trials may be in progress next to it. */
  async #stageOf(trialName: string): Promise<string> {
    await mkdir(this.#dirs.work, { recursive: true })
    const stage = await makeScratchDir(join(this.#dirs.work, '.stage-'))
    await restoreTrial(this.#dirs.packed, this.index, trialName, stage)
    return stage
  }

  /** Packs the working files into `failed-N.tar.gz`, as the Harbor layout does, and commits that one file. */
  async #packTry(trial: string, least: number, record: TrialRecord, place: Partial<TryPlace> = {}) {
    const { store = this.#workshop, root = this.#dirs.work } = place
    const nth = this.index.nextTry(trial, least)
    await store.keepFailedTry(trial, nth, record)
    const payload = await this.#packTryFile(join(root, trial), trial, nth)
    return { kind: 'failed-try', trial, nth, payload } as const
  }

  #packTryFile(dir: string, trial: string, nth: number): Promise<Payload> {
    const filter = ({ path }: { readonly path: string }) => path === `failed-${nth}.tar.gz`
    return this.#pack(dir, { ...memberOptions(trial), filter })
  }

  async #pack(dir: string, options: PackOptions): Promise<Payload> {
    const pack = () => collectPayload(packDir(dir, { ...options, blocking: this.#blocking }), this.#dirs.work)
    try {
      return await pack()
    } catch (error) {
      if (codeOf(error) !== 'EACCES') throw error
      await makeReadable(dir)
      return pack()
    }
  }

  async #recordOf(trialName: string): Promise<TrialRecord> {
    const trial = this.index.trials.get(trialName)
    if (!trial) throw this.#noSuchTrial(trialName)
    for await (const { record } of recordsBetween(this.#dirs.packed, this.index, trial.lineAt, trial.lineEnd))
      return record
    throw this.#noSuchTrial(trialName)
  }

  #noSuchTrial(name: string): UserError {
    return new UserError(
      `${this.#dirs.packed} has no finished trial ${JSON.stringify(name)}`,
      'jobs show lists the trials of a job',
    )
  }
}
