import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { TrialRecord } from '../core/trial.ts'
import { isMissing } from '../lib/files.ts'
import { readLines } from '../lib/lines.ts'
import { readFinishedTrial } from './harbor-layout.ts'
import type { Layout } from './job-dir.ts'
import { isHead, parseIndexLine, recordTextIn } from './packed/index-line.ts'
import { parseTrialRecord } from './trial-record.ts'

/** A trial that ended, or one whose record was retracted. */
export type RecordNews =
  | { readonly kind: 'record'; readonly record: TrialRecord }
  | { readonly kind: 'forget'; readonly trial: string }

/** Follows the records of a job while it runs, reading each once. Changes nothing on disk. */
export interface RecordFollower {
  /** Everything new since the last call, in the order found. */
  next(): AsyncIterable<RecordNews>
  /** Names of trials that have a directory but no record yet, as of the last call of `next`. */
  unfinished(): readonly string[]
  /** The directory of an unfinished trial. */
  dirOf(trial: string): string
}

/** Starts from the beginning of a job. */
export function followRecords(jobDir: string, layout: Layout): RecordFollower {
  return layout === 'packed' ? followPacked(jobDir) : followDirs(jobDir)
}

const readAtOnce = 32

function followDirs(jobDir: string): RecordFollower {
  const seen = new Set<string>()
  let open: string[] = []
  return {
    async *next() {
      const names = (await directoriesIn(jobDir)).filter((name) => !seen.has(name))
      open = []
      for (let i = 0; i < names.length; i += readAtOnce) {
        const chunk = names.slice(i, i + readAtOnce)
        const records = await Promise.all(chunk.map((name) => readFinishedTrial(join(jobDir, name))))
        for (const [at, name] of chunk.entries()) {
          const record = records[at]
          // An untrusted result may claim a name other than its directory's.
          if (record) seen.add(name)
          else open.push(name)
          if (record) yield { kind: 'record', record: { ...record, name } }
        }
      }
    },
    unfinished: () => open,
    dirOf: (trial) => join(jobDir, trial),
  }
}

function followPacked(jobDir: string): RecordFollower {
  const path = join(jobDir, 'packed', 'index.jsonl')
  const work = join(jobDir, '.work')
  let at = 0
  let open: string[] = []
  return {
    async *next() {
      for await (const line of linesIfAny(path, at)) {
        if (!line.whole) break
        const parsed = line.at === 0 ? null : parseIndexLine(line.bytes)
        // A torn line was cut off by a crash or is still being written.
        if (line.at === 0 ? !isHead(line.text) : parsed === null) break
        at = line.end
        if (parsed?.kind === 'forget') yield { kind: 'forget', trial: parsed.trial }
        const record = parsed?.kind === 'trial' ? parseTrialRecord(recordTextIn(line.bytes)) : null
        if (record && parsed) yield { kind: 'record', record: { ...record, name: parsed.trial } }
      }
      open = await directoriesIn(work)
    },
    unfinished: () => open,
    dirOf: (trial) => join(work, trial),
  }
}

async function* linesIfAny(path: string, start: number): ReturnType<typeof readLines> {
  try {
    const { size } = await stat(path)
    if (size > start) yield* readLines(path, start)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

async function directoriesIn(dir: string): Promise<string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true })
    return entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'packed')
      .map((entry) => entry.name)
      .sort()
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
