import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { codeOf } from './files.ts'
import { ArchiveError } from './tar-format.ts'

type Bytes = AsyncGenerator<Uint8Array, void, void>

/** Compresses a stream of bytes; the header carries no time and no operating system. */
export async function* gzip(source: AsyncIterable<Uint8Array>): Bytes {
  const stream = zlib.createGzip({ level, chunkSize: 64 << 10 })
  const feeding = pipeline(source, stream)
  // A source that throws destroys the stream, and the loop below throws the same error.
  feeding.catch(() => {})
  let first = true
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (first) chunk[operatingSystemAt] = unknownOperatingSystem
    first = false
    yield chunk
  }
  await feeding
}

const gzipOnce = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gzip)

/** The same for bytes that are all in memory, at about half the cost when they are few. */
export async function gzipBytes(bytes: Uint8Array): Promise<Uint8Array> {
  const zipped = await gzipOnce(bytes, { level })
  zipped[operatingSystemAt] = unknownOperatingSystem
  return zipped
}

/** The same synchronously, for few bytes. */
export function gzipFew(bytes: Uint8Array): Uint8Array {
  const zipped = zlib.gzipSync(bytes, { level })
  zipped[operatingSystemAt] = unknownOperatingSystem
  return zipped
}

const level = 6
const operatingSystemAt = 9
const unknownOperatingSystem = 255

/**
 * Synchronously decompresses bytes that start like gzip; null when they are not gzip, damaged, or too large for that.
 */
export function gunzipFew(bytes: Uint8Array, outBytes = sizeSaidIn(bytes)): Uint8Array | null {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes.length > 1 << 20) return null
  try {
    return zlib.gunzipSync(bytes, { maxOutputLength: 16 << 20, chunkSize: roomFor(outBytes) })
  } catch {
    return null
  }
}

/** The uncompressed size according to gzip's last bytes, which may be wrong. */
export function sizeSaidIn(bytes: Uint8Array): number {
  if (bytes.length < 4) return 0
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(bytes.length - 4, true)
}

/** A buffer for all of it: requesting much more from the system takes longer than decompressing. */
function roomFor(outBytes: number): number {
  return Math.min(Math.max(outBytes + 1, 1 << 10), 4 << 20)
}

/** Decompresses a stream that starts like gzip and passes on any other stream unchanged; damage throws ArchiveError. */
export async function* gunzipIfNeeded(source: AsyncIterable<Uint8Array>): Bytes {
  const { start, whole } = await peek(source)
  if (start[0] !== 0x1f || start[1] !== 0x8b) {
    yield* whole
    return
  }
  const stream = zlib.createGunzip({ chunkSize: 64 << 10 })
  const feeding = pipeline(whole, stream)
  feeding.catch(() => {})
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) yield chunk
    await feeding
  } catch (error) {
    if (codeOf(error)?.startsWith('Z_'))
      throw new ArchiveError(`the gzip stream is damaged or cut off (${codeOf(error)})`)
    throw error
  }
}

/** The first two bytes of a stream, and a stream that still holds them. */
async function peek(source: AsyncIterable<Uint8Array>): Promise<{ start: Uint8Array; whole: Bytes }> {
  const chunks = source[Symbol.asyncIterator]()
  let start: Uint8Array = new Uint8Array()
  while (start.length < 2) {
    const { done, value } = await chunks.next()
    if (done) break
    start = start.length === 0 ? value : Buffer.concat([start, value])
  }
  return { start, whole: startingWith(start, chunks) }
}

/** A stream that starts with some bytes and continues with the rest of another. */
export async function* startingWith(start: Uint8Array, rest: AsyncIterator<Uint8Array>): Bytes {
  try {
    if (start.length > 0) yield start
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
