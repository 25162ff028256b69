import { readFile, stat } from 'node:fs/promises'
import { messageOf, UserError } from '../../core/errors.ts'
import { type Gguf, GgufError, type GgufTensor, type GgufValue, readFloats, readGguf } from '../../formats/gguf.ts'
import { isMissing } from '../../lib/files.ts'
import { type ModelShape, weightSizes } from './shape.ts'

/** A model as its file describes it, fully checked. */
export interface ModelFile {
  readonly shape: ModelShape
  readonly metadata: ReadonlyMap<string, GgufValue>
  readonly hasOutput: boolean
  /** The number of values in a weight. */
  size(name: string): number
  /** Writes one weight as floats. */
  fill(name: string, out: Float32Array): void
}

/** Larger ones belong on a server. */
const maxFileBytes = 1024 ** 3

/**
 * Opens a GGUF file of a small Qwen3 model and passes it to `use`. If something is wrong with the file, a UserError
 * says what was expected.
 */
export async function loadModelFile<T>(path: string, use: (model: ModelFile) => Promise<T>): Promise<T> {
  try {
    const { size } = await stat(path)
    if (size > maxFileBytes) throw new GgufError(`expected at most 1 GiB, it has ${size} bytes`)
    return await use(checked(readGguf(await readFile(path))))
  } catch (error) {
    const isOurs = error instanceof GgufError
    if (!isOurs && !(error instanceof Error && 'code' in error)) throw error
    const hint = isOurs
      ? 'this engine runs students of trainers/small (Qwen3); for other models use llama.cpp’s server and --engine openai-compatible'
      : 'pass a GGUF file, or a student of this package'
    const what = isMissing(error) ? 'expected a GGUF file, found nothing there' : messageOf(error)
    throw new UserError(`model ${path}: ${what}`, hint)
  }
}

function checked({ metadata, tensors }: Gguf): ModelFile {
  const architecture = metadata.get('general.architecture')
  if (architecture !== 'qwen3') throw new GgufError(`expected the architecture qwen3, got ${shown(architecture)}`)
  const embedding = tensors.get('token_embd.weight')
  const shape = readShape(metadata, embedding)
  const hasOutput = tensors.has('output.weight')
  const sizes = weightSizes(shape, hasOutput)
  for (const [name, floats] of sizes) checkTensor(name, tensors.get(name), floats)
  const fill = (name: string, out: Float32Array) => {
    const tensor = tensors.get(name)
    if (tensor) readFloats(tensor, out)
  }
  return { shape, metadata, hasOutput, size: (name) => sizes.get(name) ?? 0, fill }
}

function checkTensor(name: string, tensor: GgufTensor | undefined, floats: number): void {
  if (tensor === undefined) throw new GgufError(`tensor ${name} is missing`)
  const found = tensor.dims.reduce((product, size) => product * size, 1)
  if (found !== floats) throw new GgufError(`tensor ${name}: expected ${floats} numbers, got ${found}`)
}

function readShape(metadata: Gguf['metadata'], embedding: GgufTensor | undefined): ModelShape {
  const number = (key: string) => Number(metadata.get(`qwen3.${key}`))
  const whole = (key: string, most: number, of = 1) => {
    const value = number(key)
    const fits = Number.isInteger(value) && value >= 1 && value <= most && value % of === 0
    if (!fits)
      throw new GgufError(
        `expected qwen3.${key} from 1 to ${most}, a multiple of ${of}; got ${shown(metadata.get(`qwen3.${key}`))}`,
      )
    return value
  }
  const between = (key: string, least: number, most: number) => {
    const value = number(key)
    if (!(value >= least && value <= most))
      throw new GgufError(`expected qwen3.${key} from ${least} to ${most}, got ${value}`)
    return value
  }
  // Sums are computed four numbers at a time, eight sums at once.
  const shape = {
    layers: whole('block_count', 128),
    width: whole('embedding_length', 8192, 8),
    inner: whole('feed_forward_length', 32_768, 8),
    heads: whole('attention.head_count', 128),
    kvHeads: whole('attention.head_count_kv', 128),
    head: whole('attention.key_length', 256, 16),
    vocab: embedding?.dims[1] ?? 0,
    context: whole('context_length', 262_144),
    epsilon: between('attention.layer_norm_rms_epsilon', 0, 1),
    theta: between('rope.freq_base', 1, 1e9),
  }
  if (shape.heads % shape.kvHeads !== 0) throw new GgufError(`${shape.heads} heads cannot share ${shape.kvHeads} keys`)
  if (shape.vocab < 8 || shape.vocab > 262_144 || shape.vocab % 8 !== 0) {
    throw new GgufError(`expected a vocabulary of 8 to 262144 tokens, a multiple of 8; got ${shape.vocab}`)
  }
  return shape
}

function shown(value: GgufValue | undefined): string {
  return value === undefined ? 'nothing' : String(value).slice(0, 40)
}
