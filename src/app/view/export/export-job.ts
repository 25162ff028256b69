import { UserError } from '../../../core/errors.ts'
import { exportShard } from '../../../core/view-files.ts'
import { parseJson } from '../../../lib/parse-json.ts'
import type { Library } from '../library.ts'
import type { LibraryJob } from '../library-job.ts'
import { NotHere } from '../library-job.ts'
import { readWindow, windowBytes } from '../trial-dir-files.ts'
import { viewJob } from '../view-lists.ts'
import { Trajectories } from '../view-steps.ts'
import { viewTrial } from '../view-trial.ts'
import type { Scrub } from './scrub.ts'

export interface Writer {
  readonly scrub: Scrub
  readonly signal: AbortSignal
  /** Writes a file; `names` are the segments of its URL. */
  json(names: readonly string[], value: object): Promise<void>
}

/** Only the beginning of a trial's file is exported; more of a recording, so that it can be played. */
const mostText = 64 << 10
const mostRecording = 8 << 20
/** How many files of a trial or task are exported. */
export const mostFiles = 300
/** Beyond any trajectory, so that it is read to the end. */
const farStep = 1e9

/** Writes a job with its trials, one after the other. Returns their number. */
export async function exportJob(library: Library, id: string, writer: Writer): Promise<number> {
  const job = await library.job(id, 3_600_000)
  if (!job.index.complete) throw new UserError(`${id}: the job could not be read within an hour`, 'pack it first')
  // The job's own files hold command lines and directories of this machine.
  const view = await viewJob(job)
  await writer.json(['jobs', id], { ...view, job: { ...view.job, dir: '' }, files: [] })
  await shards(job.index.tasks(), ['jobs', id, 'task-list'], writer)
  const names = job.index.names()
  const rows = names.flatMap((name) => job.index.rows.get(name) ?? [])
  await shards(rows, ['jobs', id, 'trial-list'], writer)
  const trajectories = new Trajectories()
  try {
    for (const name of names) {
      writer.signal.throwIfAborted()
      await exportTrial(library, job, name, { ...writer, trajectories })
    }
  } finally {
    await trajectories.close()
  }
  return names.length
}

/** Writes a list as files with some rows each. */
export async function shards(rows: readonly object[], names: readonly string[], { json }: Writer): Promise<void> {
  const size = exportShard.rows
  for (let at = 0; at === 0 || at < rows.length; at += size)
    await json([...names, String(at / size)], { items: rows.slice(at, at + size), total: rows.length })
}

interface TrialWriter extends Writer {
  readonly trajectories: Trajectories
}

async function exportTrial(library: Library, job: LibraryJob, name: string, writer: TrialWriter): Promise<void> {
  const place = ['jobs', job.id, 'trials', name]
  const view = await viewTrial(library, job, name)
  const dir = await library.trials.dirOf(job, name)
  const files = view.files.slice(0, mostFiles)
  const record = writer.scrub.paths(view.record)
  const filesCut = view.filesCut || files.length < view.files.length
  await writer.json(place, { ...view, record, files, filesCut, commands: [] })
  for (const { path } of files.filter((file) => /(^|\/)trajectory[^/]*\.json$/.test(file.path)))
    await exportTrajectory(dir, path, place, writer)
  for (const { path } of files) await exportText(dir, path, place, writer)
}

/**
 * Writes a trajectory and those of its subagents, outermost first. Subagents may refer to each other in cycles, so
 * there is a limit.
 */
async function exportTrajectory(
  dir: string,
  path: string,
  place: readonly string[],
  writer: TrialWriter,
): Promise<void> {
  const found = [path]
  for (const each of found) {
    try {
      const inside = await exportSteps(dir, each, place, writer)
      for (const name of inside) if (found.length < mostFiles) found.push(`${each}${name}`)
    } catch (error) {
      // A reference to a subagent that the file does not contain.
      if (each === path || !(error instanceof NotHere)) throw error
    }
  }
}

/** Writes the steps of one trajectory; returns the subagents they refer to. */
async function exportSteps(
  dir: string,
  path: string,
  place: readonly string[],
  { json, trajectories }: Pick<TrialWriter, 'json' | 'trajectories'>,
): Promise<ReadonlySet<string>> {
  const size = exportShard.steps
  const { total } = await trajectories.read(dir, path, farStep, 1)
  const inside = new Set<string>()
  for (let at = 0; at === 0 || at < (total ?? 0); at += size) {
    const page = await trajectories.read(dir, path, at, size)
    await json([...place, 'steps', path, String(at / size)], page)
    for (const { subagents } of page.steps.flatMap(({ observations }) => observations))
      for (const name of subagents) if (name.startsWith('#') && inside.size < mostFiles) inside.add(name)
  }
  return inside
}

/** Writes the beginning of a text file. */
export async function exportText(
  dir: string,
  path: string,
  place: readonly string[],
  { json, scrub }: Writer,
): Promise<void> {
  const most = path.endsWith('.cast') ? mostRecording : mostText
  let [text, to, size] = ['', 0, 1]
  try {
    while (to < size && to < most) {
      const part = await readWindow(dir, path, to, Math.min(windowBytes, most - to))
      text += part.text
      if (part.to === to) break
      ;({ to, size } = part)
    }
  } catch (error) {
    // Files that have disappeared or cannot be read are left out.
    if (error instanceof NotHere) return
    throw error
  }
  if (size === to && /^(config|result|record|lock)\.json$/.test(path)) {
    const document = parseJson(text)
    if (document !== undefined && document !== null) text = JSON.stringify(scrub.paths(document), null, 2)
  }
  const rest = size > to ? `\n[… ${size - to} bytes are not part of this export]` : ''
  await json([...place, 'text', path], { path, text: `${text}${rest}` })
}
