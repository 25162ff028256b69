import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { finish, recordsOf } from '../../../test/contracts/trial-store.ts'
import { failed, someRecord, someTrialConfig } from '../../../test/records.ts'
import { readTree, type Tree, tempDir, writeTree } from '../../../test/trees.ts'
import { BoundaryError } from '../../core/errors.ts'
import { segmentName } from './packed-index.ts'
import { openPackedStore, type PackedStore } from './packed-store.ts'

const rollBytes = 4000
const names = ['a', 'b', 'c', 'd']

type Op = { readonly kind: 'commit' | 'retract' | 'fail'; readonly trial: string; readonly size: number }
const anyOp: fc.Arbitrary<Op> = fc.record({
  kind: fc.constantFrom('commit', 'commit', 'commit', 'retract', 'fail'),
  trial: fc.constantFrom(...names),
  size: fc.nat({ max: 3000 }),
})

/** What the store must hold: each finished trial's id. The files are derived from the id. */
type Model = ReadonlyMap<string, string>

const contentOf = (id: string) => Buffer.from(id.repeat(50)).toString('latin1')

/**
 * Applies one operation to a store and returns what the store must then hold; operations that make no sense are
 * skipped.
 */
async function apply(store: PackedStore, model: Model, op: Op, id: string): Promise<Model> {
  const record = someRecord({ name: op.trial, id, ...(op.kind === 'fail' ? { end: failed() } : {}) })
  if (op.kind === 'retract') {
    if (!model.has(op.trial)) return model
    await store.retract(op.trial)
    return new Map([...model].filter(([name]) => name !== op.trial))
  }
  if (model.has(op.trial)) return model
  const dir = await store.begin(record.config)
  await writeFile(join(dir, 'log'), contentOf(id))
  await writeFile(join(dir, 'noise'), randomBytes(op.size))
  if (op.kind === 'fail') {
    await store.keepFailedTry(op.trial, 1, record)
    return model
  }
  await store.commit(record)
  return new Map([...model, [op.trial, id]])
}

/** Name and size of every file of a store. */
async function sizesOf(jobDir: string): Promise<Map<string, number>> {
  const dir = join(jobDir, 'packed')
  const files = await readdir(dir).catch(() => [])
  return new Map(await Promise.all(files.map(async (name) => [name, (await stat(join(dir, name))).size] as const)))
}

/**
 * Leaves the files as a crash may: each at any size between before and after, or with zeros instead of the written
 * bytes. The index is written after the segments are synced, so where a segment has zeros the index has nothing new.
 */
async function crash(
  jobDir: string,
  before: ReadonlyMap<string, number>,
  cuts: readonly number[],
  zeros: boolean,
): Promise<boolean> {
  let harmless = true
  const keepsLines = zeros && (cuts[0] ?? 0) > 0
  for (const [i, [name, size]] of [...(await sizesOf(jobDir))].sort().entries()) {
    const from = before.get(name) ?? 0
    const cut = from + Math.round((size - from) * (cuts[i % cuts.length] ?? 0))
    if (cut === size || (keepsLines && i > 0)) continue
    harmless = false
    await truncate(join(jobDir, 'packed', name), cut)
    if (zeros) await truncate(join(jobDir, 'packed', name), size)
  }
  return harmless
}

async function expectHolds(store: PackedStore, model: Model): Promise<void> {
  expect((await recordsOf(store)).map(({ name, id }) => [name, id])).toEqual([...model].sort())
  for (const [name, id] of model) {
    await using opened = await store.open(name)
    expect(await readFile(join(opened.dir, 'log'), 'latin1')).toBe(contentOf(id))
    expect(JSON.parse(await readFile(join(opened.dir, 'record.json'), 'utf8')).id).toBe(id)
  }
}

const cut = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }))

test('whatever was done and wherever it crashed, everything that was finished is there, whole and once', async () => {
  const dir = await tempDir()
  let run = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyOp, { minLength: 1, maxLength: 8 }),
      fc.array(cut, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      async (ops, cuts, zeros) => {
        const jobDir = join(dir, String(run++))
        const store = await openPackedStore(jobDir, { host: {}, rollBytes })
        let model: Model = new Map()
        for (const [i, op] of ops.slice(0, -1).entries()) model = await apply(store, model, op, `id-${i}`)
        const before = await sizesOf(jobDir)
        const after = await apply(store, model, ops.at(-1)!, 'id-last')
        await store.close()
        const harmless = await crash(jobDir, before, cuts, zeros)

        const again = await openPackedStore(jobDir, { host: {}, rollBytes })
        const held = new Map((await recordsOf(again)).map(({ name, id }) => [name, id]))
        const wasDone = harmless || held.size === after.size
        await expectHolds(again, wasDone ? after : model)

        const more = await apply(again, wasDone ? after : model, { kind: 'commit', trial: 'z', size: 100 }, 'id-z')
        await expectHolds(again, more)
        await again.close()
        const onceMore = await openPackedStore(jobDir, { host: {}, rollBytes })
        await expectHolds(onceMore, more)
      },
    ),
    { numRuns: 40 },
  )
})

test('of trials that were committed together, a crash leaves each one whole or not at all', async () => {
  const dir = await tempDir()
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(cut, { minLength: 1, maxLength: 3 }), fc.boolean(), async (cuts, zeros) => {
      const jobDir = join(dir, String(run++))
      const store = await openPackedStore(jobDir, { host: {}, rollBytes })
      const first = await apply(store, new Map(), { kind: 'commit', trial: 'first', size: 500 }, 'id-first')
      const before = await sizesOf(jobDir)
      await Promise.all(
        names.map((trial) => apply(store, new Map(), { kind: 'commit', trial, size: 1500 }, `id-${trial}`)),
      )
      await store.close()
      await crash(jobDir, before, cuts, zeros)
      const again = await openPackedStore(jobDir, { host: {}, rollBytes })
      const left = new Map((await recordsOf(again)).map(({ name, id }) => [name, id]))
      expect(left.get('first')).toBe(first.get('first'))
      await expectHolds(again, left)
    }),
    { numRuns: 15 },
  )
})

test('opening and reading a store changes nothing, not even the torn end of a crash', async () => {
  const jobDir = await tempDir()
  const store = await openPackedStore(jobDir, { host: {} })
  await finish(store, someRecord())
  await store.close()
  const index = join(jobDir, 'packed/index.jsonl')
  await writeFile(index, '{"kind":"trial","trial":"torn', { flag: 'a' })
  await writeFile(join(jobDir, 'packed', segmentName(0)), 'torn', { flag: 'a' })
  const before = await sizesOf(jobDir)
  const reader = await openPackedStore(jobDir)
  expect(await recordsOf(reader)).toEqual([someRecord()])
  await (await reader.open('hello__AbC23de'))[Symbol.asyncDispose]()
  await reader.close()
  expect(await sizesOf(jobDir)).toEqual(before)
  expect(await readdir(jobDir)).toEqual(['packed'])
})

test('a bad line in the middle is an error that names the place, and nothing is cut', async () => {
  const jobDir = await tempDir()
  const store = await openPackedStore(jobDir, { host: {} })
  for (const name of ['one', 'two', 'three']) await finish(store, someRecord({ name }))
  await store.close()
  const index = join(jobDir, 'packed/index.jsonl')
  const text = await readFile(index, 'utf8')
  const at = text.indexOf('{"kind":"trial"', text.indexOf('\n') + 1)
  const file = await open(index, 'r+')
  await file.write('XXXX', at)
  await file.close()
  await expect(openPackedStore(jobDir)).rejects.toThrow(`index.jsonl is damaged at byte ${at}`)
  expect((await readFile(index)).length).toBe(Buffer.byteLength(text))
})

test('an index of another version is refused', async () => {
  const jobDir = await tempDir()
  await mkdir(join(jobDir, 'packed'))
  await writeFile(join(jobDir, 'packed/index.jsonl'), '{"schema":"packed/9"}\n')
  await expect(openPackedStore(jobDir)).rejects.toThrow('expected the index of a packed job')
})

test('a trial whose bytes were changed cannot be opened, and the others can', async () => {
  const jobDir = await tempDir()
  const store = await openPackedStore(jobDir, { host: {} })
  await finish(store, someRecord({ name: 'good' }))
  await finish(store, someRecord({ name: 'bad' }))
  const { offset, length } = store.index.trials.get('bad')!
  const segment = await open(join(jobDir, 'packed', segmentName(0)), 'r+')
  await segment.write(Buffer.from([1, 2, 3]), 0, 3, offset + Math.floor(length / 2))
  await segment.close()
  await expect(store.open('bad')).rejects.toThrow(BoundaryError)
  await (await store.open('good'))[Symbol.asyncDispose]()
  await store.close()
})

test('plain tools list and unpack a segment, tries put aside included', async () => {
  const jobDir = await tempDir()
  const store = await openPackedStore(jobDir, { host: {} })
  await store.begin(someTrialConfig())
  await store.keepFailedTry('hello__AbC23de', 1, someRecord({ end: failed() }))
  await finish(store, someRecord())
  await finish(store, someRecord({ name: 'other' }))
  const out = await tempDir()
  execFileSync('bash', ['-c', `zcat "$1"/packed/segment-*.tar.gz | tar -xif - -C "$2"`, 'bash', jobDir, out])
  const dirs = await Promise.all(
    ['hello__AbC23de', 'other'].map(async (name) => {
      await using opened = await store.open(name)
      return [name, await readTree(opened.dir)] as const
    }),
  )
  const expected = dirs.flatMap(([name, tree]) => Object.entries(tree).map(([path, node]) => [`${name}/${path}`, node]))
  expect(await readTree(out)).toEqual(Object.fromEntries(expected))
  await store.close()
})

test('rolls to a new segment when one is full, and goes on in it after it is opened again', async () => {
  const jobDir = await tempDir()
  for (let i = 0; i < 6; i++) {
    const store = await openPackedStore(jobDir, { host: {}, rollBytes: 3000 })
    const record = someRecord({ name: `t${i}` })
    const dir = await store.begin(record.config)
    await writeFile(join(dir, 'noise'), randomBytes(1000))
    await store.commit(record)
    await store.close()
  }
  const segments = (await readdir(join(jobDir, 'packed'))).filter((name) => name.startsWith('segment'))
  expect(segments.length).toBeGreaterThan(1)
  expect(segments.length).toBeLessThan(6)
  const store = await openPackedStore(jobDir)
  expect(await recordsOf(store)).toHaveLength(6)
})

test('a member too large for memory goes through a file and comes back whole', async () => {
  const jobDir = await tempDir()
  const store = await openPackedStore(jobDir, { host: {} })
  const dir = await store.begin(someTrialConfig())
  const big: Tree = { big: { content: randomBytes(9_000_000).toString('latin1'), mode: 0o644 } }
  await writeTree(join(dir, 'artifacts'), big)
  await store.commit(someRecord())
  await using opened = await store.open('hello__AbC23de')
  expect(await readTree(join(opened.dir, 'artifacts'))).toEqual(big)
  await store.close()
  expect((await readdir(jobDir)).sort()).toEqual(['packed'])
})

test('a failed write is reported, leaves the store as it was, and does not stop the next one', async () => {
  const jobDir = await tempDir()
  const store = await openPackedStore(jobDir, { host: {}, rollBytes: 1 })
  await finish(store, someRecord({ name: 'one' }))
  const before = await sizesOf(jobDir)
  // The next member goes to a new segment; a directory in its place makes that fail.
  await mkdir(join(jobDir, 'packed', segmentName(1)))
  await expect(finish(store, someRecord({ name: 'two' }))).rejects.toThrow('EISDIR')
  await rm(join(jobDir, 'packed', segmentName(1)), { recursive: true })
  expect(await sizesOf(jobDir)).toEqual(before)
  await finish(store, someRecord({ name: 'two' }))
  await store.close()
  const again = await openPackedStore(jobDir)
  expect((await recordsOf(again)).map(({ name }) => name)).toEqual(['one', 'two'])
})

test('a store that could not be written at first can be written later', async () => {
  const jobDir = await tempDir()
  const store = await openPackedStore(jobDir, { host: {} })
  await writeFile(join(jobDir, 'packed'), 'in the way')
  await expect(finish(store, someRecord({ name: 'one' }))).rejects.toThrow('EEXIST')
  await rm(join(jobDir, 'packed'))
  await finish(store, someRecord({ name: 'one' }))
  await store.close()
  expect((await recordsOf(await openPackedStore(jobDir))).map(({ name }) => name)).toEqual(['one'])
})

test('keeps logs that their owner may not read', async () => {
  const store = await openPackedStore(await tempDir(), { host: {} })
  const dir = await store.begin(someTrialConfig())
  await writeFile(join(dir, 'secretive.log'), 'x')
  await chmod(join(dir, 'secretive.log'), 0)
  await store.commit(someRecord())
  await using opened = await store.open('hello__AbC23de')
  expect(await readdir(opened.dir)).toContain('secretive.log')
  await store.close()
})
