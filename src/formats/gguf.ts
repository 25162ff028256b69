/** A value of a GGUF file's metadata. */
export type GgufValue = number | bigint | boolean | string | readonly GgufValue[]

/** How a tensor's numbers are stored. Other kinds are only known by number. */
export type TensorKind = 'f32' | 'f16' | 'bf16' | 'q8_0'

export interface GgufTensor {
  readonly name: string
  /** Innermost dimension first, as in the format. */
  readonly dims: readonly number[]
  readonly kind: TensorKind
  /** Its bytes, as a view into the file's buffer. */
  readonly bytes: Uint8Array
}

/** The content of a GGUF file, llama.cpp's model format. */
export interface Gguf {
  readonly metadata: ReadonlyMap<string, GgufValue>
  readonly tensors: ReadonlyMap<string, GgufTensor>
}

/** Why a file cannot be read. */
export class GgufError extends Error {
  override readonly name = 'GgufError'
}

const kinds: Readonly<Record<number, TensorKind>> = { 0: 'f32', 1: 'f16', 8: 'q8_0', 30: 'bf16' }

/** The values per block, and the bytes per block. */
const blocks: Readonly<Record<TensorKind, readonly [values: number, bytes: number]>> = {
  f32: [1, 4],
  f16: [1, 2],
  bf16: [1, 2],
  q8_0: [32, 34],
}

/** No small model exceeds these limits; a file that claims to is broken or hostile. */
const limits = {
  entries: 10_000,
  tensors: 10_000,
  textBytes: 4_000_000,
  items: 2_000_000,
  dims: 4,
  nesting: 2,
  /** In memory, a byte of a list takes eight. */
  headerBytes: 32_000_000,
}

/** Reads a whole file. Every claimed size is checked against the file's bytes before it is used. */
export function readGguf(file: Buffer): Gguf {
  const reader = new Reader(file)
  if (reader.text(4) !== 'GGUF') throw new GgufError('expected a GGUF file, but it does not start like one')
  const version = reader.u32()
  if (version !== 2 && version !== 3) throw new GgufError(`expected GGUF version 2 or 3, got ${version}`)
  const tensors = reader.count('tensors', limits.tensors)
  const entries = reader.count('entries of metadata', limits.entries)
  const metadata = new Map<string, GgufValue>()
  for (let i = 0; i < entries; i++) {
    const key = reader.string()
    metadata.set(key, reader.value(reader.u32(), 0))
  }
  const infos = Array.from({ length: tensors }, () => reader.tensor())
  const step = Number(metadata.get('general.alignment') ?? 32)
  if (!Number.isInteger(step) || step < 1 || step > 65_536)
    throw new GgufError(`an alignment of ${step} makes no sense`)
  const data = file.subarray(Math.ceil(reader.at / step) * step)
  return { metadata, tensors: new Map(infos.map((info) => [info.name, placed(info, data)])) }
}

interface TensorInfo {
  readonly name: string
  readonly dims: readonly number[]
  readonly kind: number
  readonly offset: number
}

function placed({ name, dims, kind: number, offset }: TensorInfo, data: Buffer): GgufTensor {
  const kind = kinds[number]
  if (kind === undefined) {
    throw new GgufError(`tensor ${name}: expected f32, f16, bf16 or q8_0, got type ${number}`)
  }
  const values = dims.reduce((product, size) => product * size, 1)
  const [inBlock, blockBytes] = blocks[kind]
  const bytes = (values / inBlock) * blockBytes
  if (!Number.isSafeInteger(bytes) || (dims[0] ?? 0) % inBlock !== 0) {
    throw new GgufError(`tensor ${name}: ${dims.join(' x ')} are invalid sizes for ${kind}`)
  }
  if (offset + bytes > data.length) {
    throw new GgufError(`tensor ${name}: expected ${bytes} bytes at ${offset}, the file ends at ${data.length}`)
  }
  return { name, dims, kind, bytes: data.subarray(offset, offset + bytes) }
}

class Reader {
  at = 0
  constructor(private readonly file: Buffer) {}

  /** Advances by some bytes; returns where they start. */
  private take(bytes: number): number {
    const from = this.at
    if (from + bytes > this.file.length)
      throw new GgufError(`the file ends after ${this.file.length} bytes, in its header`)
    if (from + bytes > limits.headerBytes)
      throw new GgufError(`expected a header of at most ${limits.headerBytes} bytes, it is longer`)
    this.at += bytes
    return from
  }

  u32(): number {
    return this.file.readUInt32LE(this.take(4))
  }

  u64(): bigint {
    return this.file.readBigUInt64LE(this.take(8))
  }

  count(what: string, limit: number): number {
    const value = this.u64()
    if (value > BigInt(limit)) throw new GgufError(`expected at most ${limit} ${what}, got ${value}`)
    return Number(value)
  }

  text(bytes: number): string {
    const from = this.take(bytes)
    return this.file.toString('utf8', from, from + bytes)
  }

  string(): string {
    return this.text(this.count('bytes of a text', limits.textBytes))
  }

  tensor(): TensorInfo {
    const name = this.string()
    const count = this.u32()
    if (count < 1 || count > limits.dims)
      throw new GgufError(`tensor ${name}: expected 1 to 4 dimensions, got ${count}`)
    const dims = Array.from({ length: count }, () => this.count('numbers in a row', Number.MAX_SAFE_INTEGER))
    return { name, dims, kind: this.u32(), offset: this.count('bytes before a tensor', Number.MAX_SAFE_INTEGER) }
  }

  value(type: number, nesting: number): GgufValue {
    if (type === 9) return this.list(nesting)
    if (type === 8) return this.string()
    const [bytes, read] = scalars[type] ?? [0, null]
    if (read === null) throw new GgufError(`metadata of type ${type} is not part of the format`)
    return read(this.file, this.take(bytes))
  }

  private list(nesting: number): readonly GgufValue[] {
    if (nesting >= limits.nesting) throw new GgufError('lists of metadata are nested too deep')
    const type = this.u32()
    const count = this.count('items of a list', limits.items)
    const items: GgufValue[] = []
    for (let i = 0; i < count; i++) items.push(this.value(type, nesting + 1))
    return items
  }
}

const scalars: Readonly<Record<number, readonly [bytes: number, read: (file: Buffer, at: number) => GgufValue]>> = {
  0: [1, (file, at) => file.readUInt8(at)],
  1: [1, (file, at) => file.readInt8(at)],
  2: [2, (file, at) => file.readUInt16LE(at)],
  3: [2, (file, at) => file.readInt16LE(at)],
  4: [4, (file, at) => file.readUInt32LE(at)],
  5: [4, (file, at) => file.readInt32LE(at)],
  6: [4, (file, at) => file.readFloatLE(at)],
  7: [1, (file, at) => file.readUInt8(at) !== 0],
  10: [8, (file, at) => file.readBigUInt64LE(at)],
  11: [8, (file, at) => file.readBigInt64LE(at)],
  12: [8, (file, at) => file.readDoubleLE(at)],
}

/** Writes a tensor's numbers as floats into `out`, which must be large enough. */
export function readFloats({ kind, bytes }: GgufTensor, out: Float32Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const halves = kind === 'f16' || kind === 'q8_0' ? halfTable() : null
  if (kind === 'q8_0' && halves) {
    for (let block = 0, at = 0; at < bytes.length; block++, at += 34) {
      const scale = halves[view.getUint16(at, true)] as number
      for (let i = 0; i < 32; i++) out[block * 32 + i] = scale * view.getInt8(at + 2 + i)
    }
  } else if (kind === 'f32') {
    for (let i = 0; i < bytes.length / 4; i++) out[i] = view.getFloat32(i * 4, true)
  } else if (halves) {
    for (let i = 0; i < bytes.length / 2; i++) out[i] = halves[view.getUint16(i * 2, true)] as number
  } else {
    // A bfloat16 is the upper half of a float.
    const bits = new Uint32Array(out.buffer, out.byteOffset, out.length)
    for (let i = 0; i < bytes.length / 2; i++) bits[i] = view.getUint16(i * 2, true) << 16
  }
}

let table: Float32Array | undefined

/** The values of all 65,536 half floats. */
function halfTable(): Float32Array {
  table ??= Float32Array.from({ length: 65_536 }, (_, bits) => {
    const sign = bits & 0x8000 ? -1 : 1
    const exponent = (bits >> 10) & 31
    const fraction = bits & 1023
    if (exponent === 0) return sign * fraction * 2 ** -24
    if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
  })
  return table
}
