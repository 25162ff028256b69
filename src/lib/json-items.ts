import type { FileHandle } from 'node:fs/promises'

/** Where something is in a file, in bytes. */
export interface Place {
  readonly at: number
  readonly end: number
}

/**
 * Finds the objects in the array `key` of a JSON document without keeping the document in memory: it reads only as far
 * as requested, and remembers places, including those of small values under other keys. Text that is not JSON gives
 * places that do not parse.
 */
export class JsonItems {
  readonly items: Place[] = []
  /** Values of the document's other keys that are at most 64 KiB long. */
  readonly others = new Map<string, Place>()
  /** True when the whole document has been read. */
  ended = false
  private at = 0
  private depth = 0
  private inString = false
  private escaped = false
  private inItems = false
  private itemAt = 0
  private name: number[] = []
  private key: string | null = null
  private valueAt = 0

  /** The document is the whole file, or the part of it at `place`. */
  constructor(
    private readonly file: FileHandle,
    private readonly wanted: string,
    private readonly place: Place = { at: 0, end: Number.MAX_SAFE_INTEGER },
  ) {
    this.at = place.at
  }

  /** Keeps reading until `count` items are known or the document ends. */
  async ensure(count: number): Promise<void> {
    const chunk = Buffer.allocUnsafe(chunkBytes)
    while (!this.ended && this.items.length < count) {
      const { bytesRead } = await this.file.read(chunk, 0, Math.min(chunkBytes, this.place.end - this.at), this.at)
      if (bytesRead === 0) this.ended = true
      else this.take(chunk.subarray(0, bytesRead))
    }
  }

  private take(chunk: Buffer): void {
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] ?? 0
      if (this.inString) this.takeInString(byte)
      else if (byte === quote) {
        this.inString = true
        if (this.depth === 1) this.name = []
      } else this.takeSign(byte, this.at + i)
    }
    this.at += chunk.length
  }

  private takeInString(byte: number): void {
    if (this.escaped) this.escaped = false
    else if (byte === backslash) this.escaped = true
    else if (byte === quote) this.inString = false
    if (this.depth === 1 && this.inString && this.name.length < longestKey) this.name.push(byte)
  }

  private takeSign(byte: number, at: number): void {
    if (byte === openBrace || byte === openBracket) {
      if (this.depth === 1 && byte === openBracket && this.key === this.wanted) this.inItems = true
      if (this.depth === 2 && byte === openBrace && this.inItems) this.itemAt = at
      this.depth++
    } else if (byte === closeBrace || byte === closeBracket) {
      this.depth--
      if (this.depth === 2 && byte === closeBrace && this.inItems) this.items.push({ at: this.itemAt, end: at + 1 })
      if (this.depth === 1) this.inItems = false
      if (this.depth === 0) this.endValue(at)
    } else if (this.depth === 1 && byte === colon) {
      this.key = Buffer.from(this.name).toString('utf8')
      this.valueAt = at + 1
    } else if (this.depth === 1 && byte === comma) this.endValue(at)
  }

  private endValue(end: number): void {
    if (this.key !== null && this.key !== this.wanted && end - this.valueAt <= longestValue && this.others.size < 100)
      this.others.set(this.key, { at: this.valueAt, end })
    this.key = null
  }
}

const chunkBytes = 1 << 18
const longestKey = 256
const longestValue = 1 << 16
const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c]
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]
