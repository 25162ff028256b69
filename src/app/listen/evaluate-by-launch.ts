import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { exists, isMissing } from '../../lib/files.ts'
import { listLaunches as launchIds, loadLaunch } from '../../run/launch/journal.ts'
import { listJobs } from '../../store/job-dir.ts'
import { readLaunch } from '../launch/read-launch.ts'
import { launch } from '../launch.ts'
import { cancelLaunch, type LaunchStatus, launchStatus, listLaunches, watchLaunch } from '../launches.ts'
import { type Evaluation, evaluationName, oldEvaluationName } from '../registry/evaluate-by-command.ts'
import type { Evaluate } from '../registry/listen.ts'
import { loadVllmFile } from '../serve/run-vllm.ts'

export interface LaunchedRequest {
  /** A settings file for `ot-agent launch`. The model, launch type and directory are filled in. */
  readonly file: string
  /** Each model gets its own directory of launches in here. */
  readonly experimentsDir: string
  /** How often a launch is polled (default 15). */
  readonly everySec?: number | undefined
  readonly notify: (line: string) => void
}

/**
 * Evaluates models through launches of type eval. A launch left running by a killed listener is followed, not repeated;
 * when a listener stops, its launch is cancelled along with its server.
 */
export function evaluateByLaunch({ file, experimentsDir, everySec = 15, notify }: LaunchedRequest): Evaluate {
  return async ({ model, benchmark, signal }) => {
    const dir = await launchesOf(experimentsDir, { benchmark, model })
    const out = join(dir, 'outputs/eval')
    signal.throwIfAborted()
    const left = await runningLaunch(dir)
    if (left !== null) notify(`${model}: following launch ${left}, which another listener left running`)
    const id = left ?? (await submit({ file, model, dir, out }, notify))
    const query = { launch: id, experimentsDir: dir }
    let status: LaunchStatus
    try {
      status = await watchLaunch({ ...query, everySec }, { signal })
    } catch (error) {
      // An unreachable scheduler is no reason to stop its jobs: the next attempt follows the launch.
      if (signal.aborted) await cancelLaunch(query)
      throw error
    }
    const bad = status.jobs.find(({ state }) => state !== 'done')
    if (bad) throw new Error(`launch ${id}: the job ${bad.job} is ${bad.state}: ${bad.reason}`)
    const { jobs } = await listJobs(out)
    const [job] = jobs
    if (job === undefined || jobs.length > 1) throw new Error(`expected one job in ${out}, found ${jobs.length}`)
    return { jobDir: job.dir }
  }
}

/** The directory for a model's launches; the old-style one if everything in it was launched for exactly this model. */
export async function launchesOf(experimentsDir: string, evaluation: Evaluation): Promise<string> {
  const dir = resolve(experimentsDir, evaluationName(evaluation))
  const old = resolve(experimentsDir, oldEvaluationName(evaluation))
  if (await exists(dir)) return dir
  const ids = await launchIds(old).catch(() => [])
  const launches = await Promise.all(ids.map((id) => loadLaunch(old, id).catch(() => null)))
  const models = launches.map((each) => each?.settings.find(({ name }) => name === 'eval_model')?.value)
  return models.length > 0 && models.every((each) => each === evaluation.model) ? old : dir
}

/** The newest launch in a directory, if any of it is still waiting or running. */
async function runningLaunch(experimentsDir: string): Promise<string | null> {
  const { launches } = await listLaunches({ experimentsDir }).catch((error) => {
    if (isMissing(error)) return { launches: [] }
    throw error
  })
  const id = launches.at(-1)?.id
  if (id === undefined) return null
  return (await launchStatus({ launch: id, experimentsDir })).over ? null : id
}

interface ModelToLaunch {
  readonly file: string
  readonly model: string
  readonly dir: string
  readonly out: string
}

async function submit({ file, model, dir, out }: ModelToLaunch, notify: (line: string) => void): Promise<string> {
  const { settings } = await readLaunch({ config: file })
  const type = settings.text('job_type')
  if (type !== undefined && type !== 'eval')
    throw new UserError(`${file}: job_type: expected eval, got ${type}`, 'remove it')
  // A file of its own for the engine names some model; the server has to load this one.
  const engine = settings.text('datagen_config')
  const hasServer = engine !== undefined && (await loadVllmFile(engine)) !== null
  const set = hasServer
    ? [...settings.words('set'), `vllm_server.model_path=${model}`, `vllm_server.custom_model_name=${model}`]
    : settings.words('set')
  const asked = { config: file, jobType: 'eval', evalModel: model, experimentsDir: dir, evalOutputDir: out } as const
  const launched = launch({ ...asked, ...(set.length > 0 && { set }) })
  for await (const event of launched) if (event.kind === 'note') notify(`${model}: ${event.text}`)
  const { id } = await launched
  notify(`${model}: launch ${id} in ${dir}`)
  return id
}
