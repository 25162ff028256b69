import { hash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { UserError } from '../../core/errors.ts'
import { makePack } from './pack.ts'
import { loadPack, parsePack, readPackHeader, renderPack } from './pack-file.ts'

const about = { title: 'A benchmark', source: 'a test', licence: 'none' }
const tasks = [
  { id: 'maze', instruction: 'Find the way out of the blind maze and draw a map of every room you saw on it.' },
  { id: 'apple', instruction: 'How many calories does an apple have?' },
  { id: 'köln', instruction: 'Zähle die Wörter der längsten Zeile in der Datei brief.txt und schreibe die Zahl.' },
]
const bytes = renderPack(makePack('small', tasks, 8), about)

test('the same tasks give the same bytes, in whatever order they come, with this version and the next', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(tasks, { minLength: tasks.length }), (shuffled) => {
      expect(renderPack(makePack('small', shuffled, 8), about).equals(bytes)).toBe(true)
    }),
  )
  // A change here invalidates every pack ever shared, so it needs a new schema.
  expect(hash('sha256', bytes)).toBe('71481bf52efdc72581dd2c06360efb03581b5a35f4e104e557debe76d8a37f56')
})

test('a pack comes back as it was written', () => {
  const task = fc.record({ id: fc.string({ minLength: 1 }), instruction: fc.string({ unit: 'grapheme' }) })
  fc.assert(
    fc.property(
      fc.uniqueArray(task, { selector: ({ id }) => id, minLength: 1 }),
      fc.integer({ min: 4, max: 50 }),
      (some, words) => {
        const pack = makePack('small', some, words)
        const { header, pack: back } = parsePack(renderPack(pack, about), 'x')
        expect(back).toEqual(pack)
        expect(header).toMatchObject({ benchmark: 'small', tasks: some.length, words, ...about })
      },
    ),
  )
})

test('no word of a task is in its pack', () => {
  const words = tasks.flatMap(({ instruction }) => instruction.split(/[^\p{L}]+/u)).filter((word) => word.length > 3)
  const text = bytes.toString('latin1').toLowerCase()
  const known = JSON.stringify([about, tasks.map(({ id }) => id)]).toLowerCase()
  expect(words.filter((word) => text.includes(word.toLowerCase()) && !known.includes(word.toLowerCase()))).toEqual([])
})

test('a pack that is cut off or damaged anywhere is refused in two lines', async () => {
  const file = join(await makeTempDir(), 'small.pack')
  const refused = (damaged: Buffer) => {
    expect(() => parsePack(damaged, file)).toThrow(UserError)
    expect(() => parsePack(damaged, file)).toThrow(/^[^\n]+$/)
  }
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      refused(bytes.subarray(0, at))
      const damaged = Buffer.from(bytes)
      damaged[at] = (damaged[at] ?? 0) ^ change
      refused(damaged)
    }),
  )
  refused(Buffer.concat([bytes, Buffer.from('x')]))
  await writeFile(file, bytes.subarray(0, bytes.length - 3))
  await expect(readPackHeader(file)).rejects.toThrow(/the pack is damaged: expected \d+ bytes, found \d+/)
  await expect(loadPack(file)).rejects.toThrow('the pack is damaged')
})

test('what is no pack, or one of another format, is refused by name', () => {
  expect(() => parsePack(Buffer.from('{"id": "a", "instruction": "b"}\n'), 'x.pack')).toThrow(
    'x.pack: expected a decontamination pack, found something else',
  )
  const next = Buffer.from(bytes.toString('latin1').replace('benchmark-pack/1', 'benchmark-pack/9'), 'latin1')
  expect(() => parsePack(next, 'x.pack')).toThrow(
    /expected a pack of format benchmark-pack\/1, found "benchmark-pack\/9"/,
  )
})

test('two tasks of one name are refused', () => {
  const twice = [...tasks, { id: 'maze', instruction: 'Another one.' }]
  expect(() => makePack('small', twice, 8)).toThrow('expected different task ids, got "maze"')
})
