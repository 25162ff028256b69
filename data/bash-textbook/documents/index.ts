import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Dropped, definePlugin, pathFrom, type RawRow, type Source, UserError, z } from 'ot-agent'
import { readPages } from './pages.ts'

const options = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe(
      'A document, or a folder of them: .pdf, .txt or .md. Pages of a text are cut at form feeds, those of Markdown at headings.',
    ),
  source: z.string().min(1).default('documents'),
  maxPages: z.number().int().min(1).default(500).describe('Later pages of a document are not read.'),
  minChars: z.number().int().min(0).default(80).describe('Pages with fewer characters are dropped.'),
  maxChars: z.number().int().min(1).default(20_000).describe('Longer pages are dropped.'),
  maxMb: z.number().positive().default(50).describe("A document with more text is the user's error."),
  timeoutSec: z.number().positive().default(120),
})
type Options = z.output<typeof options>

/** S4: the pages of documents, one row each, with their text. */
export default definePlugin<Source<RawRow>, typeof options>({
  name: 'documents',
  summary: 'Pages of documents: PDF (through pdftotext), text or Markdown',
  options,
  make: (asked, context) => {
    const given = { ...asked, path: pathFrom(context, asked.path) }
    return {
      kind: 'source',
      gives: 'raw',
      needs: () => [{ kind: 'path', path: given.path, what: 'the documents', provide: 'put the documents there' }],
      async *rows(at) {
        for (const path of await listDocuments(given.path)) {
          at.signal.throwIfAborted()
          const document = basename(path).replace(/\.[^.]*$/, '')
          const pages = await readPages(path, given, at.signal)
          for (const [i, page] of pages.entries()) yield toRow(document, i + 1, page, given)
        }
      },
    }
  },
})

function toRow(
  document: string,
  page: number,
  given: string,
  { source, minChars, maxChars }: Options,
): RawRow | Dropped {
  const id = `${document.replace(/[^\w.-]+/g, '-')}-p${page}`
  const text = given
    .replace(/[^\P{Cc}\n\t]/gu, '')
    .replace(/[ \t]+$/gm, '')
    .replace(/^\n+|\s+$/g, '')
  if (text.length < minChars) return { drop: 'too-short', detail: `${text.length} characters`, id }
  if (text.length > maxChars) return { drop: 'too-long', detail: `${text.length} characters`, id }
  return { id, source, fields: { document, page, text } }
}

async function listDocuments(path: string): Promise<string[]> {
  if (!(await isFolder(path))) return [path]
  const names = (await readdir(path)).filter((name) => /\.(?:pdf|txt|md)$/i.test(name)).sort()
  if (names.length === 0)
    throw new UserError(
      `${path}: expected documents that end in .pdf, .txt or .md, found none`,
      'put them into this folder',
    )
  return names.map((name) => join(path, name))
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    throw new UserError(`${path}: expected a document or a folder of them, found nothing there`, 'check the path')
  }
}
