import { expect, test } from 'vitest'
import { byteTokens, chatMl } from '../../../test/make-gguf.ts'
import { loadTokenizer } from './tokenizer.ts'

const phrases = ['New Terminal Output:\n\n', 'überall "hier"']
const tokens = [...byteTokens(), '<|im_start|>', '<|im_end|>', ...phrases]
const metadata = new Map<string, string | number | (string | number)[]>([
  ['tokenizer.ggml.model', 'gpt2'],
  ['tokenizer.ggml.pre', 'qwen2'],
  ['tokenizer.ggml.tokens', tokens],
  ['tokenizer.ggml.token_type', tokens.map((_, id) => (id < 256 ? 1 : id < 258 ? 3 : 4))],
  ['tokenizer.ggml.merges', []],
  ['tokenizer.ggml.eos_token_id', 257],
  ['tokenizer.chat_template', chatMl],
])

test('a phrase is one token wherever it stands, and becomes its text again', async () => {
  const { encode, bytesOf } = await loadTokenizer(metadata, tokens.length)
  const content = `so: ${phrases.join('')}${phrases[1]}!`
  const ids = encode([{ role: 'user', content }])
  expect(ids.filter((id) => id >= 258)).toEqual([258, 259, 259])
  const decoded = Buffer.concat(ids.map((id) => bytesOf(id))).toString('utf8')
  expect(decoded).toBe(`user\n${content}\nassistant\n`)
})
