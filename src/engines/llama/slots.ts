/** The memory of one conversation. */
export interface Slot {
  /** Its address. */
  readonly at: number
  /** The tokens of the conversation. */
  ids: number[]
  /** How many of them, from the start, are in the memory. */
  known: number
  isBusy: boolean
  /** When it was last used; larger is later. */
  usedAt: number
}

/** Fewer tokens than this are not worth copying. */
const worthCopying = 16

/**
 * Keeps the memories of conversations, so that a later turn, or another conversation with the same beginning, need not
 * be read again.
 */
export class Slots {
  private readonly slots: readonly Slot[]
  private clock = 0

  /** `copy` copies the memory of the first tokens of one slot to another. */
  constructor(
    places: readonly number[],
    private readonly copy: (from: Slot, to: Slot, tokens: number) => void,
  ) {
    this.slots = places.map((at) => ({ at, ids: [], known: 0, isBusy: false, usedAt: 0 }))
  }

  get busy(): number {
    return this.slots.filter(({ isBusy }) => isBusy).length
  }

  get size(): number {
    return this.slots.length
  }

  /** The fraction in use, from 0 to 1. */
  use(context: number): number {
    const tokens = this.slots.reduce((sum, { isBusy, ids }) => sum + (isBusy ? ids.length : 0), 0)
    return Math.min(1, tokens / (context * this.slots.length))
  }

  /**
   * A free slot for a conversation, holding as much of it as is known; null while all are busy. The last token never
   * counts as known.
   */
  take(ids: readonly number[]): Slot | null {
    const free = this.slots.filter(({ isBusy }) => !isBusy)
    const [oldest] = [...free].sort((a, b) => a.usedAt - b.usedAt)
    if (oldest === undefined) return null
    const alike = (slot: Slot) => Math.min(sharedLength(slot, ids), ids.length - 1)
    const continued = free.filter((slot) => slot.known > 0 && alike(slot) > 0 && alike(slot) >= slot.known - 1)
    const own = longest(continued, alike)
    const slot = own ?? oldest
    let known = own === undefined ? 0 : alike(own)
    const other = longest(this.slots, alike)
    if (other !== undefined && alike(other) >= known + worthCopying) {
      known = alike(other)
      if (other !== slot) this.copy(other, slot, known)
    }
    Object.assign(slot, { ids: [...ids], known, isBusy: true, usedAt: ++this.clock })
    return slot
  }

  release(slot: Slot): void {
    slot.isBusy = false
    slot.usedAt = ++this.clock
  }
}

function sharedLength({ ids: known, known: length }: Slot, ids: readonly number[]): number {
  const most = Math.min(length, ids.length)
  let i = 0
  while (i < most && known[i] === ids[i]) i++
  return i
}

function longest(slots: readonly Slot[], length: (slot: Slot) => number): Slot | undefined {
  let best: Slot | undefined
  for (const slot of slots) if (best === undefined || length(slot) > length(best)) best = slot
  return best
}
