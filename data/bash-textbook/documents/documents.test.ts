import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../test/contracts/stage.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { needs } from '../../../test/needs.ts'
import documents from './index.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const make = (options: object) => documents.make(documents.options.parse({ minChars: 3, ...options }), context)

async function save(files: Readonly<Record<string, string>>): Promise<string> {
  const dir = await makeTempDir()
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  return dir
}

const book = { 'a book.txt': 'page one  \n\n\fpage two\r\nmore\f\fx\f', 'b.md': '# Notes', 'c.doc': 'not read' }

stageLaws('documents', { make: async () => make({ path: await save(book) }), rows: [] })

test('every page of every document is a row, without non-text characters', async () => {
  expect(await runStage(make({ path: await save(book), source: 'books' }), [])).toEqual([
    { id: 'a-book-p1', source: 'books', fields: { document: 'a book', page: 1, text: 'page one' } },
    { id: 'a-book-p2', source: 'books', fields: { document: 'a book', page: 2, text: 'page two\nmore' } },
    { drop: 'too-short', id: 'a-book-p3', detail: '0 characters' },
    { drop: 'too-short', id: 'a-book-p4', detail: '1 characters' },
    { id: 'b-p1', source: 'books', fields: { document: 'b', page: 1, text: '# Notes' } },
  ])
})

test('long pages are dropped, late pages are not read', async () => {
  const path = await save({ 'a.txt': 'aaaa\fbbbbbbbb\fcccc' })
  expect(await runStage(make({ path, maxChars: 5, maxPages: 2 }), [])).toMatchObject([
    { id: 'a-p1' },
    { drop: 'too-long', id: 'a-p2' },
  ])
})

test('the pages of a PDF come from pdftotext; any other file is the user’s error', needs('pdftotext'), async () => {
  const path = await save({ '-book.pdf': makePdf(['First page', 'Second page']), 'fake.pdf': 'nonsense' })
  const found = await runStage(make({ path: join(path, '-book.pdf') }), [])
  expect(found).toMatchObject([
    { id: '-book-p1', fields: { text: 'First page' } },
    { fields: { page: 2, text: 'Second page' } },
  ])
  await expect(runStage(make({ path: join(path, 'fake.pdf') }), [])).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('expected a PDF'),
  })
})

test.each([
  ['nothing', 'found nothing there'],
  ['empty', 'found none'],
  ['long.txt', 'at most 0.00001 MB'],
])('%s is refused with what was expected', async (name, message) => {
  const path = await save({ 'long.txt': 'long enough a text' })
  await mkdir(join(path, 'empty'))
  await expect(runStage(make({ path: join(path, name), maxMb: 0.000_01 }), [])).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining(message),
  })
})

/** A PDF with one line per page. */
function makePdf(lines: readonly string[]): string {
  const streams = lines.map((line) => `BT /F1 12 Tf 72 720 Td (${line}) Tj ET`)
  const kids = lines.map((_, i) => `${4 + i * 2} 0 R`).join(' ')
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${lines.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...streams.flatMap((stream, i) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + i * 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    ]),
  ]
  let text = '%PDF-1.4\n'
  const places = objects.map((object, i) => {
    const at = text.length
    text += `${i + 1} 0 obj\n${object}\nendobj\n`
    return at
  })
  const table = places.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')
  return `${text}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`
}
