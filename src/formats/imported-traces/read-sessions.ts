import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { kindAt } from '../../lib/files.ts'
import { readLines } from '../../lib/lines.ts'
import { readJson } from '../../lib/parse-json.ts'
import { compareBytes } from '../../lib/tree.ts'
import { commonFolder, type InputKind, inputFiles } from '../input-files.ts'
import { readRecords } from '../records/read-records.ts'
import { readClaudeCode } from './claude-code.ts'
import { readCodex } from './codex.ts'
import { readMessageRow } from './message-rows.ts'
import { readOpenHands, readOpenHandsRow } from './openhands.ts'
import { hasEvents, type ImportFormat, recognizeDocument, recognizeLines } from './recognize.ts'
import { type ImportedSession, type ImportProblem, UnusableSession } from './session.ts'
import { readSweAgent } from './swe-agent.ts'
import { type Fields, fieldsOf } from './values.ts'

/** A session, or a problem in a file, with its location. */
export type ReadSession = { readonly where: string } & (
  | { readonly session: ImportedSession }
  | { readonly problem: ImportProblem }
)

export interface ReadOptions {
  /** Null: detected per file. */
  readonly format: ImportFormat | null
  /** Larger single-session files are skipped. */
  readonly maxBytes: number
}

/** Files that may contain sessions. */
export const trajectoryFiles: InputKind = {
  what: 'trajectories',
  pattern: /\.(traj|json|jsonl|ndjson|parquet)$/i,
  endings: '.traj, .json, .jsonl or .parquet',
}
/** OpenHands stores each event of a session in a file: `events/12.json`, `events/event-00012-ID.json`. */
const eventFile = /(^|\/)events\/(event-)?\d+[^/]*\.json$/

/** Yields every session of a file, or of the files in a folder or glob in path order; links are not followed. */
export async function* readSessions(path: string, options: ReadOptions): AsyncGenerator<ReadSession, void, void> {
  const kind = await kindAt(path)
  const files = await inputFiles(path, trajectoryFiles)
  const [first = path] = files
  if (kind === 'file') return yield* readFileSessions(first, basename(first), options)
  const base = kind === 'dir' ? path : commonFolder(files)
  const events = new Map<string, string[]>()
  for (const file of files) {
    const name = relative(base, file)
    if (eventFile.test(`/${name}`)) events.set(dirname(name), [...(events.get(dirname(name)) ?? []), name])
    else yield* readFileSessions(file, name, options)
  }
  for (const [dir, names] of events) yield await readEventFiles(base, dir, names, options)
}

async function* readFileSessions(path: string, where: string, options: ReadOptions): AsyncGenerator<ReadSession> {
  if (/\.parquet$/i.test(path)) return yield* readRows(path, where)
  if (/\.(jsonl|ndjson)$/i.test(path)) return yield* readLineFile(path, where, options)
  const tooLarge = await refuseLarge(path, options)
  if (tooLarge) return yield { where, problem: tooLarge }
  const document = parsed(await readFile(path, 'utf8'))
  if ('problem' in document) return yield { where, ...document }
  const format = options.format ?? recognizeDocument(document.value)
  const { value } = document
  if (format === 'messages' && Array.isArray(value)) {
    for (const [i, row] of value.entries()) yield used(`${where}#${i + 1}`, () => readRow(fieldsOf(row)))
  } else yield used(where, () => readDocument(value, format))
}

function readDocument(document: unknown, format: ImportFormat | null): ImportedSession {
  if (format === 'swe-agent') return readSweAgent(fieldsOf(document))
  if (format === 'openhands')
    return Array.isArray(document) ? readOpenHands(document) : readOpenHandsRow(fieldsOf(document))
  if (format === 'messages') return readMessageRow(fieldsOf(document))
  throw format === null
    ? unrecognized()
    : new UnusableSession('unknown-format', `a file of ${format} has one JSON object per line`)
}

const unrecognized = () =>
  new UnusableSession(
    'unknown-format',
    'expected a trajectory of SWE-agent, OpenHands, Codex or Claude Code, or rows with messages',
  )

/** How many lines are used to recognize a file. */
const lookedAt = 50

/** A file with one JSON object per line: the events of a session, or one row each. */
async function* readLineFile(path: string, where: string, options: ReadOptions): AsyncGenerator<ReadSession> {
  const format = options.format ?? recognizeLines(await firstLines(path))
  if (format === null)
    return yield used(where, () => {
      throw unrecognized()
    })
  const isRows = format === 'messages' || format === 'swe-agent' || (format === 'openhands' && (await holdsRows(path)))
  if (isRows) return yield* readRows(path, where)
  const tooLarge = await refuseLarge(path, options)
  if (tooLarge) return yield { where, problem: tooLarge }
  const lines: Fields[] = []
  let number = 0
  for await (const { text } of readLines(path)) {
    number++
    if (text.trim() === '') continue
    const line = parsed(text)
    if ('problem' in line) {
      // Lines after a lost one may answer it, so the session ends here.
      const detail = `${line.problem.detail}; the session is used up to here`
      yield { where: `${where}:${number}`, problem: { reason: 'unreadable-line', detail } }
      break
    }
    lines.push(fieldsOf(line.value))
  }
  yield used(where, () => readLined[format](lines))
}

const readLined: Readonly<
  Record<Exclude<ImportFormat, 'messages' | 'swe-agent'>, (lines: readonly Fields[]) => ImportedSession>
> = {
  codex: readCodex,
  'claude-code': readClaudeCode,
  openhands: readOpenHands,
}

async function firstLines(path: string): Promise<Fields[]> {
  const lines: Fields[] = []
  for await (const { text } of readLines(path)) {
    const line = parsed(text)
    if ('value' in line) lines.push(fieldsOf(line.value))
    if (lines.length >= lookedAt) break
  }
  return lines
}

async function holdsRows(path: string): Promise<boolean> {
  return (await firstLines(path)).some(({ history, trajectory }) => hasEvents(history ?? trajectory))
}

async function* readRows(path: string, where: string): AsyncGenerator<ReadSession> {
  let nth = 0
  for await (const row of readRecords(path)) {
    nth++
    if ('problem' in row)
      yield { where: `${where}#${nth}`, problem: { reason: 'unreadable-line', detail: row.problem } }
    else yield used(`${where}#${nth}`, () => readRow(row.fields))
  }
}

function readRow(row: Fields): ImportedSession {
  if (hasEvents(row.history ?? row.trajectory)) return readOpenHandsRow(row)
  return Array.isArray(row.history) ? readSweAgent(row) : readMessageRow(row)
}

async function readEventFiles(
  root: string,
  dir: string,
  names: readonly string[],
  options: ReadOptions,
): Promise<ReadSession> {
  const numberOf = (name: string) => Number(/\d+/.exec(basename(name))?.[0] ?? 0)
  const ordered = [...names].sort((a, b) => numberOf(a) - numberOf(b) || compareBytes(a, b))
  const events: unknown[] = []
  let bytes = 0
  for (const name of ordered) {
    bytes += (await stat(join(root, name))).size
    if (bytes > options.maxBytes) return { where: dir, problem: largerThan(options) }
    const event = parsed(await readFile(join(root, name), 'utf8'))
    if ('problem' in event) return { where: name, problem: event.problem }
    events.push(event.value)
  }
  return used(dir, () => readOpenHands(events))
}

function parsed(text: string): { readonly value: unknown } | { readonly problem: ImportProblem } {
  try {
    return { value: readJson(text) }
  } catch (error) {
    return { problem: { reason: 'unreadable-line', detail: `expected JSON, got ${messageOf(error).slice(0, 200)}` } }
  }
}

async function refuseLarge(path: string, options: ReadOptions): Promise<ImportProblem | null> {
  return (await stat(path)).size > options.maxBytes ? largerThan(options) : null
}

function largerThan({ maxBytes }: ReadOptions): ImportProblem {
  return { reason: 'too-large', detail: `expected at most ${maxBytes} bytes` }
}

function used(where: string, read: () => ImportedSession): ReadSession {
  try {
    return { where, session: read() }
  } catch (error) {
    if (error instanceof UnusableSession) return { where, problem: { reason: error.reason, detail: error.message } }
    throw error
  }
}
