import { type Lane, makeLane } from './lane.ts'
import { type Layout, maxRows, planMemory } from './layout.ts'
import { makeMemory } from './memory.ts'
import type { ModelFile } from './model-file.ts'
import type { ModelShape } from './shape.ts'
import { type Slot, Slots } from './slots.ts'
import { makeModule } from './wasm/forward.ts'
import { float, rowBytes } from './wasm/kernels.ts'
import { compile, type SharedMemory } from './wasm/web-assembly.ts'

/** One reply to be made. */
export interface Generation {
  readonly ids: readonly number[]
  /**
   * Gets the model's logits for the next token; returns the token to continue with, or null when the reply is complete.
   */
  next(logits: Float32Array): number | null
  readonly signal: AbortSignal
}

export interface RunnerSettings {
  readonly threads: number
  /** How many conversations are kept in memory. */
  readonly slots: number
}

interface Running extends Generation {
  readonly slot: Slot
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

interface BusyLane {
  readonly lane: Lane
  readonly at: number
  readonly running: Set<Running>
  isLooping: boolean
}

/**
 * Runs a model for many conversations: in each step, every thread computes the next tokens of all of its conversations.
 */
export class Runner {
  readonly slots: Slots
  private readonly lanes: readonly BusyLane[]
  private readonly waiting: { retry(): void }[] = []

  constructor(
    private readonly shape: ModelShape,
    private readonly layout: Layout,
    private readonly memory: SharedMemory,
  ) {
    const module = compile(makeModule(shape, layout))
    this.lanes = layout.lanes.map((at) => ({
      lane: makeLane({ module, memory, at }),
      at,
      running: new Set<Running>(),
      isLooping: false,
    }))
    this.slots = new Slots(layout.slots, (from, to, tokens) => this.copySlot(from, to, tokens))
  }

  get waitingCount(): number {
    return this.waiting.length
  }

  /**
   * Generates one reply; returns how many of the conversation's tokens were already known. Throws when the signal is
   * aborted.
   */
  async generate(generation: Generation): Promise<number> {
    const slot = await this.takeSlot(generation)
    const { known } = slot
    const lane = this.lanes.reduce((least, each) => (each.running.size < least.running.size ? each : least))
    const stop = { now: () => {} }
    try {
      await new Promise<void>((done, failed) => {
        const running: Running = { ...generation, slot, done, failed }
        stop.now = () => failed(generation.signal.reason)
        generation.signal.addEventListener('abort', stop.now)
        lane.running.add(running)
        void this.loop(lane)
      })
    } finally {
      generation.signal.removeEventListener('abort', stop.now)
    }
    return known
  }

  private async takeSlot({ ids, signal }: Generation): Promise<Slot> {
    for (;;) {
      signal.throwIfAborted()
      const slot = this.slots.take(ids)
      if (slot) return slot
      const entry = { retry: () => {} }
      await new Promise<void>((retry) => {
        entry.retry = retry
        this.waiting.push(entry)
        signal.addEventListener('abort', () => retry(), { once: true })
      })
      const at = this.waiting.indexOf(entry)
      if (at >= 0) this.waiting.splice(at, 1)
      // It was woken for a free slot that it no longer wants.
      else if (signal.aborted) this.waiting.shift()?.retry()
    }
  }

  private async loop(busy: BusyLane): Promise<void> {
    if (busy.isLooping) return
    busy.isLooping = true
    while (busy.running.size > 0) {
      for (const each of busy.running) {
        if (!each.signal.aborted) continue
        each.failed(each.signal.reason)
        this.end(busy, each)
      }
      await this.step(busy)
    }
    busy.isLooping = false
  }

  private async step(busy: BusyLane): Promise<void> {
    const parts = planStep([...busy.running])
    if (parts.length === 0) return
    const { rows, wanted } = this.writeRows(busy.at, parts)
    try {
      await busy.lane.step(rows, wanted.length)
      for (const { running, count } of parts) running.slot.known += count
      for (const [i, running] of wanted.entries()) this.accept(busy, running, i)
    } catch (error) {
      for (const { running } of parts) {
        if (!busy.running.has(running)) continue
        running.failed(error)
        // Its memory is undefined after a failed step.
        running.slot.known = 0
        this.end(busy, running)
      }
    }
  }

  /** Writes the rows of a step into the lane's part of the memory. */
  private writeRows(at: number, parts: readonly Part[]) {
    const { work } = this.layout
    const { buffer } = this.memory
    const table = new Int32Array(buffer, at + work.rows, (maxRows * rowBytes) / float)
    const asked = new Int32Array(buffer, at + work.wanted, maxRows)
    const wanted: Running[] = []
    let row = 0
    for (const { running, count } of parts) {
      const { slot } = running
      for (let i = slot.known; i < slot.known + count; i++) table.set([slot.ids[i] ?? 0, i, slot.at], 3 * row++)
      if (slot.known + count < slot.ids.length) continue
      asked[wanted.length] = row - 1
      wanted.push(running)
    }
    return { rows: row, wanted }
  }

  private accept(busy: BusyLane, running: Running, row: number): void {
    const { vocab, context } = this.shape
    const logits = new Float32Array(this.memory.buffer, busy.at + this.layout.work.logits + row * vocab * float, vocab)
    const token = running.signal.aborted ? null : running.next(logits)
    if (token !== null) running.slot.ids.push(token)
    if (token !== null && running.slot.ids.length <= context) return
    running.done()
    this.end(busy, running)
  }

  private end(busy: BusyLane, running: Running): void {
    busy.running.delete(running)
    this.slots.release(running.slot)
    this.waiting.shift()?.retry()
  }

  private copySlot(from: Slot, to: Slot, tokens: number): void {
    const { layers, kvHeads, head } = this.shape
    const bytes = new Uint8Array(this.memory.buffer)
    for (let part = 0; part < layers * 2; part++) {
      const offset = part * this.layout.layerBytes
      bytes.copyWithin(to.at + offset, from.at + offset, from.at + offset + tokens * kvHeads * head * float)
    }
  }
}

interface Part {
  readonly running: Running
  readonly count: number
}

/** Replies being generated get their next token in every step; the remaining rows read in conversations. */
function planStep(all: readonly Running[]): readonly Part[] {
  const left = ({ slot }: Running) => slot.ids.length - slot.known
  const writing = all.filter((each) => left(each) === 1).slice(0, maxRows)
  const parts: Part[] = writing.map((running) => ({ running, count: 1 }))
  let room = maxRows - parts.length
  for (const running of all) {
    const count = Math.min(room, left(running))
    if (left(running) === 1 || count === 0) continue
    parts.push({ running, count })
    room -= count
  }
  return parts
}

/** Makes a model's runner with as many slots as fit; null when not even one does. */
export function makeRunner(model: ModelFile, { threads, slots }: RunnerSettings): Runner | null {
  const plan = { hasOutput: model.hasOutput, lanes: threads, slots }
  const layout = planMemory(model.shape, plan)
  const memory = layout && makeMemory(model, layout)
  if (layout && memory) return new Runner(model.shape, layout, memory)
  return slots > 1 ? makeRunner(model, { threads, slots: Math.floor(slots / 2) }) : null
}
