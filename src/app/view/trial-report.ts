import { posix } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { TrialRecord } from '../../core/trial.ts'
import type { ViewFile, ViewStep } from '../../core/view.ts'
import { nearPath } from '../../lib/files.ts'
import { withoutColors } from '../../lib/visible.ts'
import type { JobDir } from '../../store/job-dir.ts'
import { openTrialStore } from '../../store/open-store.ts'
import { type TrialRow, trialRowOf } from '../jobs/trial-row.ts'
import { explainingLine } from './explaining-line.ts'
import { NotHere } from './library-job.ts'
import { type NextCommand, nextCommands } from './next-commands.ts'
import { testsOf } from './tests-of.ts'
import { listFiles, readWindow } from './trial-dir-files.ts'
import { Trajectories } from './view-steps.ts'
import { whyEnded } from './why-ended.ts'

/** Why a trial ended as it did, with the evidence. Texts from agents, tasks and tests are hostile. */
export interface TrialReport {
  readonly schema: 'trial-report/1'
  readonly job: string
  /** One sentence. */
  readonly why: string
  readonly trial: TrialRow
  /** What the agent did, turn by turn. */
  readonly turns: readonly Turn[]
  /** The end of the agent program's output, if no turns were recorded. */
  readonly agentOutput: OutputEnd | null
  readonly testOutput: OutputEnd | null
  readonly failedTests: readonly string[]
  /** The line of trial.log that best explains the failure. */
  readonly logLine: string | null
  /** The directory of the files; null while they are packed. */
  readonly dir: string | null
  /** Paths of files worth opening, relative to the directory. */
  readonly files: readonly string[]
  readonly next: readonly NextCommand[]
  readonly record: TrialRecord
}

export interface Turn {
  readonly number: number
  /** Its tool calls, or else its text. */
  readonly did: string
}

export interface OutputEnd {
  readonly file: string
  readonly lines: readonly string[]
}

/** Finds a finished trial by name, or by a unique prefix of its name, with everything that explains its end. */
export async function reportTrial(job: JobDir, asked: string): Promise<TrialReport> {
  const store = await openTrialStore(job.dir, job.layout)
  try {
    const record = await findTrial(store.records(), job.dir, asked)
    await using open = await store.open(record.name)
    return await reportFrom(job, record, open.dir)
  } finally {
    await store.close()
  }
}

async function findTrial(records: AsyncIterable<TrialRecord>, dir: string, asked: string): Promise<TrialRecord> {
  const similar: TrialRecord[] = []
  for await (const record of records) {
    if (record.name === asked) return record
    if (record.name.startsWith(asked)) similar.push(record)
  }
  const [only] = similar
  if (only && similar.length === 1) return only
  const names = similar.map(({ name }) => name).sort()
  const some = names.slice(0, 5).join(', ')
  throw similar.length > 1
    ? new UserError(
        `${dir} has ${names.length} trials that start with ${JSON.stringify(asked)}`,
        `choose one: ${some}${names.length > 5 ? ', ...' : ''}`,
      )
    : new UserError(
        `${dir} has no finished trial ${JSON.stringify(asked)}`,
        `ot-agent jobs show ${dir} lists its trials`,
      )
}

async function reportFrom(job: JobDir, record: TrialRecord, dir: string): Promise<TrialReport> {
  const files = inOrder((await listFiles(dir)).files, record)
  const tests = await testsOf(dir, files)
  const trajectories = files.filter(({ path }) => /(^|\/)agent\/trajectory\.jsonl?$/.test(path))
  const turns = await turnsOf(dir, trajectories)
  const printed = turns.length > 0 ? null : agentFile(files)
  const tested = files.findLast(({ path, bytes }) => bytes > 0 && /(^|\/)verifier\/test-stdout\.txt$/.test(path))
  const log = await endOf(dir, 'trial.log')
  return {
    schema: 'trial-report/1',
    job: job.dir,
    why: whyEnded(record, tests),
    trial: trialRowOf(record),
    turns,
    agentOutput: printed && (await endOf(dir, printed.path)),
    testOutput: tested ? await endOf(dir, tested.path) : null,
    failedTests: tests.flatMap(({ name, status }) => (status === 'failed' ? [name] : [])),
    logLine: log && explainingLine(record, log.lines),
    dir: job.layout === 'packed' ? null : dir,
    files: files.map(({ path }) => path).filter((path) => worthOpening.test(path)),
    next: nextCommands(record, nearPath(job.dir), trajectories.length > 0),
    record,
  }
}

const worthOpening =
  /^(trial\.log|exception\.txt)$|(^|\/)(agent\/(trajectory\.json|recording\.cast|[^/]+\.(txt|log))|verifier\/(test-stdout\.txt|ctrf\.json))$/

/** Sorts the files of steps in the order the steps ran, after those of the trial itself. */
function inOrder(files: readonly ViewFile[], { steps }: TrialRecord): ViewFile[] {
  const names = (steps ?? []).map(({ name }) => name)
  const place = ({ path }: ViewFile) => (path.startsWith('steps/') ? names.indexOf(path.split('/')[1] ?? '') : -2)
  return files.toSorted((a, b) => place(a) - place(b))
}

const pageSteps = 200
/** Only this many turns are read from the start of a longer trial. */
const mostTurns = 5000

async function turnsOf(dir: string, files: readonly ViewFile[]): Promise<Turn[]> {
  const reader = new Trajectories()
  const turns: Turn[] = []
  try {
    // A journal is what remains of an unfinished trajectory.
    for (const path of new Set(files.map((file) => file.path.replace(/l$/, ''))))
      for await (const step of stepsOf(reader, dir, path)) {
        if (step.source !== 'agent' || step.copied) continue
        turns.push({ number: turns.length + 1, did: didOf(step) })
        if (turns.length >= mostTurns) return turns
      }
    return turns
  } catch (error) {
    if (error instanceof NotHere) return turns
    throw error
  } finally {
    await reader.close()
  }
}

async function* stepsOf(reader: Trajectories, dir: string, path: string): AsyncIterable<ViewStep> {
  const seen = new Set<string>()
  for (let file: string | null = path; file !== null && !seen.has(file); ) {
    seen.add(file)
    let next: string | null = null
    for (let offset = 0; ; offset += pageSteps) {
      const { steps, continues } = await reader.read(dir, file, offset, pageSteps)
      yield* steps
      next = continues
      if (steps.length < pageSteps) break
    }
    file = next
  }
}

const longestTurn = 400

function didOf({ calls, message, reasoning }: ViewStep): string {
  const called = calls.map(({ name, text, keystrokes }) => (keystrokes ? text.text : `${name}: ${text.text}`))
  const text = [called.join(' ; '), message.text, reasoning?.text ?? ''].find((each) => each.trim() !== '') ?? ''
  const line = withoutColors(text).replace(/\s+/g, ' ').trim()
  return line.length <= longestTurn ? line : `${line.slice(0, longestTurn)} ...`
}

/** The output of an agent's program: its longest text file. */
function agentFile(files: readonly ViewFile[]): ViewFile | null {
  const texts = files.filter(({ path, bytes }) => bytes > 0 && /(^|\/)agent\/[^/]+\.(txt|log)$/.test(path))
  return texts.toSorted((a, b) => b.bytes - a.bytes)[0] ?? null
}

const endBytes = 64 << 10
const endLines = 200

/** The last lines of a file; null if there is none. */
async function endOf(dir: string, path: string): Promise<OutputEnd | null> {
  try {
    const { text, from } = await readWindow(dir, posix.normalize(path), -endBytes, endBytes)
    const lines = withoutColors(text).trimEnd().split('\n')
    // The first line may be incomplete.
    return { file: path, lines: (from > 0 ? lines.slice(1) : lines).slice(-endLines) }
  } catch (error) {
    if (error instanceof NotHere) return null
    throw error
  }
}
