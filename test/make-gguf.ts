import { makeRandom } from '../src/lib/random.ts'

/** Dimensions and variants of a synthetic student. */
export interface StudentShape {
  readonly layers: number
  readonly width: number
  readonly inner: number
  readonly heads: number
  readonly kvHeads: number
  readonly head: number
  readonly context: number
  readonly hasOutput?: boolean
  readonly kind?: 'f32' | 'f16' | 'bf16' | 'q8_0'
  readonly template?: string
}

export const tiny: StudentShape = { layers: 2, width: 64, inner: 96, heads: 4, kvHeads: 2, head: 16, context: 512 }

/** All bytes, two tokens for structure, and padding to a multiple of 8. */
export const vocab = 264
export const turnStart = 256
export const turnEnd = 257

export const chatMl =
  "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

const kinds = { f32: 0, f16: 1, q8_0: 8, bf16: 30 } as const

/** The names of a student's weights, with rows and columns of each; norms have one row. */
export function weightsOf(shape: StudentShape): readonly (readonly [string, number, number])[] {
  const { layers, width, inner, heads, kvHeads, head, hasOutput } = shape
  const layer = (i: number): (readonly [string, number, number])[] => [
    [`blk.${i}.attn_norm.weight`, 1, width],
    [`blk.${i}.attn_q.weight`, heads * head, width],
    [`blk.${i}.attn_k.weight`, kvHeads * head, width],
    [`blk.${i}.attn_v.weight`, kvHeads * head, width],
    [`blk.${i}.attn_q_norm.weight`, 1, head],
    [`blk.${i}.attn_k_norm.weight`, 1, head],
    [`blk.${i}.attn_output.weight`, width, heads * head],
    [`blk.${i}.ffn_norm.weight`, 1, width],
    [`blk.${i}.ffn_gate.weight`, inner, width],
    [`blk.${i}.ffn_up.weight`, inner, width],
    [`blk.${i}.ffn_down.weight`, width, inner],
  ]
  return [
    ['token_embd.weight', vocab, width],
    ...Array.from({ length: layers }, (_, i) => layer(i)).flat(),
    ['output_norm.weight', 1, width],
    ...(hasOutput ? ([['output.weight', vocab, width]] as const) : []),
  ]
}

/** The same random weights for the same name every time, about as large as trained ones. */
export function weightNamed(name: string, rows: number, columns: number): Float32Array {
  const random = makeRandom(7, name)
  const scale = rows === 1 ? 0.2 : 2.5 / Math.sqrt(columns)
  return Float32Array.from({ length: rows * columns }, () => (rows === 1 ? 1 : 0) + (random.next() * 2 - 1) * scale)
}

/** A student with random weights as a GGUF file. Its tokens are bytes. */
export function makeGguf(shape: StudentShape = tiny, changes: Readonly<Record<string, Buffer>> = {}): Buffer {
  const kind = shape.kind ?? 'f32'
  const entries = { ...metadataOf(shape), ...changes }
  const weights = weightsOf(shape)
  const data: Buffer[] = []
  const infos: Buffer[] = []
  let offset = 0
  for (const [name, rows, columns] of weights) {
    const stored = rows === 1 ? 'f32' : kind
    const bytes = bytesOf(weightNamed(name, rows, columns), stored)
    const dims = rows === 1 ? [columns] : [columns, rows]
    infos.push(text(name), u32(dims.length), ...dims.map(u64), u32(kinds[stored]), u64(offset))
    const padded = Buffer.concat([bytes, Buffer.alloc(-bytes.length & 31)])
    data.push(padded)
    offset += padded.length
  }
  const pairs = Object.entries(entries).flatMap(([key, value]) => [text(key), value])
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(weights.length),
    u64(Object.keys(entries).length),
    ...pairs,
    ...infos,
  ])
  return Buffer.concat([head, Buffer.alloc(-head.length & 31), ...data])
}

function metadataOf(shape: StudentShape): Record<string, Buffer> {
  const tokens = [...byteTokens(), '<|im_start|>', '<|im_end|>', ...Array.from({ length: 6 }, (_, i) => `[PAD${i}]`)]
  const types = tokens.map((_, id) => (id < 256 ? 1 : id < 258 ? 3 : 5))
  return {
    'general.architecture': string('qwen3'),
    'qwen3.block_count': number(shape.layers),
    'qwen3.context_length': number(shape.context),
    'qwen3.embedding_length': number(shape.width),
    'qwen3.feed_forward_length': number(shape.inner),
    'qwen3.attention.head_count': number(shape.heads),
    'qwen3.attention.head_count_kv': number(shape.kvHeads),
    'qwen3.attention.key_length': number(shape.head),
    'qwen3.attention.layer_norm_rms_epsilon': real(1e-6),
    'qwen3.rope.freq_base': real(10_000),
    'tokenizer.ggml.model': string('gpt2'),
    'tokenizer.ggml.pre': string('qwen2'),
    'tokenizer.ggml.tokens': list(8, tokens.map(text)),
    'tokenizer.ggml.token_type': list(5, types.map(u32)),
    'tokenizer.ggml.merges': list(8, []),
    'tokenizer.ggml.eos_token_id': number(turnEnd),
    'tokenizer.chat_template': string(shape.template ?? chatMl),
  }
}

/** The characters that represent bytes in a byte-level vocabulary. */
export function byteTokens(): readonly string[] {
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    return String.fromCharCode(isPrintable ? byte : next++)
  })
}

function bytesOf(values: Float32Array, kind: NonNullable<StudentShape['kind']>): Buffer {
  if (kind === 'f32') return Buffer.from(values.buffer)
  if (kind === 'q8_0') return quantized(values)
  const out = Buffer.alloc(values.length * 2)
  const bits = new Uint32Array(values.buffer)
  for (const [i, value] of values.entries()) {
    out.writeUInt16LE(kind === 'bf16' ? (bits[i] as number) >>> 16 : halfOf(value), i * 2)
  }
  return out
}

function quantized(values: Float32Array): Buffer {
  const out = Buffer.alloc((values.length / 32) * 34)
  for (let block = 0; block < values.length / 32; block++) {
    const part = values.subarray(block * 32, block * 32 + 32)
    const scale = Math.max(...part.map(Math.abs)) / 127
    out.writeUInt16LE(halfOf(scale), block * 34)
    for (const [i, value] of part.entries()) out.writeInt8(Math.round(value / scale), block * 34 + 2 + i)
  }
  return out
}

/** A half-precision float, for ordinary values; excess precision is cut off. */
function halfOf(value: number): number {
  const sign = value < 0 ? 0x8000 : 0
  const size = Math.abs(value)
  if (size < 2 ** -14) return sign | Math.round(size * 2 ** 24)
  const exponent = Math.floor(Math.log2(size))
  return sign | (((exponent + 15) << 10) + Math.min(1023, Math.round((size / 2 ** exponent - 1) * 1024)))
}

const u32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
const u64 = (value: number) => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}
const text = (value: string) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)])

/** Metadata values, preceded by their types. */
export const string = (value: string) => Buffer.concat([u32(8), text(value)])
export const number = (value: number) => Buffer.concat([u32(4), u32(value)])
export const real = (value: number) => Buffer.concat([u32(6), Buffer.from(new Float32Array([value]).buffer)])
export const list = (type: number, items: readonly Buffer[]) =>
  Buffer.concat([u32(9), u32(type), u64(items.length), ...items])
