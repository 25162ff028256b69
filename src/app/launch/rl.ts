import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { LaunchJob } from '../../core/launch.ts'
import { readDocument } from '../../formats/harbor-job/read-document.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { renderTrainingFacts } from '../../formats/run-summary.ts'
import { buildRl, type RlPreset, type RlRequest, rlPresetSchema, trainBatchSize } from '../../formats/skyrl/build-rl.ts'
import { parseOverride } from '../../formats/skyrl/overrides.ts'
import { openTaskRows } from '../../formats/task-parquet/read-rows.ts'
import { exists } from '../../lib/files.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { shellQuote } from '../../lib/shell.ts'
import { runOurs } from '../../run/launch/pieces.ts'
import {
  configsOf,
  cpuResources,
  jobNameOf,
  makeJob,
  type PlanContext,
  placeWithInternet,
} from '../../run/launch/plan.ts'
import { planDownload, planModelUpload, planSync } from '../../run/launch/plan-model.ts'
import { planTraining } from '../../run/launch/plan-training.ts'
import { knownSecrets } from '../../run/launch/secrets.ts'
import type { Settings } from '../../run/launch/settings.ts'
import type { PlannedJobs } from './datagen.ts'
import { dirOf, isHubName, localOf, offlineNotes, tasksPlace } from './local-paths.ts'
import { gpusOf } from './training.ts'

/** Turns settings into the jobs of reinforcement learning: fetch tasks and the model, train, publish. */
export async function rlJobs(at: PlanContext, settings: Settings): Promise<PlannedJobs> {
  const jobName = jobNameOf(settings.text('final_model_name') ?? at.name, 'rl')
  const outputDir = join(dirOf(at, settings, 'checkpoints_dir', 'checkpoints'), jobName)
  const { request, fetches, downloads } = await requestOf(at, settings, jobName, outputDir)
  const plan = buildRl(request)
  const downloaded = planDownload(at, downloads)
  const data = planData(at, fetches, downloaded)
  const before = [...downloaded, ...data]
  const factsFile = `${jobName}_training_facts.json`
  const train = planTraining(at, {
    ...{ name: 'train', summary: 'train by reinforcement', command: plan.command, env: plan.env, ...request.topology },
    after: before.slice(-1).map(({ name }) => ({ job: name, when: 'ok' })),
    image: settings.text('image') ?? null,
    spread: 'ray',
    summarize: { factsFile: join(at.experimentsDir, configsOf(at), factsFile), outputDir },
  })
  const target = targetOf(settings, jobName)
  const facts = renderTrainingFacts({
    modelName: jobName,
    createdBy: settings.text('job_creator') ?? null,
    baseModel: settings.text('model_path') ?? null,
    datasets: settings.words('train_data'),
    trainingType: 'RL',
    parameters: { entrypoint: request.preset.entrypoint, settings: plan.command.slice(3) },
  })
  const isReported = plan.command.includes('trainer.logger=wandb')
  const sync = isReported ? planSync(at, { dir: outputDir, isMovable: false, after: 'train' }) : null
  return {
    jobs: [...before, train, ...(target === null ? [] : [planUpload(at, outputDir, target)]), ...(sync?.jobs ?? [])],
    files: { [`${configsOf(at)}/${factsFile}`]: facts },
    notes: [...offlineNotes(at), ...(sync?.notes ?? [])],
  }
}

/** Where to upload the trained model; null keeps it here. */
function targetOf(settings: Settings, jobName: string): string | null {
  const uploads = settings.is('enable_hf_upload')
  const [repo, creator] = [settings.text('hf_repo_name'), settings.text('job_creator')]
  if (repo !== undefined || !uploads) return repo ?? null
  if (creator !== undefined) return `${creator}/${jobName}`
  throw new UserError(
    '--enable-hf-upload: expected where to upload the model to, got nothing',
    'pass the repository with --hf-repo-name org/name, or its owner with --job-creator',
  )
}

async function requestOf(at: PlanContext, settings: Settings, jobName: string, outputDir: string) {
  const train = settings.words('train_data').map((each) => placeOf(at, each))
  const val = settings.words('val_data').map((each) => placeOf(at, each))
  if (train.length === 0)
    throw new UserError(
      'expected --train-data, got none',
      'pass a folder of tasks, a parquet file of tasks, or org/name',
    )
  const model = settings.required('model_path', 'the model to start from, for example Qwen/Qwen3-8B')
  const local = localOf(at, settings, model, 'model')
  const presetFile = await presetOf(settings)
  const preset = await readPreset(presetFile)
  const entrypoint = settings.text('skyrl_entrypoint')
  const request: RlRequest = {
    jobName,
    preset: { ...preset, ...(entrypoint !== undefined && { entrypoint }) },
    presetFile,
    trainData: train.map(({ dir }) => dir),
    valData: val.map(({ dir }) => dir),
    modelPath: local.path,
    overrides: settings.words('skyrl').map((each) => parseOverride(each, '-S')),
    topology: { nodes: settings.number('num_nodes') ?? 1, gpusPerNode: gpusOf(at, settings) },
    outputDir,
    internet: at.cluster.internetOnComputeNodes,
    hasWandbKey: (await knownSecrets(process.env, at.secretsFile)).has('WANDB_API_KEY'),
  }
  await refuseFewTasks(request, train)
  return { request, fetches: [...train, ...val], downloads: local.download ? [local.download] : [] }
}

/** Refuses a batch larger than the set of tasks: SkyRL would exit right away, possibly after hours in a queue. */
async function refuseFewTasks(request: RlRequest, places: readonly TasksPlace[]): Promise<void> {
  const batch = trainBatchSize(request)
  const counts = await Promise.all(places.map(({ source }) => countTasks(source)))
  const known = counts.filter((count) => count !== null)
  const tasks = known.reduce((sum, count) => sum + count, 0)
  // Tasks elsewhere are counted by SkyRL itself.
  if (batch === null || known.length < counts.length || tasks >= batch) return
  throw new UserError(
    `--train-data: expected at least ${batch} tasks, one batch of ${basename(request.presetFile)}, got ${tasks}`,
    `add tasks, or use smaller batches: -S trainer.train_batch_size=${Math.max(1, tasks)} -S trainer.policy_mini_batch_size=${Math.max(1, tasks)}`,
  )
}

/** How many tasks a local folder or parquet file has; null if it is not here. */
async function countTasks(source: string): Promise<number | null> {
  const found = await stat(source).catch(() => null)
  if (found?.isFile()) {
    await using tasks = await openTaskRows(source)
    return tasks.rows
  }
  if (!found?.isDirectory()) return null
  const folders = (await readdir(source, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  const tasks = await Promise.all(folders.map(({ name }) => exists(join(source, name, 'instruction.md'))))
  return tasks.filter(Boolean).length || Number(await exists(join(source, 'instruction.md')))
}

async function readPreset(file: string): Promise<RlPreset> {
  const text = await orUserError(file, () => readFile(file, 'utf8'))
  const parsed = rlPresetSchema.safeParse(readDocument(text, file, 'yaml'))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UserError(`${file}: ${issue?.path.join('.')}: ${issue?.message}`, 'configs/rl has examples')
}

/** Plans the job that brings tasks to where training finds them; none if they are all there. */
function planData(at: PlanContext, places: readonly TasksPlace[], before: readonly LaunchJob[]): readonly LaunchJob[] {
  const fetches = places.filter(({ words }) => words !== null)
  if (fetches.length === 0) return []
  return [
    makeJob(at, {
      name: 'data',
      summary: 'unpack the tasks',
      place: fetches.some(({ words }) => words?.[0] === 'hub') ? placeWithInternet(at) : null,
      resources: cpuResources(at, 4, 16),
      after: before.map(({ name }) => ({ job: name, when: 'ok' })),
      pieces: fetches.map(({ words, dir }) => runOurs(`the tasks of ${basename(dir)}`, words ?? [])),
    }),
  ]
}

/** Plans the upload of the policy's newest export, after training has succeeded. */
function planUpload(at: PlanContext, outputDir: string, target: string): LaunchJob {
  const find = `newest="$(find ${shellQuote(`${outputDir}/exports`)} -maxdepth 1 -type d -name 'global_step_*' | sort -V | tail -n 1)"`
  const lines = [find, `if [ -z "$newest" ]; then note 'no export is there'; exit 66; fi`]
  const dir = { raw: '"$newest/policy"' }
  return planModelUpload(at, {
    ...{ dir, target, after: 'train', before: [{ about: 'the newest export', lines }] },
    summaryFile: join(outputDir, 'run_summary.json'),
  })
}

interface TasksPlace {
  /** The source as the user gave it. */
  readonly source: string
  readonly dir: string
  /** The command arguments that bring them there; null if they already are. */
  readonly words: string[] | null
}

/**
 * Where tasks will be and how they get there: a folder is used as is, a parquet file is unpacked, a dataset is
 * downloaded.
 */
function placeOf(at: PlanContext, data: string): TasksPlace {
  const isFile = data.endsWith('.parquet')
  const dir = tasksPlace(at, basename(data, '.parquet'), isFile ? resolve(data) : data)
  if (isFile)
    return { source: data, dir, words: ['tasks', 'unpack', resolve(data), '--out', dir, '--on-exist', 'skip'] }
  if (isHubName(data))
    return { source: data, dir, words: ['hub', 'download', data, '--tasks', '--out', dir, '--overwrite'] }
  return { source: data, dir: resolve(data), words: null }
}

async function presetOf(settings: Settings): Promise<string> {
  const asked = settings.text('rl_config') ?? 'harbor'
  const shipped = join(packageRoot, 'configs/rl', `${asked}.yaml`)
  if (/^[\w.-]+$/.test(asked) && (await exists(shipped))) return shipped
  if (await exists(asked)) return resolve(asked)
  throw new UserError(`--rl-config: expected a file, found none at ${asked}`, 'configs/rl has examples')
}
