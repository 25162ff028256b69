import { appendFile, chown, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { finish, recordsOf } from '../../test/contracts/trial-store.ts'
import { needs } from '../../test/needs.ts'
import { someRecord } from '../../test/records.ts'
import { tempDir } from '../../test/trees.ts'
import type { TrialRecord } from '../core/trial.ts'
import { digestJson } from '../lib/digest-json.ts'
import { openHarborLayout } from './harbor-layout.ts'
import { openPackedStore } from './packed/packed-store.ts'
import { indexName, RecordIndex, stampOfFiles } from './record-index.ts'
import { RowReader, recordSchemaMark, renderLine } from './record-rows.ts'
import { trialRecordSchema } from './trial-record.ts'

/** File system clocks tick every few milliseconds; files changed within the current tick are not indexed. */
const settleMs = 20
const settle = () => sleep(2 * settleMs)

const indexed = (dir: string) => recordsOf(openHarborLayout(dir, {}, { indexFrom: 1, settleMs }))
const plain = (dir: string) => recordsOf(openHarborLayout(dir, {}, { indexFrom: Number.POSITIVE_INFINITY }))

async function makeJob(trials: number): Promise<string> {
  const dir = await tempDir()
  for (let i = 0; i < trials; i++) await commit(dir, i, 1)
  await settle()
  return dir
}

async function commit(dir: string, nth: number, reward: number): Promise<void> {
  const end = { kind: 'scored', rewards: { reward }, exit: { kind: 'finished' } } as const
  await finish(openHarborLayout(dir, {}), someRecord({ name: `trial-${nth}`, id: `id-${nth}-${reward}`, end }))
}

/** Names that the index answers for without reading files. */
async function answered(dir: string): Promise<string[]> {
  const names = (await readdir(dir)).filter((name) => !name.startsWith('.'))
  const found: string[] = []
  const stampOf = (name: string) => stampOfFiles(join(dir, name, 'result.json'), join(dir, name, 'record.json'))
  for await (const batch of RecordIndex.of(dir, { stampOf })?.take(new Set(names)) ?? [])
    found.push(...batch.map(({ name }) => name))
  return found.sort()
}

const linesOf = (index: string, kind: 'part' | 'rows') =>
  index.split('\n').filter((line) => line.includes(`\t${kind}\t`))
const namesIn = (index: string) => {
  const reader = new RowReader()
  return index.split('\n').flatMap((line) => reader.read(Buffer.from(line))?.names ?? [])
}

/** What can happen to a job between two reads; each change gets two numbers to choose with. */
const changes: Readonly<Record<string, (dir: string, a: number, b: number) => Promise<unknown>>> = {
  append: (dir, a, b) => commit(dir, 10 + (a % 5), b % 3),
  'run again': (dir, a, b) => commit(dir, a % 6, b % 3),
  'take back': (dir, a) => openHarborLayout(dir, {}).retract(`trial-${a % 6}`),
  delete: (dir, a) => rm(join(dir, `trial-${a % 6}`), { recursive: true, force: true }),
  'delete a file': (dir, a, b) => rm(join(dir, `trial-${a % 6}`, fileOf(b)), { force: true }),
  truncate: (dir, a, b) => truncate(join(dir, `trial-${a % 6}`, fileOf(b)), b),
  'change in place': (dir, a, b) => changeDigit(join(dir, `trial-${a % 6}`, 'record.json'), b % 10),
  'swap two trials': async (dir, a, b) => {
    const [one, two] = [a, b].map((nth) => join(dir, `trial-${nth % 6}`, 'record.json'))
    await writeFile(one ?? '', await readFile(two ?? ''))
  },
  'cut the index, as a kill does': (dir, _, b) => truncate(join(dir, indexName), b * 37),
  'tear the index': (dir, _, b) => appendFile(join(dir, indexName), 'x'.repeat(b)),
  'lose the index': (dir) => rm(join(dir, indexName), { force: true }),
  'lose a part of many records': (dir, _, b) => changeIndex(dir, (lines) => lines.filter((__, nth) => nth !== b % 9)),
  'mix the lines of the index': (dir, a) =>
    changeIndex(dir, (lines) => [...lines.slice(a % 9), ...lines.slice(0, a % 9)]),
  'double the index': async (dir) => appendFile(join(dir, indexName), await readFile(join(dir, indexName))),
}
async function changeIndex(dir: string, change: (lines: readonly string[]) => readonly string[]): Promise<void> {
  const lines = (await readFile(join(dir, indexName), 'utf8')).split('\n').filter((line) => line !== '')
  await writeFile(join(dir, indexName), `${change(lines).join('\n')}\n`)
}

const fileOf = (b: number) => (b % 2 === 0 ? 'result.json' : 'record.json')

/** Writes a file of the same size with another reward. */
async function changeDigit(path: string, digit: number): Promise<void> {
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace(/"reward": \d/, `"reward": ${digit}`))
}

test('an index answers as the files do, whatever happens to both', async () => {
  const number = fc.nat({ max: 200 })
  const change = fc.tuple(fc.constantFrom(...Object.keys(changes)), number, number)
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (chosen) => {
      const dir = await makeJob(6)
      await indexed(dir)
      for (const [name, a, b] of chosen) {
        // There may be nothing left to change.
        await changes[name]?.(dir, a, b).catch(() => {})
        expect(await indexed(dir)).toEqual(await plain(dir))
        await settle()
        expect(await indexed(dir)).toEqual(await plain(dir))
      }
      expect(await indexed(dir)).toEqual(await plain(dir))
    }),
    { numRuns: 15 },
  )
})

test('a second reading is answered by the index alone, and only for trials that have not changed', async () => {
  const dir = await makeJob(4)
  expect(await answered(dir)).toEqual([])
  const records = await indexed(dir)
  expect(await answered(dir)).toEqual(records.map(({ name }) => name))
  await changeDigit(join(dir, 'trial-2', 'record.json'), 7)
  expect(await answered(dir)).toEqual(['trial-0', 'trial-1', 'trial-3'])
  expect((await indexed(dir))[2]?.end).toMatchObject({ rewards: { reward: 7 } })
})

test('records of another schema are not taken from an index', () => {
  // Records were parsed when they were written. If the schema changes, the number in the source must change too.
  const digest = digestJson(z.toJSONSchema(trialRecordSchema, { unrepresentable: 'any' })).replace(/^.*:/, '')
  expect(recordSchemaMark.toString(16).padStart(8, '0')).toBe(digest.slice(0, 8))
})

test('a trial that ended a moment ago is not taken into the index', async () => {
  const dir = await makeJob(2)
  await commit(dir, 2, 1)
  await recordsOf(openHarborLayout(dir, {}, { indexFrom: 1, settleMs: 3_600_000 }))
  expect(await answered(dir)).toEqual([])
})

test('a small job has no index, nor has one whose index is a link', async () => {
  const dir = await makeJob(3)
  await recordsOf(openHarborLayout(dir, {}))
  expect(await readdir(dir)).not.toContain(indexName)
  const target = join(await tempDir(), 'other')
  await writeFile(target, 'mine')
  await symlink(target, join(dir, indexName))
  expect(await indexed(dir)).toHaveLength(3)
  expect(await readFile(target, 'utf8')).toBe('mine')
})

test('an index whose trials have mostly changed is rebuilt', async () => {
  const dir = await makeJob(4)
  await indexed(dir)
  for (const nth of [0, 1, 2]) await commit(dir, nth, 2)
  await settle()
  await indexed(dir)
  await indexed(dir)
  expect(await answered(dir)).toHaveLength(4)
  expect(namesIn(await readFile(join(dir, indexName), 'utf8'))).toHaveLength(4)
})

test('what records share is in the index once, and they are rendered as if they had been read from their files', async () => {
  const dir = await makeJob(5)
  await indexed(dir)
  const index = await readFile(join(dir, indexName), 'utf8')
  expect(linesOf(index, 'part')).toHaveLength(2)
  expect(index.split('"timeoutMultipliers"')).toHaveLength(2)
  expect(JSON.stringify(await indexed(dir))).toBe(JSON.stringify(await plain(dir)))
})

test('an index of an earlier version is ignored and rebuilt', async () => {
  const dir = await makeJob(4)
  const row = (nth: number) => `row\t"trial-${nth}"\t1.2.3-4.5.6-\tx.0\tx.1\t{"schema":"trial/1"}`
  await writeFile(join(dir, indexName), [0, 1, 2, 3].map((nth) => String(renderLine(row(nth)))).join(''))
  expect(await answered(dir)).toEqual([])
  expect(await indexed(dir)).toEqual(await plain(dir))
  expect(namesIn(await readFile(join(dir, indexName), 'utf8'))).toHaveLength(4)
  expect(await readFile(join(dir, indexName), 'utf8')).not.toContain('\trow\t')
})

test('readers at the same time give the same records, and so do readers after them', async () => {
  const dir = await makeJob(12)
  const expected = await plain(dir)
  for (const records of await Promise.all([1, 2, 3].map(() => indexed(dir)))) expect(records).toEqual(expected)
  expect(await indexed(dir)).toEqual(expected)
  expect(await answered(dir)).toEqual(expected.map(({ name }) => name))
})

test('an index that was cut at any byte, as a kill cuts it, answers only for whole lines', async () => {
  const dir = await makeJob(3)
  const expected = await indexed(dir)
  const whole = await readFile(join(dir, indexName))
  for (let bytes = 0; bytes < whole.length - 1; bytes += 97) {
    await writeFile(join(dir, indexName), whole.subarray(0, bytes))
    expect(await answered(dir)).toEqual([])
    expect(await indexed(dir)).toEqual(expected)
  }
})

test('records with and without what is optional come back as they were', async () => {
  const dir = await tempDir()
  const resumed = { kind: 'not-replayed', reason: 'no tape' } as const
  const odd = JSON.parse('{"__proto__": {"a": 1}, "10": "\\u00e9\\t\\n", "2": []}')
  for (const [nth, extra] of [{}, { resumed }, { metadata: odd }, {}, { resumed, metadata: { a: 1 } }].entries())
    await finish(openHarborLayout(dir, {}), someRecord({ name: `trial-${nth}`, id: `id-${nth}`, ...extra }))
  await settle()
  await indexed(dir)
  expect(await answered(dir)).toHaveLength(5)
  expect(JSON.stringify(await indexed(dir))).toBe(JSON.stringify(await plain(dir)))
})

test('an index that another user wrote is ignored', needs('root'), async () => {
  const dir = await makeJob(3)
  await indexed(dir)
  await chown(join(dir, indexName), 65_534, 65_534)
  expect(await answered(dir)).toEqual([])
  expect(await indexed(dir)).toHaveLength(3)
})

describe('a packed job', () => {
  const packed = async (dir: string, indexFrom: number) => {
    const store = await openPackedStore(dir, { host: {}, reading: { indexFrom, settleMs } })
    return recordsOf(store).finally(() => store.close())
  }
  const commitPacked = async (dir: string, nth: number, reward: number) => {
    const end = { kind: 'scored', rewards: { reward }, exit: { kind: 'finished' } } as const
    const store = await openPackedStore(dir, { host: {} })
    await finish(store, someRecord({ name: `trial-${nth}`, id: `id-${nth}-${reward}`, end }))
    await store.close()
  }
  const makePacked = async () => {
    const dir = await tempDir()
    for (let i = 0; i < 4; i++) await commitPacked(dir, i, 1)
    await settle()
    return dir
  }
  const rewardsOf = (records: readonly TrialRecord[]) =>
    records.map(({ end }) => (end.kind === 'scored' ? end.rewards?.reward : null))

  test('is read from the index while it has not changed', async () => {
    const dir = await makePacked()
    const first = await packed(dir, 1)
    // A copy with other contents shows that the copy was read.
    const index = await readFile(join(dir, indexName), 'utf8')
    const rows = linesOf(index, 'rows').map((line) =>
      renderLine(line.slice(line.indexOf('\t') + 1).replaceAll('"reward":1', '"reward":7')),
    )
    await writeFile(join(dir, indexName), `${linesOf(index, 'part').join('\n')}\n${rows.join('')}`)
    expect(rewardsOf(await packed(dir, 1))).toEqual([7, 7, 7, 7])
    expect(await packed(dir, 100)).toEqual(first)
  })

  test.each([
    ['a trial more', [1, 1, 1, 1, 1]],
    ['a trial again', [1, 2, 1, 1]],
    ['another byte in place', [5, 1, 1, 1]],
    ['a torn end', [1, 1, 1, 1]],
    ['packed again', [3, 3, 3, 3]],
  ])('is read from its own files after a change: %s', async (change, expected) => {
    const dir = await makePacked()
    await packed(dir, 1)
    const path = join(dir, 'packed/index.jsonl')
    if (change === 'a trial more') await commitPacked(dir, 9, 1)
    if (change === 'a trial again') await commitPacked(dir, 1, 2)
    if (change === 'a torn end') await appendFile(path, '{"kind":"trial"')
    const text = await readFile(path, 'utf8')
    if (change === 'another byte in place') await writeFile(path, text.replace('"reward":1', '"reward":5'))
    if (change === 'packed again') {
      await rm(path)
      await writeFile(path, text.replaceAll('"reward":1', '"reward":3'))
    }
    const found = await packed(dir, 1)
    expect(found).toEqual(await packed(dir, 100))
    expect(rewardsOf(found)).toEqual(expected)
    await settle()
    await packed(dir, 1)
    expect(await packed(dir, 1)).toEqual(await packed(dir, 100))
  })

  test('a trial whose bytes are gone is not finished, whatever the index says', async () => {
    const dir = await makePacked()
    await packed(dir, 1)
    await truncate(join(dir, 'packed/segment-00000.tar.gz'), 10)
    expect(await packed(dir, 1)).toEqual([])
  })
})
