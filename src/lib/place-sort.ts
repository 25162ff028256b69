import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'

/** How much is buffered before it goes to disk. */
const waitingBytes = 2 ** 24

/**
 * Sorts things by place without holding all of them in memory: each goes to the heap of its neighbours, a file small
 * enough to sort at once.
 */
export class PlaceSort {
  private readonly waiting = new Map<number, Buffer[]>()
  private bytes = 0

  /** `heapSize` consecutive places share a heap. */
  constructor(
    private readonly dir: string,
    private readonly heapSize: number,
  ) {}

  /** Adds a thing; no two have the same place. */
  async add(place: number, thing: object): Promise<void> {
    const line = serialize([place, thing])
    const length = Buffer.alloc(4)
    length.writeUInt32LE(line.length)
    const heap = Math.floor(place / this.heapSize)
    const lines = this.waiting.get(heap) ?? []
    this.waiting.set(heap, lines)
    lines.push(length, line)
    this.bytes += line.length
    if (this.bytes >= waitingBytes) await this.flush()
  }

  /** The things at places from `from` up to but not including `to`, in order. */
  async *range(from: number, to: number): AsyncIterable<object> {
    await this.flush()
    for (let heap = Math.floor(from / this.heapSize); heap * this.heapSize < to; heap++)
      for (const [place, thing] of await this.sorted(heap)) if (place >= from && place < to) yield thing
  }

  private async flush(): Promise<void> {
    await mkdir(this.dir, { recursive: true })
    for (const [heap, lines] of this.waiting) await appendFile(this.fileOf(heap), Buffer.concat(lines))
    this.waiting.clear()
    this.bytes = 0
  }

  private async sorted(heap: number): Promise<readonly (readonly [place: number, thing: object])[]> {
    const data = await readFile(this.fileOf(heap))
    const lines: [number, object][] = []
    for (let at = 0; at < data.length; ) {
      const end = at + 4 + data.readUInt32LE(at)
      lines.push(deserialize(data.subarray(at + 4, end)))
      at = end
    }
    return lines.sort(([a], [b]) => a - b)
  }

  private fileOf(heap: number): string {
    return join(this.dir, `heap-${heap}`)
  }
}
