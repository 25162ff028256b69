import type { ViewDataExport, ViewDataKeys, ViewDataRow, ViewDataset, ViewDropped } from '../../../core/view-data.ts'
import { listDataRows } from '../../../core/view-data-lists.ts'
import { scanRow } from '../../../formats/conversations/facts.ts'
import { type RowLineage, traceLineage } from '../../../run/recipe/lineage.ts'
import type { RecipeReport } from '../../../run/recipe/report.ts'
import type { OpenDataset, ShelfRecipe } from '../dataset-shelf.ts'
import type { Library } from '../library.ts'
import { NotHere, trialLink } from '../library-job.ts'
import { viewDropped, viewRecipe } from '../recipe-view.ts'
import { shards, type Writer } from './export-job.ts'
import { exportRow } from './export-row.ts'
import { ExportedWords } from './export-words.ts'

/** Longer than any reading takes. */
const waitMs = 3_600_000

export interface ExportedData {
  readonly datasets: number
  readonly rows: number
}

/**
 * Exports datasets and recipe runs: the first rows of each, the first rows that each stage dropped for each reason, and
 * the rows in their lineage.
 */
export async function exportData(library: Library, mostRows: number, writer: Writer): Promise<ExportedData> {
  const { datasets, recipes } = library.data.list()
  if (mostRows === 0 || datasets.length + recipes.length === 0) return { datasets: 0, rows: 0 }
  await writer.json(['data'], {
    datasets: datasets.map(withoutPath),
    recipes: recipes.map((recipe) => ({ ...recipe, dir: '' })),
  })
  const sets = new Map(datasets.map((dataset) => [dataset.id, new ExportedSet(dataset, mostRows, writer)]))
  const want = (link: string | null) => {
    const [, id = '', key = ''] = /^#\/data\/([^/]+)\/rows\/([^/?]+)$/.exec(link ?? '') ?? []
    sets.get(decodeURIComponent(id))?.want(decodeURIComponent(key))
  }
  for (const { id } of recipes)
    for (const { link } of await exportRecipe(library, library.data.recipe(id), { mostRows, writer })) want(link)
  const trace = remembered(traceLineage)
  const linkOf = (job: string, trial: string) => trialLink(library, job, trial)
  // A row links to others in its lineage, possibly in datasets written earlier; those are reopened.
  for (let waiting = [...sets.values()]; waiting.length > 0; waiting = [...sets.values()].filter((set) => set.waits))
    for (const set of waiting) await set.write(library, { trace, linkOf, want })
  let rows = 0
  for (const set of sets.values()) rows += await set.finish()
  return { datasets: sets.size, rows }
}

async function exportRecipe(
  library: Library,
  run: ShelfRecipe,
  { mostRows, writer }: { mostRows: number; writer: Writer },
): Promise<readonly ViewDropped[]> {
  const view = await viewRecipe(library.data, run)
  await writer.json(['recipes', run.id], { ...view, dir: '' })
  const all: ViewDropped[] = []
  for (const { id: stage, drops } of run.report.stages) {
    const items: ViewDropped[] = []
    for (const reason of Object.keys(drops)) {
      writer.signal.throwIfAborted()
      const found = await viewDropped(run, { stage, reason, offset: 0, limit: mostRows })
      items.push(...found.items)
    }
    await writer.json(['recipes', run.id, 'dropped', stage], {
      ...{ recipe: run.report.name, stage, reasons: drops },
      ...{ items, offset: 0, total: items.length, complete: true },
    })
    all.push(...items)
  }
  return all
}

interface Ways {
  readonly trace: typeof traceLineage
  readonly linkOf: (job: string, trial: string) => Promise<string | null>
  /** Also exports the row at this link. */
  readonly want: (link: string | null) => void
}

/** One dataset of an export: its wanted rows, and those written. */
class ExportedSet {
  private readonly wanted = new Set<string>()
  private readonly written = new Set<string>()
  private readonly rows = new Map<number, ViewDataRow>()
  private readonly words: ExportedWords
  private total: number | null = null
  private trouble: string | null = null
  private begun = false

  constructor(
    private readonly dataset: ViewDataset,
    private readonly mostRows: number,
    private readonly writer: Writer,
  ) {
    this.words = new ExportedWords(dataset.id, writer)
  }

  get waits(): boolean {
    return this.wanted.size > 0
  }

  /** Requests a row by its number, or by `=` followed by its id. */
  want(key: string): void {
    if (key !== '' && !this.written.has(key)) this.wanted.add(key)
  }

  async write(library: Library, ways: Ways): Promise<void> {
    try {
      const opened = await library.data.dataset(this.dataset.id)
      await opened.index.wait(waitMs, () => false)
      this.total = opened.index.rows.length
      this.trouble = opened.index.trouble
      const first = this.begun ? [] : opened.index.rows.slice(0, this.mostRows).map(({ number }) => number)
      this.begun = true
      const others = [...this.wanted].flatMap((key) => numberIn(opened, key) ?? [])
      this.wanted.clear()
      for (const number of new Set([...first, ...others]))
        if (!this.rows.has(number)) await this.writeRow(opened, number, ways)
    } catch (error) {
      // Some rows of a step may have been removed.
      if (!(error instanceof NotHere)) throw error
      this.trouble = error.message
      this.wanted.clear()
    }
  }

  private async writeRow(opened: OpenDataset, number: number, { want, ...ask }: Ways): Promise<void> {
    this.writer.signal.throwIfAborted()
    const { row, lineage } = await exportRow(opened, number, ask, this.writer)
    this.rows.set(number, row)
    this.written.add(row.id === null ? String(number) : `=${row.id}`)
    for (const { link } of lineage) want(link)
    const record = await opened.index.source.read(number)
    if (record) await this.words.add(number, Buffer.from(scanRow(record).text).toString())
  }

  /** Writes the lists, and returns the number of rows. */
  async finish(): Promise<number> {
    await this.words.flush()
    const rows = [...this.rows.values()].sort((a, b) => a.number - b.number)
    const place = ['data', this.dataset.id]
    const keys: ViewDataKeys = { numbers: rows.map(({ number }) => number), ids: rows.map(({ id }) => id) }
    const { items: _items, offset: _offset, ...spread } = listDataRows(rows, null, everyRow)
    const about: ViewDataExport = {
      ...{ dataset: withoutPath(this.dataset), ...spread, complete: true, trouble: this.trouble },
      ...{ indexed: rows.length, rows: this.total, leftOut: (this.total ?? 0) - rows.length },
      wordParts: this.words.parts,
    }
    await this.writer.json(place, about)
    await this.writer.json([...place, 'keys'], keys)
    await shards(rows, [...place, 'row-list'], this.writer)
    return rows.length
  }
}

const everyRow = {
  ...{ offset: 0, limit: 0, q: '', sort: '', descending: false, result: '', source: '' },
  turns: [0, Number.MAX_SAFE_INTEGER],
  tokens: [0, Number.MAX_SAFE_INTEGER],
} as const

function withoutPath(dataset: ViewDataset): ViewDataset {
  return { ...dataset, path: '' }
}

function numberIn({ index }: OpenDataset, key: string): number | null {
  if (key.startsWith('=')) return index.numberOf(key.slice(1))
  return index.placeOf(Number(key)) >= 0 ? Number(key) : null
}

/** Caches lineages: a row of a dataset shares its lineage with the rows of earlier steps. */
function remembered(trace: typeof traceLineage): typeof traceLineage {
  const known = new Map<string, RowLineage | null>()
  return async (dir: string, report: RecipeReport, id: string) => {
    const key = `${dir}\0${id}`
    const before = known.get(key)
    if (before !== undefined) return before
    const found = await trace(dir, report, id)
    const task = found?.task ? { ...found.task, archive: new Uint8Array() } : null
    const slim = found && { ...found, task, way: found.way.map(withoutTexts) }
    known.set(key, slim)
    return slim
  }
}

function withoutTexts(sighting: RowLineage['way'][number]): RowLineage['way'][number] {
  if (!sighting.kept) return sighting
  const { id, trial_name } = sighting.row
  return { ...sighting, row: { id, trial_name } }
}
