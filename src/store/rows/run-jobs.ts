import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { exchangesName } from '../../core/task-paths.ts'
import type { TrialRecord } from '../../core/trial.ts'
import type { SqlSession } from '../../core/whole-set.ts'
import { headBytes, RunCollector, type Runs } from '../../formats/traces/run-facts.ts'
import { isMissing } from '../../lib/files.ts'
import { loadJobDir } from '../job-dir.ts'
import { openForReading, type ReadableStore } from '../trial-files.ts'

/** Yields the trials of the jobs below a recipe's run, by the names of job and trial. */
export async function* trialsBelow(
  runDir: string,
  wanted: ReadonlyMap<string, ReadonlySet<string>>,
  signal: AbortSignal,
): AsyncGenerator<{ readonly job: string; readonly record: TrialRecord; readonly store: ReadableStore }> {
  for (const dir of await jobDirsBelow(runDir)) {
    const { name, layout } = await loadJobDir(dir)
    const trials = wanted.get(name)
    if (!trials) continue
    const store = await openForReading(dir, layout)
    try {
      const records: TrialRecord[] = []
      for await (const record of store.records()) {
        signal.throwIfAborted()
        if (trials.has(record.name)) records.push(record)
      }
      for (const record of records) yield { job: name, record, store }
    } finally {
      await store.close()
    }
  }
}

/** How the trials behind some rows were run, as far as their jobs are below the run. */
export async function runsOfRows(sql: SqlSession, view: string, runDir: string, signal: AbortSignal): Promise<Runs> {
  const wanted = new Map<string, Set<string>>()
  for (const { job, trial_name } of await sql.rows(`SELECT DISTINCT job, trial_name FROM ${view}`))
    wanted.set(String(job), (wanted.get(String(job)) ?? new Set()).add(String(trial_name)))
  const runs = new RunCollector()
  const limitOf = (folder: string, name: string) => (folder === 'agent' && name === exchangesName ? headBytes : null)
  for await (const { job, record, store } of trialsBelow(runDir, wanted, signal))
    runs.add(job, record, await store.readFiles(record.name, limitOf))
  return runs.runs()
}

/** The jobs of a recipe's run: every stage that rolls out keeps its own in a folder. */
export async function jobDirsBelow(runDir: string): Promise<string[]> {
  const work = join(runDir, 'work')
  const stages = await namesIn(work)
  const jobs = await Promise.all(
    stages.map(async (stage) =>
      (await namesIn(join(work, stage, 'jobs'))).map((job) => join(work, stage, 'jobs', job)),
    ),
  )
  return jobs.flat()
}

async function namesIn(dir: string): Promise<string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
