import { runInNewContext } from 'node:vm'
import { messageOf } from '../../core/errors.ts'
import type { ChatMessage } from '../../core/model.ts'
import { GgufError, type GgufValue } from '../../formats/gguf.ts'

/** Turns conversations into tokens and tokens into text, as a model's file specifies. */
export interface ModelTokenizer {
  /** The tokens of a conversation, up to where the reply begins. */
  encode(messages: readonly ChatMessage[]): number[]
  /** The bytes of a token; none for a token that only structures the conversation. */
  bytesOf(token: number): Uint8Array
  /** Tokens that end a reply. */
  readonly ends: ReadonlySet<number>
}

/** How llama.cpp splits a text for tokenizers it calls `qwen2`. */
const split =
  "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/** Token types in a GGUF file that are matched literally in a text: those that structure a conversation, and phrases. */
const [control, phrase] = [3, 4]

/** Longer than any template needs. */
const templateMs = 2_000

/** Makes the tokenizer that a GGUF file describes. */
export async function loadTokenizer(metadata: ReadonlyMap<string, GgufValue>, vocab: number): Promise<ModelTokenizer> {
  const [{ Tokenizer }, { Template }] = await Promise.all([
    import('@huggingface/tokenizers'),
    import('@huggingface/jinja'),
  ])
  const tokens = texts(metadata, 'tokenizer.ggml.tokens')
  const merges = texts(metadata, 'tokenizer.ggml.merges')
  const types = list(metadata, 'tokenizer.ggml.token_type')
  for (const [key, value] of [
    ['model', 'gpt2'],
    ['pre', 'qwen2'],
  ] as const) {
    const found = metadata.get(`tokenizer.ggml.${key}`)
    if (found !== value)
      throw new GgufError(`expected a tokenizer with ${key} ${value}, got ${String(found).slice(0, 40)}`)
  }
  if (tokens.length > vocab) throw new GgufError(`${tokens.length} tokens do not fit into a vocabulary of ${vocab}`)
  const added = tokens.flatMap((content, id) =>
    types[id] === control || types[id] === phrase ? [addedToken(content, id)] : [],
  )
  const tokenizer = new Tokenizer(tokenizerJson(tokens, merges, added), {})
  const render = templateOf(metadata, (text) => new Template(text))
  const bytes = tokens.map((token, id) => bytesOf(token, types[id]))
  return {
    encode: (messages) => {
      const { ids } = tokenizer.encode(render(messages), { add_special_tokens: false })
      if (ids.length === 0) throw new GgufError('its chat template and vocabulary make no tokens of a conversation')
      return ids
    },
    bytesOf: (token) => bytes[token] ?? new Uint8Array(),
    ends: new Set(['eos', 'eot', 'eom'].map((name) => Number(metadata.get(`tokenizer.ggml.${name}_token_id`) ?? -1))),
  }
}

function list(metadata: ReadonlyMap<string, GgufValue>, key: string): readonly GgufValue[] {
  const value = metadata.get(key)
  if (!Array.isArray(value))
    throw new GgufError(`expected a list ${key}, got ${value === undefined ? 'nothing' : typeof value}`)
  return value
}

function texts(metadata: ReadonlyMap<string, GgufValue>, key: string): readonly string[] {
  return list(metadata, key).map((item) => {
    if (typeof item !== 'string') throw new GgufError(`expected texts in ${key}, got a ${typeof item}`)
    return item
  })
}

function bytesOf(token: string, type: GgufValue | undefined): Uint8Array {
  if (type === control) return new Uint8Array()
  return type === phrase ? new TextEncoder().encode(token) : fromByteLevel(token)
}

function addedToken(content: string, id: number) {
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
}

function tokenizerJson(tokens: readonly string[], merges: readonly string[], added: readonly object[]) {
  const isolated = { type: 'Split', pattern: { Regex: split }, behavior: 'Isolated', invert: false }
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
  return {
    version: '1.0',
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: { type: 'Sequence', pretokenizers: [isolated, byteLevel] },
    post_processor: null,
    decoder: byteLevel,
    model: { type: 'BPE', vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges },
  }
}

type Render = (messages: readonly ChatMessage[]) => string

function templateOf(
  metadata: ReadonlyMap<string, GgufValue>,
  parse: (text: string) => { render(values: Record<string, unknown>): string },
): Render {
  const text = metadata.get('tokenizer.chat_template')
  if (typeof text !== 'string') throw new GgufError('expected a chat template in tokenizer.chat_template, got none')
  const template = limited(() => parse(text))
  return (messages) => {
    const plain = messages.map(({ role, content }) => ({ role, content }))
    return limited(() => String(template.render({ messages: plain, tools: null, add_generation_prompt: true })))
  }
}

/** Templates come from the file, so they may fail or never end. */
function limited<T>(work: () => T): T {
  const done: T[] = []
  try {
    runInNewContext('work()', { work: () => done.push(work()) }, { timeout: templateMs })
  } catch (error) {
    throw new GgufError(`its chat template fails: ${messageOf(error).split('\n')[0]}`)
  }
  return done[0] as T
}

/** The bytes that represent themselves in a byte-level vocabulary; the others are mapped from 256 on. */
const byteOf = new Map<string, number>()
for (let byte = 0, next = 256; byte < 256; byte++) {
  const isPrintable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
  byteOf.set(String.fromCharCode(isPrintable ? byte : next++), byte)
}

function fromByteLevel(token: string): Uint8Array {
  return Uint8Array.from(token, (char) => byteOf.get(char) ?? 63)
}
