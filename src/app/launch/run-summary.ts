import { readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { orUserError } from '../../formats/harbor-task/read.ts'
import {
  parseTrainingFacts,
  renderRunSummary,
  runsIn,
  type TrainerRun,
  type TrainingFacts,
  wandbLinkIn,
} from '../../formats/run-summary.ts'
import { parseWandbFolder, type WandbRun, wandbLink } from '../../formats/wandb-run.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import { utcNow } from '../../lib/time.ts'

/** A trainer's own log is never longer. */
const maxBytes = 256 * 1024 * 1024

/** How a trainer ran, as seen by its job. */
export interface EndedTraining {
  /** The file in which the launcher recorded facts about the run. */
  readonly factsFile: string
  readonly outputDir: string
  readonly startedAt: string
  readonly exitCode: number
  /** Why it was asked to stop. */
  readonly reason?: string | undefined
}

/** Writes run_summary.json next to the trainer's output; a restart adds to it. */
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
  const before = await readTextIfExists(path)
  const runs = [...runsIn(before), run]
  const [state, results] = await Promise.all(
    ['trainer_state.json', 'all_results.json'].map((name) => readFileJson(join(outputDir, name))),
  )
  const { link, offlineDir } = await findWandbRun(facts, ended.startedAt, process.env)
  const wandb = { link: link ?? wandbLinkIn(before), offlineDir }
  await writeAtomic(path, renderRunSummary(facts, runs, { state, results, outputDir: resolve(outputDir), wandb }))
  return { path, runs: runs.length }
}

/** The newest run recorded by Weights & Biases in `WANDB_DIR` since the trainer started. */
async function findWandbRun(facts: TrainingFacts, startedAt: string, env: NodeJS.ProcessEnv): Promise<WandbRun> {
  const dir = join(env.WANDB_DIR || '.', 'wandb')
  const found = []
  // Unreadable directories are skipped: the summary is written in any case.
  for (const name of await readdir(dir).catch(() => [])) {
    const folder = parseWandbFolder(name)
    const place = join(dir, name)
    const changed = folder && (await stat(place).catch(() => null))
    if (folder && changed && changed.mtimeMs >= Date.parse(startedAt)) found.push({ ...folder, place })
  }
  const newest = found.sort((a, b) => (a.stamp < b.stamp ? -1 : 1)).at(-1)
  if (newest === undefined) return { link: null, offlineDir: null }
  if (newest.isOffline) return { link: null, offlineDir: resolve(newest.place) }
  return { link: wandbLink(newest.id, projectOf(facts, env), env), offlineDir: null }
}

/** SkyRL's settings name its project; LLaMA-Factory uses the environment variable. */
function projectOf({ trainingType, parameters }: TrainingFacts, env: NodeJS.ProcessEnv): string {
  if (trainingType === 'SFT') return env.WANDB_PROJECT || 'huggingface'
  const settings: readonly unknown[] = Array.isArray(parameters.settings) ? parameters.settings : []
  const named = settings.findLast((each) => String(each).startsWith('trainer.project_name='))
  return named === undefined ? 'skyrl' : String(named).replace(/^[^=]*=['"]?(.*?)['"]?$/s, '$1')
}

/** Missing, broken or oversized files count as empty. */
async function readFileJson(path: string): Promise<unknown> {
  try {
    return (await stat(path)).size > maxBytes ? null : readJson(await readFile(path, 'utf8'))
  } catch {
    return null
  }
}
