import type { ViewPage } from '../src/core/view.ts'
import type {
  ViewDataExport,
  ViewDataKeys,
  ViewDataRow,
  ViewDataRowPage,
  ViewDataRows,
  ViewDroppedRows,
  ViewSimilarRows,
} from '../src/core/view-data.ts'
import { type DataRequest, isPlainData, listDataRows } from '../src/core/view-data-lists.ts'
import { exportShard } from '../src/core/view-files.ts'
import { type WordFile, wordFileOf, wordsOf } from '../src/core/view-words.ts'

type Query = Readonly<Record<string, unknown>>

/** Loads an exported response by its names. */
type LoadNames = <T>(...names: readonly string[]) => Promise<T>

/** Answers about datasets and recipes from the files of an export; undefined if a file is the complete response. */
export async function answerAboutData(names: readonly string[], query: Query, load: LoadNames): Promise<unknown> {
  const [first = '', id = '', list = '', key = '', part = ''] = names
  if (first === 'recipes' && list === 'dropped') return droppedOf(await load<ViewDroppedRows>(...names), query)
  if (first !== 'data' || list !== 'rows') return undefined
  if (key === '') return rowsOf(id, dataRequest(query), load)
  const keys = await load<ViewDataKeys>('data', id, 'keys')
  const at = key.startsWith('=') ? keys.ids.indexOf(key.slice(1)) : keys.numbers.indexOf(Number(key))
  const place = ['data', id, 'rows', String(keys.numbers[at] ?? key)]
  if (part === 'similar') {
    const { rows, complete } = await load<ViewSimilarRows>(...place, part)
    const held = new Set(keys.numbers)
    return { rows: rows.filter(({ row }) => held.has(row.number)), complete } satisfies ViewSimilarRows
  }
  const from = Number(query.offset ?? 0)
  const page = await load<ViewDataRowPage>(...place, ...(from === 0 ? [] : ['from', String(from)]))
  return { ...page, previous: keys.numbers[at - 1] ?? null, next: keys.numbers[at + 1] ?? null }
}

/** All rows in their original order need only the files for the requested part; any other list needs all. */
async function rowsOf(id: string, ask: DataRequest, load: LoadNames): Promise<ViewDataRows> {
  const { wordParts, ...about } = await load<ViewDataExport>('data', id)
  const size = exportShard.rows
  const plain = isPlainData(ask)
  const first = plain ? Math.floor(ask.offset / size) : 0
  const end = plain ? Math.min(about.total, ask.offset + ask.limit) : about.total
  const rows: ViewDataRow[] = []
  for (let nth = first; nth === first || nth * size < end; nth++)
    rows.push(...(await load<Pick<ViewPage<ViewDataRow>, 'items'>>('data', id, 'row-list', String(nth))).items)
  const { offset, limit } = ask
  if (plain) return { ...about, offset, items: rows.slice(offset - first * size, offset - first * size + limit) }
  const found = ask.q.trim() === '' ? null : await rowsWithWords(id, ask.q, wordParts, load)
  const hits = found && rows.map(({ number }) => (found.has(number) ? 1 : 0))
  return { ...about, ...listDataRows(rows, hits, ask) }
}

/** The numbers of the rows that contain all words of a text. */
async function rowsWithWords(id: string, text: string, parts: number, load: LoadNames): Promise<Set<number>> {
  const having = async (word: string) => {
    const numbers: number[] = []
    for (let part = 0; part < parts; part++) {
      const file = await load<WordFile>('data', id, 'words', String(part), String(wordFileOf(word)))
      if (Object.hasOwn(file, word)) numbers.push(...(file[word] ?? []))
    }
    return numbers
  }
  const [first, ...rest] = await Promise.all([...wordsOf(text)].map(having))
  const others = rest.map((numbers) => new Set(numbers))
  return new Set(first?.filter((number) => others.every((other) => other.has(number))))
}

function droppedOf(all: ViewDroppedRows, query: Query): ViewDroppedRows {
  const reason = String(query.reason ?? '')
  const [offset, limit] = [Number(query.offset ?? 0), Number(query.limit ?? 100)]
  const items = reason === '' ? all.items : all.items.filter((row) => row.reason === reason)
  const dropped = Object.entries(all.reasons).filter(([each]) => reason === '' || each === reason)
  const leftOut = dropped.reduce((sum, [, rows]) => sum + rows, 0) - items.length
  return { ...all, items: items.slice(offset, offset + limit), offset, total: items.length, leftOut }
}

function dataRequest(query: Query): DataRequest {
  const of = (name: string) => String(query[name] ?? '')
  const range = (name: string) => [Number(query[`min${name}`] ?? 0), Number(query[`max${name}`] ?? everything)] as const
  return {
    ...{ offset: Number(query.offset ?? 0), limit: Number(query.limit ?? 100), q: of('q') },
    ...{ sort: of('sort').replace(/^-/, ''), descending: of('sort').startsWith('-') },
    ...{ result: of('result'), source: of('source'), turns: range('Turns'), tokens: range('Tokens') },
  }
}

const everything = Number.MAX_SAFE_INTEGER
