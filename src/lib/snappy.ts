const tableBits = 14
const shift = 32 - tableBits
const furthest = 0xffff
/** The search for matches stops this far before the end, so that every read of four bytes is inside. */
const tail = 15

const table = new Uint32Array(1 << tableBits)

/**
 * Compresses bytes into the raw format of Snappy, the one parquet uses. Takes less than half the time of the parquet
 * library's own function, because it writes by index into a buffer of the largest possible size.
 */
export function snappyCompress(input: Uint8Array): Uint8Array {
  const output = Buffer.allocUnsafe(32 + input.length + Math.ceil(input.length / 6))
  const view = new DataView(input.buffer, input.byteOffset, input.length)
  table.fill(0)
  let out = writeLength(output, input.length)
  let emitted = 0
  let misses = 32
  for (let at = 1; at < input.length - tail; ) {
    const four = view.getUint32(at, true)
    const slot = Math.imul(four, 0x1e35a7bd) >>> shift
    const before = table[slot] ?? 0
    table[slot] = at
    if (at - before > furthest || view.getUint32(before, true) !== four) {
      // The longer nothing repeats, the larger the steps: incompressible data costs little.
      at += misses++ >>> 5
      continue
    }
    misses = 32
    out = writeLiteral(output, out, input, { from: emitted, to: at })
    const end = endOfMatch(input, before + 4, at + 4)
    out = writeCopy(output, out, at - before, end - at)
    emitted = end
    at = end
  }
  out = writeLiteral(output, out, input, { from: emitted, to: input.length })
  return output.subarray(0, out)
}

function endOfMatch(input: Uint8Array, before: number, at: number): number {
  let [from, to] = [before, at]
  while (to < input.length && input[from] === input[to]) {
    from++
    to++
  }
  return to
}

function writeLength(output: Uint8Array, length: number): number {
  let [left, out] = [length, 0]
  while (left >= 128) {
    output[out++] = (left & 127) | 128
    left >>>= 7
  }
  output[out++] = left
  return out
}

interface Span {
  readonly from: number
  readonly to: number
}

function writeLiteral(output: Uint8Array, start: number, input: Uint8Array, { from, to }: Span): number {
  const length = to - from
  if (length === 0) return start
  let out = start
  if (length <= 60) {
    output[out++] = (length - 1) << 2
  } else {
    const extra = length <= 0x100 ? 1 : length <= 0x10000 ? 2 : length <= 0x1000000 ? 3 : 4
    output[out++] = (59 + extra) << 2
    for (let i = 0; i < extra; i++) output[out++] = ((length - 1) >>> (8 * i)) & 255
  }
  // Short ones byte by byte, because making a view of them costs more.
  if (length < 32) for (let i = from; i < to; i++) output[out++] = input[i] ?? 0
  else {
    output.set(input.subarray(from, to), out)
    out += length
  }
  return out
}

/** Copies of up to 64 bytes from at most 65,535 bytes back; none shorter than 4. */
function writeCopy(output: Uint8Array, start: number, offset: number, length: number): number {
  let [left, out] = [length, start]
  while (left > 0) {
    const piece = left > 67 ? 64 : left > 64 ? 60 : left
    output[out++] = ((piece - 1) << 2) | 2
    output[out++] = offset & 255
    output[out++] = offset >>> 8
    left -= piece
  }
  return out
}

/**
 * Decompresses raw Snappy data that must give exactly `size` bytes. The parquet library's own function accepts negative
 * lengths from damaged data and then goes back and forth for seconds; here every step goes forward and stays inside.
 */
export function snappyUncompress(input: Uint8Array, size: number): Uint8Array {
  const start = readLength(input, size)
  const output = new Uint8Array(size)
  let out = 0
  for (let at = start; at < input.length; ) {
    const tag = input[at++] ?? 0
    if ((tag & 3) === 0) {
      const extra = Math.max(0, (tag >>> 2) - 59)
      const length = (extra === 0 ? tag >>> 2 : readNumber(input, at, extra)) + 1
      at += extra
      if (length > input.length - at || length > size - out) throw new Error('snappy data is damaged')
      output.set(input.subarray(at, at + length), out)
      at += length
      out += length
      continue
    }
    const extra = (tag & 3) === 3 ? 4 : tag & 3
    const isShort = extra === 1
    const length = isShort ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1
    const offset = readNumber(input, at, extra) + (isShort ? (tag >>> 5) << 8 : 0)
    at += extra
    if (offset === 0 || offset > out || length > size - out) throw new Error('snappy data is damaged')
    if (offset >= length) output.copyWithin(out, out - offset, out - offset + length)
    else for (let i = 0; i < length; i++) output[out + i] = output[out + i - offset] ?? 0
    out += length
  }
  if (out !== size) throw new Error('snappy data is damaged')
  return output
}

/**
 * Where the data starts after its length. A copy of 64 bytes takes 3, so a much larger size is damage and gets no
 * memory.
 */
function readLength(input: Uint8Array, size: number): number {
  let [length, at] = [0, 0]
  for (let factor = 1; at < 5; factor *= 128) {
    const byte = input[at++] ?? 0
    length += (byte & 127) * factor
    if (byte < 128) break
  }
  if (length !== size || size > input.length * 32) throw new Error('snappy data is damaged')
  return at
}

/** A number of one to four bytes, little-endian. */
function readNumber(input: Uint8Array, at: number, bytes: number): number {
  let value = 0
  for (let i = 0; i < bytes; i++) value += (input[at + i] ?? 0) * 256 ** i
  return value
}
