import { basename, join, resolve } from 'node:path'
import type { ViewDataList, ViewDataset } from '../../core/view-data.ts'
import { datasetFiles, openRows } from '../../formats/conversations/open-rows.ts'
import { ParquetRows } from '../../formats/conversations/parquet-rows.ts'
import type { RowSource } from '../../formats/conversations/row-source.ts'
import { kindAt, namesIn } from '../../lib/files.ts'
import { readReport } from '../../run/recipe/read-report.ts'
import type { RecipeReport } from '../../run/recipe/report.ts'
import { insideRun, isRun } from '../../run/recipe/run-datasets.ts'
import { jobDirsBelow } from '../../store/rows/run-jobs.ts'
import { rowsInFile, selectNumbered } from '../../store/rows/shard-sql.ts'
import { peekStep } from '../../store/rows/step-dir.ts'
import { DatasetIndex } from './dataset-index.ts'
import { NotHere } from './library-job.ts'

/** A finished recipe run. */
export interface ShelfRecipe {
  readonly id: string
  readonly dir: string
  readonly report: RecipeReport
}

interface Shelved {
  readonly dataset: ViewDataset
  readonly run: ShelfRecipe | null
  readonly open: () => Promise<RowSource>
  index: Promise<DatasetIndex> | null
  /** When it was last requested. */
  used: number
}

/** A dataset that has been or is being read. */
export interface OpenDataset {
  readonly dataset: ViewDataset
  readonly run: ShelfRecipe | null
  readonly index: DatasetIndex
}

/** How many datasets keep their index in memory; the least recently used is closed first. */
const mostOpen = 4

/** The datasets and recipe runs that the viewer shows. Each is opened on demand. */
export class DataShelf {
  private readonly sets = new Map<string, Shelved>()
  private readonly runs = new Map<string, ShelfRecipe>()

  /**
   * Picks the paths that are datasets or recipe runs; the rest, and the jobs of those runs, are returned for others to
   * handle.
   */
  static async open(paths: readonly string[]): Promise<{ shelf: DataShelf; rest: string[]; start: string }> {
    const shelf = new DataShelf()
    const rest: string[] = []
    let start = ''
    for (const path of paths) {
      const taken = (await shelf.addRun(resolve(path))) ?? (await shelf.addFiles(resolve(path)))
      if (taken === null) rest.push(path)
      else start = start === '' ? taken.start : '#/data'
      rest.push(...(taken?.jobs ?? []))
    }
    return { shelf, rest, start: rest.length > 0 && start === '' ? '' : start }
  }

  /** Adds a recipe run that has finished in the meantime, or rereads one already shown. Returns its jobs. */
  async include(path: string): Promise<string[]> {
    const dir = resolve(path)
    const known = [...this.runs.values()].find((run) => run.dir === dir)
    if (known) {
      this.runs.delete(known.id)
      for (const [id, shelved] of [...this.sets].filter(([, { run }]) => run === known)) {
        this.sets.delete(id)
        await closeOf(shelved)
      }
    }
    return (await this.addRun(dir))?.jobs ?? []
  }

  list(): ViewDataList {
    return {
      datasets: [...this.sets.values()].map(({ dataset }) => dataset),
      recipes: [...this.runs.values()].map(({ id, dir, report }) => ({ id, name: report.name, dir })),
    }
  }

  /** The paths of datasets and runs. */
  get paths(): readonly string[] {
    return [...this.sets.values()]
      .map(({ dataset }) => dataset.path)
      .concat([...this.runs.values()].map(({ dir }) => dir))
  }

  has(id: string): boolean {
    return this.sets.has(id)
  }

  recipe(id: string): ShelfRecipe {
    const found = this.runs.get(id)
    if (!found) throw new NotHere(`there is no run of a recipe called ${JSON.stringify(id)}`)
    return found
  }

  async dataset(id: string): Promise<OpenDataset> {
    const found = this.sets.get(id)
    if (!found) throw new NotHere(`there is no dataset ${JSON.stringify(id)}`)
    found.used = performance.now()
    found.index ??= found.open().then((source) => new DatasetIndex(source))
    await this.closeOthers()
    try {
      return { dataset: found.dataset, run: found.run, index: await found.index }
    } catch (error) {
      found.index = null
      throw error
    }
  }

  async close(): Promise<void> {
    for (const shelved of this.sets.values()) await closeOf(shelved)
  }

  private async closeOthers(): Promise<void> {
    const opened = [...this.sets.values()].filter(({ index }) => index !== null).sort((a, b) => b.used - a.used)
    for (const shelved of opened.slice(mostOpen)) await closeOf(shelved)
  }

  private add(name: string, path: string, run: ShelfRecipe | null, open: () => Promise<RowSource>): string {
    const id = freeId(this.sets, name)
    const dataset = { id, name, path, recipe: run?.id ?? null }
    this.sets.set(id, { dataset, run, open, index: null, used: 0 })
    return id
  }

  private async addFiles(path: string): Promise<{ start: string; jobs: string[] } | null> {
    if ((await datasetFiles(path)).length === 0 || (await holdsJobs(path))) return null
    const id = this.add(basename(path), path, null, () => openRows(path))
    return { start: `#/data/${encodeURIComponent(id)}`, jobs: [] }
  }

  private async addRun(dir: string): Promise<{ start: string; jobs: string[] } | null> {
    if (!(await isRun(dir))) return null
    const run = { id: freeId(this.runs, basename(dir)), dir, report: await readReport(dir) }
    this.runs.set(run.id, run)
    for (const output of run.report.outputs) {
      const path = insideRun(dir, output.dir)
      if ((await datasetFiles(path)).length > 0) this.add(`${run.id}:${output.id}`, path, run, () => openRows(path))
    }
    for (const step of run.report.steps) {
      const path = insideRun(dir, step.dir)
      this.add(`${run.id}:${step.id}`, path, run, () => openStep(path))
    }
    return { start: `#/recipes/${encodeURIComponent(run.id)}`, jobs: await jobDirsBelow(dir) }
  }
}

async function closeOf(shelved: Shelved): Promise<void> {
  const index = shelved.index
  shelved.index = null
  await (await index?.catch(() => null))?.close()
}

function freeId(taken: ReadonlyMap<string, unknown>, name: string): string {
  let id = name
  for (let n = 2; taken.has(id); n++) id = `${name}~${n}`
  return id
}

/** Jobs and folders of jobs also contain files with the extensions of datasets. */
async function holdsJobs(path: string): Promise<boolean> {
  if ((await kindAt(path)) !== 'dir') return false
  const inFolders = (await namesIn(path)).map((name) => join(path, name, 'config.json'))
  const kinds = await Promise.all([join(path, 'config.json'), ...inFolders].map(kindAt))
  return kinds.includes('file')
}

async function openStep(dir: string): Promise<RowSource> {
  const step = await peekStep(dir)
  if (step === null) throw new NotHere('the rows of this step no longer exist')
  return new ParquetRows(
    step.shards.map((shard) => ({
      file: shard.part,
      select: selectNumbered(shard, 0),
      rows: shard.rows,
      rowsInFile: rowsInFile(shard),
    })),
  )
}
