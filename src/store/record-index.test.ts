import { appendFile, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { finish, recordsOf } from '../../test/contracts/trial-store.ts'
import { someRecord } from '../../test/records.ts'
import { tempDir } from '../../test/trees.ts'
import { openHarborLayout } from './harbor-layout.ts'
import { indexName, RecordIndex } from './record-index.ts'

/** The clock of a file system ticks every few milliseconds; what changed within one tick is not taken into an index. */
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

/** Names that the index answers for by itself. */
async function answered(dir: string): Promise<string[]> {
  const names = (await readdir(dir)).filter((name) => !name.startsWith('.'))
  const found: string[] = []
  for await (const { name } of RecordIndex.of(dir)?.read(new Set(names)) ?? []) found.push(name)
  return found.sort()
}

/** What can happen to a job between two readings; each gets two numbers to choose by. */
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
  'double the index': async (dir) => appendFile(join(dir, indexName), await readFile(join(dir, indexName))),
}
const fileOf = (b: number) => (b % 2 === 0 ? 'result.json' : 'record.json')

/** The same file with as many bytes, but another reward. */
async function changeDigit(path: string, digit: number): Promise<void> {
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace(/"reward": \d/, `"reward": ${digit}`))
}

test('an index answers as the files do, whatever happens to both', { timeout: 120_000 }, async () => {
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

test('an index whose trials have mostly changed is made again', async () => {
  const dir = await makeJob(4)
  await indexed(dir)
  for (const nth of [0, 1, 2]) await commit(dir, nth, 2)
  await settle()
  await indexed(dir)
  await indexed(dir)
  expect(await answered(dir)).toHaveLength(4)
  const lines = (await readFile(join(dir, indexName), 'utf8')).split('\n').filter((line) => line !== '')
  expect(lines).toHaveLength(4)
})
