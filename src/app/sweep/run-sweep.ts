import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import type { ModelClient } from '../../core/model.ts'
import { Running } from '../running.ts'
import type { GridPoint } from './grid.ts'
import { type LoadRequest, type LoadResult, measureLoad } from './measure-load.ts'

/** A model that answers until it is disposed of. */
export interface OpenModel {
  readonly client: ModelClient
  close(): Promise<void>
}

export interface SweepRequest extends Omit<LoadRequest, 'concurrency' | 'requests' | 'signal'> {
  readonly points: readonly GridPoint[]
  readonly concurrencies: readonly number[]
  /** Requests per measurement; default: four times its concurrency, at least 8. */
  readonly requests?: number | undefined
  /** Starts the server of a point, or connects to a running one. */
  readonly open: (point: GridPoint, signal: AbortSignal) => Promise<OpenModel>
}

/** One measurement, or why there is none. */
export type SweepPoint = { readonly settings: GridPoint; readonly concurrency: number } & (
  | { readonly load: LoadResult; readonly error?: never }
  | { readonly error: string; readonly load?: never }
)

export interface SweepResult {
  readonly schema: 'serve-sweep/1'
  readonly promptTokens: number
  readonly maxOutputTokens: number
  readonly points: readonly SweepPoint[]
}

/**
 * Measures a server at every grid point under every load. A point whose server does not start is reported, and the
 * others continue.
 */
export function runSweep(request: SweepRequest, signal: AbortSignal): Running<SweepPoint, SweepResult> {
  return new Running(async (emit) => {
    const { points, promptTokens, maxOutputTokens } = request
    const measured: SweepPoint[] = []
    for (const settings of points) {
      for await (const point of measurePoint(settings, request, signal)) {
        measured.push(point)
        emit(point)
      }
    }
    return { schema: 'serve-sweep/1', promptTokens, maxOutputTokens, points: measured }
  })
}

async function* measurePoint(
  settings: GridPoint,
  request: SweepRequest,
  signal: AbortSignal,
): AsyncGenerator<SweepPoint> {
  const { concurrencies, requests, open, points: _, ...load } = request
  signal.throwIfAborted()
  let model: OpenModel
  try {
    model = await open(settings, signal)
  } catch (error) {
    signal.throwIfAborted()
    // A wrong name or file is wrong for every point.
    if (!(error instanceof BoundaryError || (error instanceof UserError && request.points.length > 1))) throw error
    yield { settings, concurrency: 0, error: messageOf(error) }
    return
  }
  try {
    // The first request may load or compile something.
    await measureLoad(model.client, { ...load, concurrency: 1, requests: 1, signal })
    for (const concurrency of concurrencies) {
      const count = requests ?? Math.max(8, concurrency * 4)
      yield {
        settings,
        concurrency,
        load: await measureLoad(model.client, { ...load, concurrency, requests: count, signal }),
      }
    }
  } finally {
    await model.close()
  }
}
