import { type ModelShape, weightSizes } from './shape.ts'
import { float, rowBytes } from './wasm/kernels.ts'

/** The most tokens that one thread computes in a step. */
export const maxRows = 64

/** Bytes per page of WebAssembly memory, and the maximum number of pages. */
const pageBytes = 65_536
const maxBytes = 65_536 * pageBytes

/** The addresses of everything in the memory that all threads share. */
export interface Layout {
  readonly weights: ReadonlyMap<string, number>
  /** Cosines and sines of every position. */
  readonly angles: number
  /** Where each thread's part begins; `work` has the offsets within it. */
  readonly lanes: readonly number[]
  readonly work: WorkOffsets
  /** Where the keys and values of each conversation begin. */
  readonly slots: readonly number[]
  /** Bytes of the keys (or values) of one layer of one conversation. */
  readonly layerBytes: number
  readonly pages: number
}

export interface WorkOffsets {
  /** A table of the rows of a step. */
  readonly rows: number
  /** Which rows of the step need their next token. */
  readonly wanted: number
  readonly x: number
  readonly normed: number
  readonly q: number
  readonly k: number
  readonly v: number
  readonly found: number
  readonly gate: number
  readonly up: number
  readonly scores: number
  /** The wanted rows, contiguous. */
  readonly chosen: number
  readonly logits: number
}

/** Allocates places one after the other, each aligned to 64 bytes. */
class Places {
  private next: number
  constructor(from = 0) {
    this.next = from
  }

  take(bytes: number): number {
    const at = this.next
    this.next = Math.ceil((at + bytes) / 64) * 64
    return at
  }

  get end(): number {
    return this.next
  }
}

/** Plans the memory; null when it would be larger than WebAssembly allows. */
export function planMemory(
  shape: ModelShape,
  { hasOutput, lanes, slots }: { hasOutput: boolean; lanes: number; slots: number },
): Layout | null {
  const places = new Places()
  const weights = new Map<string, number>()
  for (const [name, floats] of weightSizes(shape, hasOutput)) weights.set(name, places.take(floats * float))
  const angles = places.take(shape.context * shape.head * float)
  const { work, bytes: laneBytes } = planWork(shape)
  const lanesAt = Array.from({ length: lanes }, () => places.take(laneBytes))
  const layerBytes = shape.context * shape.kvHeads * shape.head * float
  const slotsAt = Array.from({ length: slots }, () => places.take(shape.layers * 2 * layerBytes))
  if (places.end > maxBytes) return null
  const pages = Math.ceil(places.end / pageBytes)
  return { weights, angles, lanes: lanesAt, work, slots: slotsAt, layerBytes, pages }
}

function planWork(shape: ModelShape): { readonly work: WorkOffsets; readonly bytes: number } {
  const { width, inner, heads, kvHeads, head, vocab, context } = shape
  const places = new Places()
  const rowsOf = (floats: number) => places.take(maxRows * floats * float)
  const work = {
    rows: places.take(maxRows * rowBytes),
    wanted: places.take(maxRows * float),
    x: rowsOf(width),
    normed: rowsOf(width),
    q: rowsOf(heads * head),
    k: rowsOf(kvHeads * head),
    v: rowsOf(kvHeads * head),
    found: rowsOf(heads * head),
    gate: rowsOf(inner),
    up: rowsOf(inner),
    scores: places.take((context + 4) * float),
    chosen: rowsOf(width),
    logits: rowsOf(vocab),
  }
  return { work, bytes: places.end }
}
