/**
 * Tells which row had a 64-bit key first. Takes 32 to 64 bytes per key; a Map takes three times as much and is limited
 * to 16 million.
 */
export class FirstKeys {
  private slots = 1024
  private count = 0
  /** Both halves of the key of each slot. */
  private keys = new Uint32Array(this.slots * 2)
  /** The row number plus 1; 0: the slot is free. */
  private rows = new Float64Array(this.slots)

  /** The row that had this key before; null when none had it, and this row has it from then on. */
  findOrAdd(low: number, high: number, row: number): number | null {
    const slot = this.slotOf(low, high)
    const before = this.rows[slot] ?? 0
    if (before > 0) return before - 1
    this.keys[slot * 2] = low
    this.keys[slot * 2 + 1] = high
    this.rows[slot] = row + 1
    this.count++
    if (this.count * 2 > this.slots) this.grow()
    return null
  }

  private slotOf(low: number, high: number): number {
    let slot = (low ^ Math.imul(high, 0x9e3779b1)) & (this.slots - 1)
    while ((this.rows[slot] ?? 0) > 0 && (this.keys[slot * 2] !== low || this.keys[slot * 2 + 1] !== high))
      slot = (slot + 1) & (this.slots - 1)
    return slot
  }

  private grow(): void {
    const { keys, rows, slots } = this
    this.slots = slots * 2
    this.keys = new Uint32Array(this.slots * 2)
    this.rows = new Float64Array(this.slots)
    for (let old = 0; old < slots; old++) {
      const row = rows[old] ?? 0
      if (row === 0) continue
      const slot = this.slotOf(keys[old * 2] ?? 0, keys[old * 2 + 1] ?? 0)
      this.keys.set(keys.subarray(old * 2, old * 2 + 2), slot * 2)
      this.rows[slot] = row
    }
  }
}
