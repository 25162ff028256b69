import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Board } from '../../app/view/board.ts'
import type { Library } from '../../app/view/library.ts'
import { type LibraryJob, NotHere } from '../../app/view/library-job.ts'
import type { StartedRuns } from '../../app/view/started-runs.ts'
import type { ExchangeReader } from '../../app/view/view-exchanges.ts'
import type { Trajectories } from '../../app/view/view-steps.ts'
import type { ListRequest } from '../../core/view-lists.ts'

/** Starts and lists runs for readers who have the key. */
export interface ViewWriter {
  readonly key: string
  readonly runs: StartedRuns
}

/** A request for a route of the viewer. */
export interface ViewAsked {
  readonly library: Library
  readonly trajectories: Trajectories
  readonly exchanges: ExchangeReader
  /** Null without a registry. */
  readonly board: Board | null
  /** Null if the server is read-only. */
  readonly writer: ViewWriter | null
  /** The groups that the route's pattern captured from the path, decoded. */
  readonly names: readonly string[]
  readonly query: URLSearchParams
  readonly message: IncomingMessage
  readonly response: ServerResponse
  /** Aborted when the reader disconnects or the server closes. */
  readonly signal: AbortSignal
}

/** Returns an object to send as JSON, or sends its own answer and returns nothing. */
export type ViewRoute = (asked: ViewAsked) => Promise<object | undefined>

/** The job that the path names. */
export function askedJob({ library, names }: ViewAsked): Promise<LibraryJob> {
  return library.job(names[0] ?? '')
}

/** The directory of the trial that the path names. */
export async function askedTrialDir(asked: ViewAsked): Promise<string> {
  const job = await askedJob(asked)
  const trial = asked.names[1] ?? ''
  // A trial that is not in the index yet may be found once every trial has been read.
  if (!job.index.rows.has(trial) && !job.index.complete) await job.index.refresh(600_000)
  return asked.library.trials.dirOf(job, trial)
}

/** An integer from the query, capped at `most`; anything else gives `usual`. */
export function wholeOf(query: URLSearchParams, name: string, usual: number, most: number): number {
  const text = query.get(name)
  const value = text !== null && /^\d{1,15}$/.test(text) ? Number(text) : usual
  return Math.min(value, most)
}

/** Which part of a list the query requests. */
export function listRequest(query: URLSearchParams): ListRequest {
  const sort = query.get('sort') ?? ''
  return {
    offset: wholeOf(query, 'offset', 0, Number.MAX_SAFE_INTEGER),
    limit: wholeOf(query, 'limit', 100, 1000),
    q: (query.get('q') ?? '').slice(0, 200),
    sort: sort.replace(/^-/, ''),
    descending: sort.startsWith('-'),
    filter: query.get('filter') ?? '',
  }
}

/** A required text parameter of the query. */
export function textOf(query: URLSearchParams, name: string): string {
  const text = query.get(name)
  if (text === null || text === '') throw new NotHere(`expected the parameter ${name}`)
  return text
}
