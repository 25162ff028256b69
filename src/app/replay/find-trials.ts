import { dirname, join, resolve } from 'node:path'
import type { TaskRow } from '../../core/row.ts'
import { runFinder } from '../../formats/traces/run-facts.ts'
import { SqlDatabase } from '../../lib/duckdb.ts'
import { exists } from '../../lib/files.ts'
import { makeRandom } from '../../lib/random.ts'
import { tasksByDigest } from '../../run/recipe/lineage.ts'
import { readReport } from '../../run/recipe/read-report.ts'
import { findStep } from '../../store/rows/step-dir.ts'
import { datasetFiles, manifestOf, readDatasetRows } from './dataset-rows.ts'
import type { FoundTrial } from './found-trial.ts'
import { type Choose, trialsOfJobs } from './from-job.ts'
import { type RowsAt, trialsOfRows } from './from-rows.ts'

export interface Sample {
  /** Null: all. */
  readonly rows: number | null
  readonly seed: number
}

/** Recorded trials, and where a recipe has packed their tasks. */
export interface FoundTrials {
  readonly trials: readonly FoundTrial[]
  readonly packed?: ((digests: readonly string[]) => Promise<ReadonlyMap<string, TaskRow>>) | undefined
}

/** The trials of a dataset or jobs, or a sample of them. */
export async function findTrials(
  path: string,
  sample: Sample,
  { settingsOf, signal }: Pick<RowsAt, 'settingsOf' | 'signal'>,
): Promise<FoundTrials> {
  const files = await datasetFiles(path)
  const runDir = await runDirAbove(path)
  const packed = runDir === null ? undefined : (digests: readonly string[]) => tasksOfRun(runDir, digests)
  const choose = chooser(sample)
  if (files.length === 0) return { trials: await trialsOfJobs(path, choose, signal), packed }
  const manifest = await manifestOf(files)
  const rows = await readDatasetRows(files, choose)
  const at = { runDir, settingsOf, signal, runOf: runFinder(manifest) }
  return { trials: await trialsOfRows(rows, at), packed }
}

/** Picks whole trials at random, in their original order, until there are enough rows; the same seed picks the same. */
function chooser({ rows, seed }: Sample): Choose {
  return (all, sizeOf = () => 1) => {
    if (rows === null) return all
    let missing = rows
    const chosen = new Set<(typeof all)[number]>()
    for (const one of makeRandom(seed, 'replay').shuffle(all)) {
      if (missing <= 0) break
      chosen.add(one)
      missing -= sizeOf(one)
    }
    return all.filter((one) => chosen.has(one))
  }
}

/** The directory of the recipe run that contains a dataset or job: `RUN/out/STAGE` or `RUN/work/STAGE/jobs/JOB`. */
async function runDirAbove(path: string): Promise<string | null> {
  for (let [dir, ups] = [resolve(path), 0]; ups < 5 && dir !== '/'; ups++, dir = dirname(dir))
    if ((await exists(join(dir, 'stages'))) && (await exists(join(dir, 'lock.json')))) return dir
  return null
}

async function tasksOfRun(runDir: string, digests: readonly string[]): Promise<ReadonlyMap<string, TaskRow>> {
  const report = await readReport(runDir)
  await using sql = await SqlDatabase.open({ memoryMb: 512, threads: 2, tempDir: join(runDir, 'tmp') })
  const steps = await Promise.all(report.steps.map((step) => findStep(join(runDir, step.dir))))
  // Await here, because the database is closed on return.
  return await tasksByDigest(
    sql,
    steps.filter((step) => step !== null),
    digests,
  )
}
