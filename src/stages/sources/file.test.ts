import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { parquetWriteFile } from 'hyparquet-writer'
import { expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../test/contracts/stage.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { parseCsv } from '../../formats/records/csv.ts'
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

test('a row without a name is named by its content; the same content comes once', async () => {
  const path = await save('rows.jsonl', '{"x":1}\n{"x":2}\n{ "x": 1 }\n')
  const [first, second, third] = await read(path)
  expect([first, second]).toMatchObject([{ fields: { x: 1 } }, { fields: { x: 2 } }])
  expect(third).toMatchObject({ drop: 'duplicate-row' })
})

test('a line that is no record is dropped with its place', async () => {
  const found = await read(await save('rows.jsonl', '{"id":"a"}\nnonsense\n[1]\n{"name":1}\n'), { id: 'id' })
  expect(found).toMatchObject([
    { id: 'a' },
    { drop: 'unreadable-row', id: 'line 2' },
    { drop: 'unreadable-row', id: 'line 3' },
    { drop: 'no-id', id: 'line 4' },
  ])
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

test('whatever a spreadsheet quotes comes back', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', '\t', ' ', 'ü') })
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell), { minLength: 1 }),
      fc.constantFrom(',' as const, '\t' as const),
      (cells, by) => {
        const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
        const text = [['a', 'b'], ...cells].map((row) => row.map(quoted).join(by)).join('\r\n')
        expect([...parseCsv(text, by)]).toEqual(cells.map(([a, b]) => ({ a, b })))
      },
    ),
  )
})
