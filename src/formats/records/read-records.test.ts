import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readlink, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { inputFiles, recordFiles } from '../input-files.ts'
import { type FileRow, readAllRecords, readRecords } from './read-records.ts'

async function read(path: string): Promise<FileRow[]> {
  const rows: FileRow[] = []
  for await (const row of readAllRecords(await inputFiles(path, recordFiles))) rows.push(row)
  return rows
}

const fieldsAt = async (path: string) => (await read(path)).map((row) => Object(row).fields)

test('workbooks of openpyxl and XlsxWriter: dates as text, saved values of formulas, only the first sheet', async () => {
  expect(await fieldsAt('test/fixtures/records/openpyxl.xlsx')).toEqual([
    { id: 'a', text: 'one, "two"\nthree', hours: 1.5, done: true, due: '2026-03-01T00:00:00.000Z' },
    { id: 'b', text: 'ü 日本 🎉', hours: null, done: false, due: '2026-03-02T12:30:00.000Z' },
    { id: 'c', text: null, hours: '00123', done: null, due: null },
  ])
  expect(await fieldsAt('test/fixtures/records/xlsxwriter.xlsx')).toEqual([
    { id: 'd', text: 'plain', hours: 2 },
    { id: 'e', text: 'SAVED', hours: 0.25 },
  ])
})

test('files that DuckDB wrote: CSV, JSON lines, packed JSON lines, a JSON list and parquet give the same records', async () => {
  const dir = await makeTempDir()
  await using sql = await SqlDatabase.open({ memoryMb: 200, threads: 1, tempDir: join(dir, 'sql') })
  const rows = "SELECT * FROM (VALUES ('a', 'one, \"two\"' || chr(10) || 'three'), ('b', 'ü')) t(id, text)"
  for (const [name, how] of [
    ['x.csv', '(HEADER)'],
    ['x.tsv', "(HEADER, DELIMITER '\t')"],
    ['x.jsonl', '(FORMAT json)'],
    ['x.jsonl.gz', '(FORMAT json, COMPRESSION gzip)'],
    ['x.json', '(FORMAT json, ARRAY true)'],
    ['x.parquet', '(FORMAT parquet)'],
  ] as const) {
    await sql.run(`COPY (${rows}) TO ${sqlText(join(dir, name))} ${how}`)
    expect(await fieldsAt(join(dir, name)), name).toEqual([
      { id: 'a', text: 'one, "two"\nthree' },
      { id: 'b', text: 'ü' },
    ])
  }
})

test('a table with other columns than the first is refused before any row, and the message names it', async () => {
  const dir = await makeTempDir()
  await writeFile(join(dir, 'a.csv'), 'id,text\n1,x\n')
  await writeFile(join(dir, 'b.csv'), 'id,words\n2,y\n')
  await expect(read(dir)).rejects.toMatchObject({
    name: 'UserError',
    message: `${join(dir, 'b.csv')}: expected the columns of ${join(dir, 'a.csv')}, found no text, also words`,
  })
})

test('records of JSON may leave fields out', async () => {
  const dir = await makeTempDir()
  await writeFile(join(dir, 'a.jsonl'), '{"id":"1","text":"x"}\n')
  await writeFile(join(dir, 'b.jsonl'), '{"id":"2"}\n')
  expect(await fieldsAt(dir)).toEqual([{ id: '1', text: 'x' }, { id: '2' }])
  await writeFile(join(dir, 'manifest.json'), '{"files":[{"path":"a.jsonl"}]}')
  await expect(read(dir)).rejects.toThrow('manifest.json: expected the columns of')
})

test('patterns: folders below, several endings, and links are not followed', async () => {
  const dir = await makeTempDir()
  await mkdir(join(dir, 'z', 'deep'), { recursive: true })
  for (const name of ['b.jsonl', 'a.json', 'z/deep/c.jsonl', 'z/d.jsonl']) await writeFile(join(dir, name), '{"x":1}\n')
  await symlink('/etc/passwd', join(dir, 'link.csv'))
  const names = async (pattern: string) =>
    (await inputFiles(join(dir, pattern), recordFiles)).map((file) => file.slice(dir.length + 1))
  expect(await names('.')).toEqual(['a.json', 'b.jsonl', 'z/d.jsonl', 'z/deep/c.jsonl'])
  expect(await names('*.{json,jsonl}')).toEqual(['a.json', 'b.jsonl'])
  expect(await names('**/*.jsonl')).toEqual(['b.jsonl', 'z/d.jsonl', 'z/deep/c.jsonl'])
  expect(await names('z/*/?.jsonl')).toEqual(['z/deep/c.jsonl'])
  expect(await names('z*')).toEqual(['z/d.jsonl', 'z/deep/c.jsonl'])
  await expect(names('*.csv')).rejects.toMatchObject({
    message: expect.stringContaining('the pattern matches no file; 1 links were not followed'),
    hint: expect.stringContaining('check the pattern'),
  })
  await expect(names('none/*.csv')).rejects.toThrow('the pattern matches no file')
  await expect(names('none')).rejects.toThrow('found nothing there')
})

test('a file whose name looks like a pattern is that file', async () => {
  const path = join(await makeTempDir(), 'rows[1].jsonl')
  await writeFile(path, '{"x":1}\n')
  expect(await fieldsAt(path)).toEqual([{ x: 1 }])
})

test.each([
  ['cut', (whole: Buffer) => whole.subarray(0, whole.length - 40)],
  ['no zip', () => Buffer.from('id,text')],
  ['other zip', () => zipOf({ 'a.txt': { data: 'x' } })],
  ['bomb', () => zipOf({ ...plainParts, 'xl/worksheets/sheet1.xml': { data: 'x', claims: 3_000_000_000 } })],
  [
    'bomb of unstated size',
    () => zipOf({ ...plainParts, 'xl/worksheets/sheet1.xml': { data: 'x'.repeat(1e6), claims: 0 } }),
  ],
  ['bomb that lies', () => zipOf({ ...plainParts, 'xl/worksheets/sheet1.xml': { data: 'x'.repeat(1e6), claims: 10 } })],
  [
    'cells in a far corner of many rows',
    () => zipOf({ ...plainParts, 'xl/worksheets/sheet1.xml': { data: farCells } }),
  ],
])('a hostile workbook is a user error: %s', async (_, change) => {
  const { readFile } = await import('node:fs/promises')
  const path = join(await makeTempDir(), 'x.xlsx')
  await writeFile(path, change(await readFile('test/fixtures/records/openpyxl.xlsx')))
  await expect(read(path)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('x.xlsx: expected'),
  })
})

test('parquet compressed with zstd is read, as recipes and others write it', async () => {
  const path = join(await makeTempDir(), 'x.parquet')
  await using sql = await SqlDatabase.open({ memoryMb: 256, threads: 1, tempDir: await makeTempDir() })
  const rows = `SELECT i AS id, repeat('text ' || i || ' ', 200) AS text FROM range(3000) t(i)`
  await sql.run(`COPY (${rows}) TO ${sqlText(path)} (FORMAT parquet, COMPRESSION zstd)`)
  const records = await fieldsAt(path)
  expect(records).toHaveLength(3000)
  expect(String(records[2999].id)).toBe('2999')
  expect(records[2999].text).toBe('text 2999 '.repeat(200))
})

// Found by fuzzing: the first took minutes, the other 15 s, because the library trusts the lengths in them.
test.each(['damaged-page', 'damaged-snappy'])('%s.parquet is a user error at once', { timeout: 5000 }, async (name) => {
  await expect(read(`test/fixtures/records/${name}.parquet`)).rejects.toMatchObject({ name: 'UserError' })
})

test('a huge dimension and one far cell cost nothing', async () => {
  const sheet = `<worksheet xmlns="${main}"><dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>id</t></is></c></row><row r="1048576"><c r="A1048576"><v>7</v></c></row></sheetData></worksheet>`
  const path = join(await makeTempDir(), 'x.xlsx')
  await writeFile(path, zipOf({ ...plainParts, 'xl/worksheets/sheet1.xml': { data: sheet } }))
  expect(await fieldsAt(path)).toEqual([{ id: 7 }])
})

test('a damaged gzip file is a user error', async () => {
  const path = join(await makeTempDir(), 'x.jsonl.gz')
  await writeFile(path, gzipSync('{"x":1}\n'.repeat(1000)).subarray(0, 40))
  await expect(read(path)).rejects.toMatchObject({ name: 'UserError', message: expect.stringContaining('gzip') })
})

test('a packed file that is read only in part is closed, and one that cannot be opened is an error', async () => {
  const path = join(await makeTempDir(), 'x.jsonl.gz')
  const line = () => `${JSON.stringify({ x: randomBytes(3000).toString('base64') })}\n`
  await writeFile(path, gzipSync(Array.from({ length: 300 }, line).join('')))
  for await (const row of readRecords(path)) {
    expect(row).toMatchObject({ where: 'line 1' })
    break
  }
  const isOpen = async () => (await Promise.all(await openFiles())).includes(path)
  await expect.poll(isOpen).toBe(false)
  await expect(readRecords(`${path}.not.jsonl.gz`).next()).rejects.toMatchObject({ code: 'ENOENT' })
})

async function openFiles() {
  const dir = '/proc/self/fd'
  return (await readdir(dir)).map((name) => readlink(join(dir, name)).catch(() => null))
}

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const relations = 'http://schemas.openxmlformats.org/package/2006/relationships'
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const farCells = `<worksheet xmlns="${main}"><sheetData>${Array.from({ length: 4000 }, (_, i) => `<row r="${i + 1}"><c r="XFD${i + 1}"><v>1</v></c></row>`).join('')}</sheetData></worksheet>`
const plainParts: Record<string, Part> = {
  '[Content_Types].xml': { data: '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>' },
  '_rels/.rels': {
    data: `<Relationships xmlns="${relations}"><Relationship Id="r1" Type="${office}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  },
  'xl/workbook.xml': {
    data: `<workbook xmlns="${main}" xmlns:r="${office}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`,
  },
  'xl/_rels/workbook.xml.rels': {
    data: `<Relationships xmlns="${relations}"><Relationship Id="r1" Type="${office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
  },
}

interface Part {
  readonly data: string
  /** The size stated in the archive, if it is false. */
  readonly claims?: number
}

function zipOf(parts: Record<string, Part>): Buffer {
  const files: Buffer[] = []
  const entries: Buffer[] = []
  let at = 0
  for (const [name, { data, claims = Buffer.byteLength(data) }] of Object.entries(parts)) {
    const packed = deflateRawSync(data)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(claims, 18)
    common.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), common, Buffer.from(name), packed])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(at, 10)
    entries.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000', 'latin1'), common, tail, Buffer.from(name)]))
    files.push(local)
    at += local.length
  }
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(Buffer.concat(entries).length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...files, ...entries, end])
}

test('a table in Latin-1, with a quote that is never closed or with too many values is refused with its line and what to do', async () => {
  const path = join(await makeTempDir(), "a table's.csv")
  await writeFile(path, Buffer.from('id,text\n1,plain\n2,Zürich\n3,Köln\n', 'latin1'))
  await expect(read(path)).rejects.toMatchObject({
    message: `${path}: expected text in columns, got bytes in line 3 that are not UTF-8`,
    hint: expect.stringMatching(/^convert it, for example: iconv -f WINDOWS-1252 -t UTF-8 '.* > utf8\.csv$/),
  })
  await writeFile(path, 'id,text\n1,"plain"\n2,"two\nlines"\n"3,open\n')
  await expect(read(path)).rejects.toMatchObject({
    message: `${path}: expected text in columns, got a quote in line 5 that is never closed`,
    hint: 'close it; inside a quoted value, write "" for a quote',
  })
  await writeFile(path, 'id,text\n1,"a"\n2,"open\n3,"b"\n4,"c"\n5,"d"\n')
  await expect(read(path)).rejects.toMatchObject({
    message: expect.stringContaining('a quote in line 3 that is never'),
  })
  await writeFile(path, 'id,text\n1,"6" pipe, or "8" pipe\n2,b\n3,c,d\n')
  await expect(read(path)).rejects.toMatchObject({
    message: `${path}: expected text in columns, got 3 values in line 2 under a header of 2`,
    hint: 'put quotes around a value that holds the separator',
  })
  await writeFile(path, `id,text\n${'1,a\n'.repeat(50_000)}2,b,c\n`)
  await expect(read(path)).rejects.toMatchObject({
    message: `${path}: expected text in columns, got 3 values in line 50002 under a header of 2`,
  })
  const tabs = join(await makeTempDir(), 'table.tsv')
  await writeFile(tabs, Buffer.from('\ufeffid\ttext\n1\tZürich\n', 'utf16le'))
  await expect(read(tabs)).rejects.toMatchObject({
    message: `${tabs}: expected text in columns, got text in UTF-16`,
    hint: expect.stringMatching(/iconv -f UTF-16 -t UTF-8 .* > utf8\.tsv$/),
  })
})
