import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeGguf, string, tiny } from '../../../test/make-gguf.ts'
import llama from './index.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const make = (options: Record<string, unknown>) => llama.make(llama.options.parse(options), context)
const never = new AbortController().signal

/** Made with transformers 5.17 from the same weights in 32 bits: the likeliest tokens of a strange conversation, and their probabilities. */
const golden = JSON.parse(readFileSync('test/fixtures/students/composer-6m.json', 'utf8'))

test('the student of this package says what it says in transformers', async () => {
  const outcome = await make({ model: 'composer-6m' }).client('llama/composer-6m').complete({
    messages: golden.messages,
    temperature: 0,
    tokenDetails: true,
    maxOutputTokens: golden.completionIds.length,
  })
  if (outcome.kind !== 'reply') throw new Error(outcome.kind)
  const { tokens } = outcome.reply
  expect(tokens?.promptIds).toEqual(golden.promptIds)
  expect(tokens?.completionIds).toEqual(golden.completionIds)
  const differences = (tokens?.logprobs ?? []).map((value, i) => Math.abs(value - golden.logprobs[i]))
  expect(Math.max(...differences)).toBeLessThan(1e-3)
})

test('its card names the very file', () => {
  const { file } = JSON.parse(readFileSync('students/composer-6m/provenance.json', 'utf8'))
  const bytes = readFileSync('students/composer-6m/student.gguf')
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(file.sha256)
  expect(bytes.length).toBeLessThan(16_000_000)
})

test('a file that is none, or of another kind, is refused with two lines', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'llama-'))
  const whole = makeGguf(tiny)
  const cases: [string, Buffer, RegExp][] = [
    ['words.gguf', Buffer.from('hello'), /expected a GGUF file/],
    ['half.gguf', whole.subarray(0, whole.length / 2), /the file ends/],
    [
      'other.gguf',
      makeGguf(tiny, { 'general.architecture': string('gemma') }),
      /expected the architecture qwen3, got gemma/,
    ],
    ['wide.gguf', makeGguf({ ...tiny, head: 8 }), /key_length from 1 to 256, a multiple of 16/],
    ['template.gguf', makeGguf({ ...tiny, template: '{% for' }), /its chat template fails/],
    ['silent.gguf', makeGguf({ ...tiny, template: '{# nothing #}' }), /make no tokens/],
    [
      'endless.gguf',
      makeGguf({ ...tiny, template: '{% for i in range(100000000000) %}x{% endfor %}' }),
      /template fails/,
    ],
  ]
  for (const [name, bytes, message] of cases) {
    const path = join(dir, name)
    await writeFile(path, bytes)
    const failure = await make({ model: path })
      .health(never)
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({
      name: 'UserError',
      message: expect.stringMatching(message),
      hint: expect.any(String),
    })
  }
  await expect(make({ model: join(dir, 'none.gguf') }).health(never)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringMatching(/none\.gguf: expected a GGUF file, found nothing there$/),
  })
  await expect(make({ model: 'nothing-like-it' }).health(never)).rejects.toThrow(
    /a student of this package: composer-6m/,
  )
  await rm(dir, { recursive: true })
})
