import { open } from 'node:fs/promises'

export interface Line {
  /** Where it starts in the file, in bytes. */
  readonly at: number
  /** Where the next one starts. */
  readonly end: number
  readonly text: string
  /** False for a last line without its line feed: it may have been cut. */
  readonly whole: boolean
}

/** The lines of a text file with their places, from one byte to another, holding one chunk and one line in memory. */
export async function* readLines(
  path: string,
  start = 0,
  end = Number.POSITIVE_INFINITY,
): AsyncGenerator<Line, void, void> {
  for await (const lines of readLineBatches(path, start, end)) yield* lines
}

/** The same, all lines of a chunk at once: a file of many lines is read without waiting for each. */
export async function* readLineBatches(
  path: string,
  start = 0,
  end = Number.POSITIVE_INFINITY,
): AsyncGenerator<Iterable<Line>, void, void> {
  const file = await open(path, 'r')
  try {
    let at = start
    let rest: Buffer = Buffer.alloc(0)
    for (;;) {
      const chunk = Buffer.allocUnsafe(chunkBytes)
      const { bytesRead } = await file.read(chunk, 0, Math.min(chunkBytes, end - at - rest.length), at + rest.length)
      if (bytesRead === 0) break
      rest = rest.length === 0 ? chunk.subarray(0, bytesRead) : Buffer.concat([rest, chunk.subarray(0, bytesRead)])
      const used = rest.lastIndexOf(lineFeed) + 1
      if (used > 0) yield linesIn(rest.subarray(0, used), at)
      at += used
      rest = rest.subarray(used)
    }
    if (rest.length > 0) yield [{ at, end: at + rest.length, text: rest.toString('utf8'), whole: false }]
  } finally {
    await file.close()
  }
}

function* linesIn(bytes: Buffer, at: number): Generator<Line, void, void> {
  for (let used = 0; used < bytes.length; ) {
    const feed = bytes.indexOf(lineFeed, used)
    yield { at: at + used, end: at + feed + 1, text: bytes.toString('utf8', used, feed), whole: true }
    used = feed + 1
  }
}

const chunkBytes = 1 << 20
const lineFeed = 0x0a
