import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ViewModel, ViewSections } from '../../../core/view-board.ts'
import { exportMark, fileName } from '../../../core/view-files.ts'
import { parseJson } from '../../../lib/parse-json.ts'
import { type Board, boardCsv } from '../board.ts'
import type { Library } from '../library.ts'
import { allItems, taskDir, viewTask } from '../tasks/view-task.ts'
import { exportData } from './export-data.ts'
import { exportJob, exportText, mostFiles, type Writer } from './export-job.ts'
import { makeScrub } from './scrub.ts'
import { SiteDir } from './site-dir.ts'

export interface ExportRequest {
  readonly library: Library
  readonly board: Board | null
  /** The directory of the built page. */
  readonly assetsDir: string
  readonly out: string
  /** How many rows of each dataset are written; 0 leaves out datasets. */
  readonly rows: number
  readonly signal: AbortSignal
  readonly onJob: (id: string, trials: number) => void
}

export interface Exported {
  readonly jobs: number
  readonly trials: number
  readonly models: number
  readonly tasks: number
  readonly datasets: number
  readonly rows: number
  readonly files: number
  readonly bytes: number
}

/** Allows scripts and data from the same site only, like the server's headers. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"

/**
 * Exports what the viewer shows as static files, for any file server and any path. The site appears whole or not at
 * all.
 */
export async function exportSite(request: ExportRequest): Promise<Exported> {
  const { library, signal } = request
  const dirs = await library.idsByDir()
  const scrub = makeScrub([...dirs.keys(), ...library.tasks.paths, ...library.data.paths])
  const site = await SiteDir.begin(request.out)
  const writer: Writer = {
    scrub,
    signal,
    json: (names, value) =>
      site.write(
        `api/${names.map(fileName).join('/')}.json`,
        JSON.stringify(value, (_, each: unknown) => (typeof each === 'string' ? scrub.text(each) : each)),
      ),
  }
  try {
    await copyPage(site, request.assetsDir)
    const models = await exportBoard(site, writer, request)
    const tasks = await exportTasks(library, writer)
    const data = await exportData(library, request.rows, writer)
    const board = request.board !== null
    const has = { jobs: library.hasJobs, board, tasks: tasks > 0, data: data.datasets > 0 }
    const sections: ViewSections = { ...has, runs: false }
    await writer.json(['sections'], sections)
    const { rows } = await library.jobs()
    await writer.json(['jobs'], { items: rows.map((row) => ({ ...row, dir: '' })), broken: [] })
    let trials = 0
    for (const { id } of rows) {
      const count = await exportJob(library, id, writer)
      trials += count
      request.onJob(id, count)
    }
    await site.finish()
    return { jobs: rows.length, trials, models, tasks, ...data, files: site.files, bytes: site.bytes }
  } catch (error) {
    await site.abandon()
    throw error
  }
}

async function copyPage(site: SiteDir, assetsDir: string): Promise<void> {
  const index = await readFile(join(assetsDir, 'index.html'), 'utf8')
  const head = `<head>\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`
  await site.write('index.html', index.replace('<html', `<html ${exportMark}`).replace('<head>', head))
  for (const name of ['app.js', 'style.css', 'icon.svg']) await site.write(name, await readFile(join(assetsDir, name)))
  const chunks = join(assetsDir, 'chunks')
  for (const name of await readdir(chunks)) await site.write(`chunks/${name}`, await readFile(join(chunks, name)))
}

async function exportBoard(site: SiteDir, { json, scrub, signal }: Writer, { board, library }: ExportRequest) {
  if (board === null) return 0
  const ids = await library.idsByDir()
  const found = await board.board(ids)
  await json(['board'], found)
  await site.write('api/board.csv', scrub.text(boardCsv(found)))
  const waiting = found.rows.flatMap(({ model, base }) => [model, base]).filter((name) => name !== null)
  const done = new Set<string>()
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (done.has(name)) continue
    signal.throwIfAborted()
    done.add(name)
    const model = await board.model(name, ids)
    await json(['models', name], published(model, scrub.paths))
    waiting.push(...model.children, ...ancestorsOf(model.lineage))
  }
  return done.size
}

function published(model: ViewModel, paths: (value: unknown) => unknown): object {
  const parameters = model.parameters === null ? null : JSON.stringify(paths(parseJson(model.parameters)))
  return { ...(paths(model) as ViewModel), parameters }
}

function ancestorsOf({ parents }: ViewModel['lineage']): string[] {
  return parents.flatMap((parent) => [
    ...(parent.kind === 'model' && parent.registered ? [parent.name] : []),
    ...ancestorsOf(parent),
  ])
}

/** Longer than any reading takes. */
const waitMs = 3_600_000

/**
 * Writes the listed tasks with their files, and the solve rates of tasks known only from jobs. Returns their number.
 */
async function exportTasks(library: Library, writer: Writer): Promise<number> {
  await Promise.all([library.tasks.refresh(waitMs), library.taskTrials.refresh(waitMs)])
  const { items } = allItems(library)
  await writer.json(['tasks'], { items, broken: [] })
  const named = new Set<string>()
  for (const { id, name, set } of items) {
    writer.signal.throwIfAborted()
    const view = await viewTask(library, id)
    const files = set === null ? [] : view.files.slice(0, mostFiles)
    const trouble = set === null ? 'The files of this task are not part of this export.' : null
    const filesCut = set !== null && (view.filesCut || files.length < view.files.length)
    const published = { ...view, path: null, files, filesCut, trouble }
    await writer.json(['tasks', id], published)
    // Trials know their task by name. If several share a name, the first is used, as on a server.
    if (set !== null && !named.has(name)) await writer.json(['tasks', `@${name}`], published)
    named.add(name)
    await writer.json(['tasks', id, 'trials'], { items: library.taskTrials.of(name) })
    const dir = files.length === 0 ? null : await taskDir(library, id)
    if (dir !== null) for (const { path } of files) await exportText(dir, path, ['tasks', id], writer)
  }
  return items.length
}
