import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeGguf, type StudentShape, tiny, vocab } from '../../../test/make-gguf.ts'
import { plainLogits } from '../../../test/plain-forward.ts'
import { makeRandom } from '../../lib/random.ts'
import { loadModelFile, type ModelFile } from './model-file.ts'
import { makeRunner, type Runner } from './runner.ts'

let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'llama-'))
})
afterAll(() => rm(dir, { recursive: true }))

async function load(shape: StudentShape): Promise<ModelFile> {
  const path = join(dir, `${JSON.stringify(shape).replace(/\W/g, '').slice(-60)}.gguf`)
  await writeFile(path, makeGguf(shape))
  return loadModelFile(path, async (model) => model)
}

const start = (model: ModelFile, slots = 8, threads = 2) => makeRunner(model, { threads, slots }) as Runner

const randomIds = (length: number, key: string) => {
  const random = makeRandom(1, key)
  return Array.from({ length }, () => random.below(vocab))
}

const never = () => new AbortController().signal

/** The likeliest tokens after `ids`, with the details reported for each. */
async function continued(runner: Runner, ids: readonly number[], count: number) {
  const tokens: number[] = []
  const said: number[][] = []
  const known = await runner.generate({
    ids,
    signal: never(),
    next: (logits) => {
      said.push([...logits])
      tokens.push(logits.indexOf(Math.max(...logits)))
      return tokens.length < count ? (tokens.at(-1) ?? 0) : null
    },
  })
  return { tokens, said, known }
}

test.each<[string, StudentShape, number]>([
  ['f32, shared keys', tiny, 1e-4],
  ['f16, an output of its own', { ...tiny, kind: 'f16', hasOutput: true }, 1e-4],
  ['bf16, one key for all heads', { ...tiny, kind: 'bf16', kvHeads: 1, layers: 1 }, 1e-4],
  ['q8_0, wide heads', { ...tiny, kind: 'q8_0', heads: 2, kvHeads: 2, head: 48, width: 32 }, 1e-4],
])('computes what the textbook says: %s', async (_, shape, close) => {
  const model = await load(shape)
  const read = new Map<string, Float32Array>()
  const weights = (name: string) => {
    const own = name === 'output.weight' && !model.hasOutput ? 'token_embd.weight' : name
    const out = read.get(own) ?? new Float32Array(model.size(own))
    if (!read.has(own)) model.fill(own, out)
    read.set(own, out)
    return out
  }
  const runner = start(model)
  // One token, some, and more than fit into one step.
  for (const length of [1, 6, 67]) {
    const ids = randomIds(length, 'ids')
    const { tokens, said } = await continued(runner, ids, 2)
    for (const [i, logits] of said.entries()) {
      const expected = plainLogits(model.shape, weights, [...ids, ...tokens.slice(0, i)])
      expect(Math.max(...expected.map((value, at) => Math.abs(value - (logits[at] ?? 0))))).toBeLessThan(close)
      expect(Math.max(...expected)).toBeGreaterThan(0.1)
    }
  }
})

test('a reply is the same to the last bit, alone or beside others, read at once or continued', async () => {
  const model = await load(tiny)
  const prompts = Array.from({ length: 7 }, (_, i) => [...randomIds(40, 'begin'), ...randomIds(5 + i * 11, `end ${i}`)])
  const alone = []
  for (const ids of prompts) alone.push((await continued(start(model, 1, 1), ids, 8)).said)
  const busy = start(model, 5)
  const beside = await Promise.all(prompts.map((ids) => continued(busy, ids, 8)))
  expect(beside.map(({ said }) => said)).toEqual(alone)
  const again = await Promise.all(prompts.map((ids) => continued(busy, ids, 8)))
  expect(again.map(({ said }) => said)).toEqual(alone)
})

test('what is known is not read again: the next turn, and a conversation that begins alike', async () => {
  const runner = start(await load(tiny))
  const first = randomIds(100, 'first')
  const { tokens, known } = await continued(runner, first, 6)
  expect(known).toBe(0)
  // The model has not read the last token of the reply.
  const next = await continued(runner, [...first, ...tokens, ...randomIds(10, 'more')], 3)
  expect(next.known).toBe(105)
  const other = await continued(runner, [...first.slice(0, 60), ...randomIds(30, 'other')], 3)
  expect(other.known).toBe(60)
  // The first conversation is still there.
  expect((await continued(runner, [...first, ...tokens, ...randomIds(10, 'more')], 3)).known).toBe(115)
})

test('a conversation that is aborted leaves its slot to the next', async () => {
  const runner = start(await load(tiny), 1, 1)
  const stop = new AbortController()
  const endless = runner.generate({ ids: [1, 2, 3], signal: stop.signal, next: () => 5 })
  const waits = new AbortController()
  const waiting = runner.generate({ ids: [1], signal: waits.signal, next: () => null })
  const after = continued(runner, [4, 5], 2)
  waits.abort(new Error('no longer needed'))
  await expect(waiting).rejects.toThrow('no longer needed')
  stop.abort(new Error('enough'))
  await expect(endless).rejects.toThrow('enough')
  expect((await after).tokens).toHaveLength(2)
  expect(runner.slots.busy).toBe(0)
})

test('a conversation that is aborted before its first step ends', async () => {
  const runner = start(await load(tiny), 1, 1)
  const stop = new AbortController()
  const early = runner.generate({ ids: [1, 2], signal: stop.signal, next: () => 5 })
  stop.abort(new Error('enough'))
  await expect(early).rejects.toThrow('enough')
  expect(runner.slots.busy).toBe(0)
})

test('a conversation that is aborted just as a slot becomes free leaves it to the next', async () => {
  const runner = start(await load(tiny), 1, 1)
  const waits = new AbortController()
  const last = () => {
    waits.abort(new Error('no longer needed'))
    return null
  }
  const first = runner.generate({ ids: [1], signal: never(), next: last })
  const waiting = runner.generate({ ids: [2], signal: waits.signal, next: () => null })
  const after = continued(runner, [3, 4], 2)
  await first
  await expect(waiting).rejects.toThrow('no longer needed')
  expect((await after).tokens).toHaveLength(2)
})

test.each([1, 2])('a thread that dies takes only the conversations it was computing, of %i slots', async (slots) => {
  const runner = start(await load(tiny), slots, 1)
  const outside = runner.generate({ ids: [2 ** 30 - 1], signal: never(), next: () => null })
  const after = continued(runner, [4, 5], 2)
  await expect(outside).rejects.toThrow('out of bounds')
  expect((await after).tokens).toHaveLength(2)
})

test('a conversation ends where the memory of its model does', async () => {
  const runner = start(await load({ ...tiny, context: 64 }))
  let count = 0
  await runner.generate({ ids: randomIds(60, 'long'), signal: never(), next: () => ++count })
  expect(count).toBe(5)
})
