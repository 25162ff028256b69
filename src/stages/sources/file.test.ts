import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { parquetWriteFile } from 'hyparquet-writer'
import { expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../test/contracts/stage.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { readCsv } from '../../formats/records/read-csv.ts'
import file from './file.ts'

const rows = [
  { id: 'a', text: 'one, "two"\nthree' },
  { id: 'b', text: 'ü' },
]

async function save(name: string, text: string): Promise<string> {
  const path = join(await makeTempDir(), name)
  await writeFile(path, text)
  return path
}

stageLaws('sources/file', {
  make: async () =>
    file.make({ path: await save('rows.jsonl', rows.map((row) => JSON.stringify(row)).join('\n')) }, context),
  rows: [],
})

const context = { env: {}, stateDir: '/nonexistent' }
const read = (path: string, more = {}) => runStage(file.make(file.options.parse({ path, ...more }), context), [])

test.each([
  ['rows.jsonl', rows.map((row) => JSON.stringify(row)).join('\n\n')],
  ['rows.json', JSON.stringify(rows)],
  ['rows.json', JSON.stringify({ version: 1, rows })],
  ['rows.csv', 'id,text\r\na,"one, ""two""\nthree"\r\nb,ü\r\n'],
  ['rows.tsv', 'id\ttext\na\t"one, ""two""\nthree"\nb\tü'],
])('%s gives every record as a row, named by its id', async (name, text) => {
  const found = await read(await save(name, text), { id: 'id' })
  expect(found).toEqual(rows.map((fields) => ({ id: fields.id, source: 'rows', fields })))
})

test('a parquet file gives every record as a row', async () => {
  const path = join(await makeTempDir(), 'rows.parquet')
  const column = (name: 'id' | 'text') => ({ name, data: rows.map((row) => row[name]) })
  await parquetWriteFile({ filename: path, columnData: [column('id'), column('text')] })
  expect(await read(path, { id: 'id' })).toEqual(rows.map((fields) => ({ id: fields.id, source: 'rows', fields })))
})

test('a folder or a pattern gives the rows of its files in the order of their names', async () => {
  const dir = await makeTempDir()
  await writeFile(join(dir, 'b.csv'), 'id,text\nc,3\n')
  await writeFile(join(dir, 'a.csv'), 'id,text\na,1\nb,2\n')
  await writeFile(join(dir, 'notes.md'), 'no rows')
  await writeFile(join(dir, '.hidden.csv'), 'id,text\nx,0\n')
  const ids = async (path: string) => (await read(path, { id: 'id' })).map((row) => Object(row).id)
  expect(await ids(dir)).toEqual(['a', 'b', 'c'])
  expect(await ids(join(dir, '*.csv'))).toEqual(['a', 'b', 'c'])
  expect(await ids(join(dir, '[b-z].csv'))).toEqual(['c'])
})

test('the digest of a source changes when a file changes, is added or is renamed', async () => {
  const dir = await makeTempDir()
  const stage = file.make(file.options.parse({ path: join(dir, '*.csv') }), context)
  const digest = () => stage.fingerprint?.({} as never)
  await writeFile(join(dir, 'a.csv'), 'id\n1\n')
  const digests = [await digest()]
  await writeFile(join(dir, 'a.csv'), 'id\n2\n')
  digests.push(await digest())
  await writeFile(join(dir, 'b.csv'), 'id\n3\n')
  digests.push(await digest())
  await rename(join(dir, 'b.csv'), join(dir, 'c.csv'))
  digests.push(await digest())
  await writeFile(join(dir, 'other.txt'), 'not of the source')
  expect(await digest()).toBe(digests.at(-1))
  expect(new Set(digests).size).toBe(4)
})

test('a row without a name is named by its content; the same content comes once', async () => {
  const path = await save('rows.jsonl', '{"x":1}\n{"x":2}\n{ "x": 1 }\n')
  const [first, second, third] = await read(path)
  expect([first, second]).toMatchObject([{ fields: { x: 1 } }, { fields: { x: 2 } }])
  expect(third).toMatchObject({ drop: 'duplicate-row' })
})

test('a line that is not a record is dropped with its position', async () => {
  const found = await read(await save('rows.jsonl', '{"id":"a"}\nnonsense\n[1]\n{"name":1}\n'), { id: 'id' })
  expect(found).toMatchObject([
    { id: 'a' },
    { drop: 'unreadable-row', id: 'line 2' },
    { drop: 'unreadable-row', id: 'line 3' },
    { drop: 'no-id', id: 'line 4' },
  ])
})

test('a row with an empty name is dropped, and a table without the column that names rows is refused', async () => {
  const path = await save('rows.csv', 'Ticket ID,text\na,x\n ,y\n')
  expect(await read(path, { id: 'Ticket ID' })).toMatchObject([{ id: 'a' }, { drop: 'no-id', id: 'record 2' }])
  await expect(read(path, { id: 'ticket_id' })).rejects.toMatchObject({
    message: `${path}: expected the column "ticket_id" to name the rows, found "Ticket ID", "text"`,
    hint: 'did you mean "Ticket ID"?',
  })
  await expect(read(path, { id: 'number' })).rejects.toMatchObject({ hint: 'set id to one of them, or remove id' })
  await expect(read(path, { id: 'constructor' })).rejects.toThrow('"constructor"')
  const semicolons = await save('semicolons.csv', 'id;text\na;b\n')
  await expect(read(semicolons, { id: 'id' })).rejects.toMatchObject({
    hint: 'columns are separated by commas, not by ";": convert the file',
  })
  const names = Array.from({ length: 3000 }, (_, i) => `column${i}`).join()
  const wide = await save('wide.csv', `${names}\n${names}\n`)
  await expect(read(wide, { id: 'x' })).rejects.toThrow(/"column18", "column19" and 2980 more$/)
})

test.each([
  ['rows.txt', 'ends in .jsonl'],
  ['rows.json', 'expected JSON'],
  ['rows.parquet', 'expected a parquet file'],
])('%s that is none of these is refused', async (name, message) => {
  await expect(read(await save(name, 'nonsense'))).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining(message),
  })
})

test('a file that is not there is the user’s error', async () => {
  await expect(read('/nonexistent/rows.jsonl')).rejects.toMatchObject({ name: 'UserError' })
})

test('whatever a spreadsheet quotes comes back', async () => {
  const dir = await makeTempDir()
  const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', '\t', ' ', 'ü') })
  const rows = fc.array(fc.tuple(cell, cell), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(rows, fc.constantFrom(',' as const, '\t' as const), async (cells, by) => {
      const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
      const text = [['a', 'b'], ...cells].map((row) => row.map(quoted).join(by)).join('\r\n')
      await writeFile(join(dir, 'rows.csv'), text)
      const found: unknown[] = []
      for await (const row of readCsv(join(dir, 'rows.csv'), by)) found.push(row)
      expect(found).toEqual(cells.map(([a, b]) => ({ a, b })))
    }),
    // Each one opens a database.
    { numRuns: Number(process.env.OT_AGENT_TEST_RUNS ?? 20) },
  )
})
