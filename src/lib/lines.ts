import { open } from 'node:fs/promises'

/** A line of a file; its text is decoded on request. */
export class Line {
  constructor(
    /** Where it starts in the file, in bytes. */
    readonly at: number,
    /** Without its line feed. */
    readonly bytes: Buffer,
    /** False for a last line without its line feed: it may have been cut. */
    readonly whole: boolean,
  ) {}

  /** Where the next line starts. */
  get end(): number {
    return this.at + this.bytes.length + (this.whole ? 1 : 0)
  }

  get text(): string {
    return this.bytes.toString('utf8')
  }
}

/** The lines of a text file with their places, from one byte to another, holding one chunk and one line in memory. */
export async function* readLines(
  path: string,
  start = 0,
  end = Number.POSITIVE_INFINITY,
): AsyncGenerator<Line, void, void> {
  for await (const { bytes, at } of readLineChunks(path, start, end)) yield* linesIn(bytes, at)
}

/** The same as the bytes of many lines at once, with their start: avoids waiting for every line of a long file. */
export async function* readLineChunks(
  path: string,
  start = 0,
  end = Number.POSITIVE_INFINITY,
): AsyncGenerator<{ readonly bytes: Buffer; readonly at: number }, void, void> {
  const file = await open(path, 'r')
  try {
    let at = start
    let rest: Buffer = Buffer.alloc(0)
    for (;;) {
      // Twice as much of a line that goes on: it is copied a few times, and not for every piece of it.
      const more = Math.max(chunkBytes, rest.length)
      const known = rest.length
      const chunk = Buffer.allocUnsafe(known + more)
      rest.copy(chunk)
      const { bytesRead } = await file.read(chunk, known, Math.min(more, end - at - known), at + known)
      if (bytesRead === 0) break
      rest = chunk.subarray(0, known + bytesRead)
      const last = rest.subarray(known).lastIndexOf(lineFeed)
      const used = last < 0 ? 0 : known + last + 1
      if (used > 0) yield { bytes: rest.subarray(0, used), at }
      at += used
      rest = rest.subarray(used)
    }
    if (rest.length > 0) yield { bytes: rest, at }
  } finally {
    await file.close()
  }
}

/** The lines in some bytes that start at a given place of a file. */
export function* linesIn(bytes: Buffer, at: number): Generator<Line, void, void> {
  for (const { from, to, whole } of placesIn(bytes)) yield new Line(at + from, bytes.subarray(from, to), whole)
}

/** Where the lines in some bytes are, without their line feeds. */
export function* placesIn(bytes: Buffer): Generator<{ from: number; to: number; whole: boolean }, void, void> {
  for (let from = 0; from < bytes.length; ) {
    const feed = bytes.indexOf(lineFeed, from)
    const to = feed < 0 ? bytes.length : feed
    yield { from, to, whole: feed >= 0 }
    from = to + 1
  }
}

const chunkBytes = 1 << 20
const lineFeed = 0x0a
