import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { parseTrainingFacts, renderRunSummary, runsIn, type TrainerRun } from '../../formats/run-summary.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import { utcNow } from '../../lib/time.ts'

/** What a trainer writes about itself is not longer. */
const maxBytes = 256 * 1024 * 1024

/** How a trainer ran, as its job saw it. */
export interface EndedTraining {
  /** What the launcher wrote down about the run. */
  readonly factsFile: string
  readonly outputDir: string
  readonly startedAt: string
  readonly exitCode: number
  /** Why it was told to stop. */
  readonly reason?: string | undefined
}

/** Writes run_summary.json beside what a trainer left; a restarted one adds to it. */
export async function writeRunSummary(ended: EndedTraining): Promise<{ readonly path: string; readonly runs: number }> {
  const { factsFile, outputDir } = ended
  const facts = parseTrainingFacts(await orUserError(factsFile, () => readFile(factsFile, 'utf8')), factsFile)
  const path = join(resolve(outputDir), 'run_summary.json')
  const run: TrainerRun = {
    start: ended.startedAt,
    end: utcNow(),
    exit_code: ended.exitCode,
    reason: ended.reason || null,
    job_id: process.env.SLURM_JOB_ID ?? null,
  }
  const runs = [...runsIn(await readTextIfExists(path)), run]
  const [state, results] = await Promise.all(
    ['trainer_state.json', 'all_results.json'].map((name) => readFileJson(join(outputDir, name))),
  )
  await writeAtomic(path, renderRunSummary(facts, runs, { state, results }))
  return { path, runs: runs.length }
}

/** What is missing, broken or endless tells nothing. */
async function readFileJson(path: string): Promise<unknown> {
  try {
    return (await stat(path)).size > maxBytes ? null : readJson(await readFile(path, 'utf8'))
  } catch {
    return null
  }
}
