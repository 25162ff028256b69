import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAbort, messageOf, UserError } from '../../core/errors.ts'
import type { Database } from '../../registry/database.ts'
import { registerBenchmark, registerModel } from '../../registry/entities.ts'
import { countLeases, endLease, type Lease, queueModels, renewLease, takeLease } from '../../registry/leases.ts'
import { loadJobDir } from '../../store/job-dir.ts'
import { Running } from '../running.ts'
import { ingestJob, parseBenchmark } from './ingest-job.ts'
import { type RegistryPlace, withRegistry } from './open.ts'

/** Evaluates one model on behalf of the listener: runs or launches the benchmark, and stops every server it started. */
export type Evaluate = (work: {
  readonly model: string
  /** NAME or NAME@VERSION. */
  readonly benchmark: string
  readonly attempt: number
  /** Aborted when the listener stops, or loses the model to another one. */
  readonly signal: AbortSignal
}) => Promise<{ readonly jobDir: string }>

export interface ListenRequest extends RegistryPlace {
  readonly benchmark: string
  readonly evaluate: Evaluate
  /**
   * Returns further models to evaluate, for example an organization's on the Hub. Called before each query of the
   * registry.
   */
  readonly discover?: (() => Promise<readonly string[]>) | undefined
  /** Models evaluated at once (default 1). */
  readonly concurrency?: number | undefined
  /** Seconds between polls while there is nothing to do (default 60). */
  readonly pollSec?: number | undefined
  /** Ends once nothing can be evaluated. */
  readonly once?: boolean | undefined
  /** A listener that does not renew for this long loses its models (default 300). */
  readonly leaseSec?: number | undefined
  /** Maximum attempts per model (default 3). */
  readonly maxAttempts?: number | undefined
  /** The wait before the second attempt, doubled for each further one (default 60). */
  readonly backoffSec?: number | undefined
  readonly isPublic?: boolean | undefined
}

export type ListenEvent =
  | { readonly kind: 'start'; readonly model: string; readonly attempt: number }
  | { readonly kind: 'done'; readonly model: string; readonly accuracy: number | null }
  /** `retrySec` is null once all attempts are used up. */
  | { readonly kind: 'failed'; readonly model: string; readonly reason: string; readonly retrySec: number | null }
  | { readonly kind: 'lost'; readonly model: string }
  | { readonly kind: 'idle'; readonly counts: Readonly<Record<string, number>> }

/** How many models are in each state when the listener ends. */
export interface ListenResult {
  readonly counts: Readonly<Record<string, number>>
}

/**
 * Evaluates models that have no result on a benchmark yet. Any number of listeners share the work: each model is leased
 * to one.
 */
export function listen(
  request: ListenRequest,
  control: { readonly signal?: AbortSignal | undefined } = {},
): Running<ListenEvent, ListenResult> {
  const signal = control.signal ?? new AbortController().signal
  return new Running((emit) =>
    withRegistry(request, async (database) => {
      const isPublic = request.isPublic ?? false
      const benchmark = parseBenchmark(request.benchmark)
      const benchmarkId = await database.transaction((queries) => registerBenchmark(queries, benchmark, isPublic))
      const listener = new Listener(database, request, benchmarkId, { signal, emit })
      await listener.run()
      return { counts: await countLeases(database, benchmarkId) }
    }),
  )
}

interface ListenControl {
  readonly signal: AbortSignal
  readonly emit: (event: ListenEvent) => void
}

class Listener {
  readonly #owner = `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`
  readonly #broken = new AbortController()
  readonly #terms: { readonly leaseSec: number; readonly maxAttempts: number }

  constructor(
    private readonly database: Database,
    private readonly request: ListenRequest,
    private readonly benchmarkId: string,
    private readonly control: ListenControl,
  ) {
    this.#terms = { leaseSec: request.leaseSec ?? 300, maxAttempts: request.maxAttempts ?? 3 }
  }

  async run(): Promise<void> {
    while (!this.control.signal.aborted) {
      await this.#queue()
      await this.#drainAll()
      if (this.request.once || this.control.signal.aborted) return
      this.control.emit({ kind: 'idle', counts: await countLeases(this.database, this.benchmarkId) })
      await sleep((this.request.pollSec ?? 60) * 1000, undefined, { signal: this.control.signal }).catch(() => {})
    }
  }

  async #queue(): Promise<void> {
    const names = (await this.request.discover?.()) ?? []
    await this.database.transaction(async (queries) => {
      const ids: string[] = []
      for (const name of [...new Set(names)].sort())
        ids.push(await registerModel(queries, name, this.request.isPublic ?? false))
      await queueModels(queries, this.benchmarkId, ids)
    })
  }

  /**
   * If one worker fails, the others stop their evaluations before the listener ends, so that nothing is left running.
   */
  async #drainAll(): Promise<void> {
    const workers = Array.from({ length: this.request.concurrency ?? 1 }, () =>
      this.#drain().catch((error: unknown) => {
        this.#broken.abort(error)
        throw error
      }),
    )
    await Promise.allSettled(workers)
    await Promise.all(workers)
  }

  async #drain(): Promise<void> {
    while (!this.control.signal.aborted && !this.#broken.signal.aborted) {
      const lease = await takeLease(this.database, this.benchmarkId, this.#owner, this.#terms)
      if (lease === null) return
      await this.#evaluate(lease)
    }
  }

  async #evaluate(lease: Lease): Promise<void> {
    const { model, attempt } = lease
    this.control.emit({ kind: 'start', model, attempt })
    const stop = new AbortController()
    const signal = AbortSignal.any([this.control.signal, this.#broken.signal, stop.signal])
    const renewal = setInterval(() => void this.#renew(lease, stop), (this.#terms.leaseSec * 1000) / 3)
    try {
      const { jobDir } = await this.request.evaluate({ model, benchmark: this.request.benchmark, attempt, signal })
      const accuracy = await this.#register(lease, jobDir)
      const kept = await endLease(this.database, lease, { kind: 'done' })
      this.control.emit(kept ? { kind: 'done', model, accuracy } : { kind: 'lost', model })
    } catch (error) {
      await this.#failed(lease, error)
    } finally {
      clearInterval(renewal)
    }
  }

  /** The result of a run that ended badly is registered as partial, and the model is tried again. */
  async #register({ model }: Lease, jobDir: string): Promise<number | null> {
    const { benchmark, isPublic = false } = this.request
    const job = await loadJobDir(jobDir)
    const { runs } = await ingestJob(this.database, job, { benchmark, model, isPublic })
    const run = runs.find((one) => one.model === model)
    if (run === undefined) throw new Error('the job has no trials with this model')
    if (run.status !== 'finished')
      throw new Error(
        `the result is partial: ${run.failed} failed and ${run.cancelled} cancelled of ${run.trials} trials`,
      )
    return run.accuracy
  }

  async #failed(lease: Lease, error: unknown): Promise<void> {
    const stopped = [this.control.signal, this.#broken.signal].some(
      ({ aborted, reason }) => aborted && (isAbort(error) || error === reason),
    )
    if (stopped) {
      await endLease(this.database, lease, { kind: 'released' })
      return
    }
    const { model, attempt } = lease
    // What the user gave is wrong for every attempt; what is only missing now may be there for the next one.
    const isWrong = error instanceof UserError && error.exitCode === 2
    const last = attempt >= this.#terms.maxAttempts || isWrong
    const retrySec = last ? null : (this.request.backoffSec ?? 60) * 2 ** (attempt - 1)
    const reason = messageOf(error)
    const kept = await endLease(this.database, lease, { kind: 'failed', reason, retrySec })
    this.control.emit(kept ? { kind: 'failed', model, reason, retrySec } : { kind: 'lost', model })
  }

  /** If the registry is briefly unreachable, the lease is only lost if that lasts too long. */
  async #renew(lease: Lease, stop: AbortController): Promise<void> {
    const held = await renewLease(this.database, lease, this.#terms.leaseSec).catch(() => true)
    if (!held) stop.abort()
  }
}
