import type { FileHandle } from 'node:fs/promises'
import { journalName } from '../../core/task-paths.ts'
import type { ViewStep, ViewSteps, ViewText } from '../../core/view.ts'
import { readTraceStep, type TraceContent, type TraceStep } from '../../formats/traces/trajectory.ts'
import { JsonItems } from '../../lib/json-items.ts'
import { readJsonLines } from '../../lib/jsonl.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { NotHere } from './library-job.ts'
import { nameOfSubagent, placeOfSubagent } from './subagent-place.ts'
import { openInside, readPlace } from './trial-dir-files.ts'

/** A larger step is not parsed. */
const largestStep = 16 << 20
/** Only the beginning of a longer text is sent. */
const longestText = 48_000
const mostSteps = 200
const openFiles = 4

interface OpenTrajectory {
  readonly stamp: string
  readonly file: FileHandle
  readonly items: JsonItems
  /** Lets one reader in at a time. */
  busy: Promise<unknown>
}

/** Reads trajectories step by step: no more of a file than requested, and at most one step in memory. */
export class Trajectories {
  private readonly opened = new Map<string, OpenTrajectory>()

  /**
   * The steps of a trajectory file from `offset` on. `dir` is a trial's directory and `path` is relative to it;
   * `path#ID` is the subagent with that id inside the file.
   */
  async read(dir: string, path: string, offset: number, limit: number): Promise<ViewSteps> {
    const count = Math.min(limit, mostSteps)
    try {
      const open = await this.open(dir, path)
      const done = open.busy.then(() => readSteps(open, path, offset, count))
      open.busy = done.catch(() => {})
      return await done
    } catch (error) {
      if (!(error instanceof NotHere) || !/(^|\/)trajectory\.json$/.test(path)) throw error
      return readJournal(dir, path, offset, count)
    }
  }

  async close(): Promise<void> {
    for (const { file } of this.opened.values()) await file.close().catch(() => {})
    this.opened.clear()
  }

  private async open(dir: string, path: string): Promise<OpenTrajectory> {
    const key = `${dir}\0${path}`
    const [name = '', ...subagents] = path.split('#')
    const file = await openInside(dir, name)
    const { ino, size, mtimeMs } = await file.stat()
    const stamp = `${ino} ${size} ${mtimeMs}`
    const before = this.opened.get(key)
    if (before?.stamp === stamp) {
      await file.close()
      this.opened.delete(key)
      this.opened.set(key, before)
      return before
    }
    const place = await placeOfSubagent(file, subagents).catch(async (error) => {
      await file.close()
      throw error
    })
    // Another request may have opened the same file in the meantime.
    const other = this.opened.get(key)
    if (other?.stamp === stamp) {
      await file.close()
      return other
    }
    const open = { stamp, file, items: new JsonItems(file, 'steps', place), busy: Promise.resolve() }
    this.opened.set(key, open)
    const [oldest] = this.opened
    if (this.opened.size > openFiles && oldest) {
      this.opened.delete(oldest[0])
      void oldest[1].busy.then(() => oldest[1].file.close()).catch(() => {})
    }
    if (other) void other.busy.then(() => other.file.close()).catch(() => {})
    return open
  }
}

async function readSteps(
  { file, items }: OpenTrajectory,
  path: string,
  offset: number,
  count: number,
): Promise<ViewSteps> {
  // One more than requested tells whether this is the end.
  await items.ensure(offset + count + 1)
  const steps: ViewStep[] = []
  for (const [i, place] of items.items.slice(offset, offset + count).entries()) {
    const bytes = place.end - place.at
    const value = bytes > largestStep ? null : parseJson((await readPlace(file, place.at, place.end)).toString('utf8'))
    const read = value === null ? { wrong: 'too large' } : readTraceStep(value)
    steps.push(
      'wrong' in read ? emptyStep(offset + i + 1, read.wrong, place.at, bytes) : viewStep(read, offset + i + 1),
    )
  }
  const continued = items.others.get('continued_trajectory_ref')
  const name = continued && parseJson((await readPlace(file, continued.at, continued.end)).toString('utf8'))
  const version = items.others.has('schema_version')
  return {
    ...{ file: path, offset, steps },
    total: items.ended ? items.items.length : null,
    continues: typeof name === 'string' ? path.replace(/[^/]*$/, name) : null,
    trouble: items.ended && !version && items.items.length === 0 ? 'this file is not a trajectory' : null,
  }
}

/** The steps of an agent that is still working. */
async function readJournal(dir: string, file: string, offset: number, count: number): Promise<ViewSteps> {
  const path = file.replace(/[^/]*$/, journalName)
  // Opening it first makes sure that the file belongs to this trial.
  await (await openInside(dir, path)).close()
  const steps: TraceStep[] = []
  const name = file.split('/').at(-1)
  for await (const event of readJsonLines(`${dir}/${path}`)) {
    const { kind, file: of, step, observation } = Object(event) as Readonly<Record<string, unknown>>
    if (of !== name) continue
    const read = kind === 'step' ? readTraceStep(step) : null
    if (read && !('wrong' in read)) steps.push(read)
    const last = steps.at(-1)
    const seen = kind === 'observe' && last ? readTraceStep({ ...last, observation }) : null
    if (seen && !('wrong' in seen)) steps[steps.length - 1] = seen
  }
  const shown = steps.slice(offset, offset + count).map((step, i) => viewStep(step, offset + i + 1))
  return { file, offset, steps: shown, total: steps.length, continues: null, trouble: null }
}

function viewStep(step: TraceStep, number: number): ViewStep {
  const { metrics } = step
  return {
    number,
    source: step.source,
    timestamp: step.timestamp ?? null,
    model: step.model_name ?? null,
    message: cutText(textOf(step.message)),
    reasoning: step.reasoning_content ? cutText(step.reasoning_content) : null,
    calls: (step.tool_calls ?? []).map(({ function_name: name, arguments: given }) => callOf(name, given ?? {})),
    observations: (step.observation?.results ?? []).map(({ content, subagent_trajectory_ref: refs }) => ({
      text: cutText(textOf(content)),
      subagents: (refs ?? []).flatMap(nameOfSubagent),
    })),
    inputTokens: metrics?.prompt_tokens ?? null,
    outputTokens: metrics?.completion_tokens ?? null,
    copied: step.is_copied_context ?? false,
  }
}

function callOf(name: string, given: Readonly<Record<string, unknown>>): ViewStep['calls'][number] {
  const { keystrokes, command, cmd } = given
  const typed = [keystrokes, command, cmd].find((value) => typeof value === 'string')
  const text = typeof typed === 'string' ? typed : JSON.stringify(given, null, 2)
  return { name, text: cutText(text), keystrokes: typeof keystrokes === 'string' }
}

function emptyStep(number: number, wrong: string, at: number, bytes: number): ViewStep {
  const message = { text: `This step cannot be shown: ${wrong}.` }
  const nothing = {
    timestamp: null,
    model: null,
    reasoning: null,
    inputTokens: null,
    outputTokens: null,
    copied: false,
  }
  return { number, source: 'system', message, calls: [], observations: [], ...nothing, tooLarge: { at, bytes } }
}

/** A text cut to its beginning if it is long. */
export function cutText(text: string): ViewText {
  return text.length <= longestText ? { text } : { text: text.slice(0, longestText), chars: text.length }
}

function textOf(content: TraceContent | null | undefined): string {
  if (content === null || content === undefined) return ''
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? (part.text ?? '') : `[${part.type}]`)).join('\n')
}
