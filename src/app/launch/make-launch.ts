import { resolve } from 'node:path'
import type { Cluster } from '../../core/cluster.ts'
import { UserError } from '../../core/errors.ts'
import { type JobType, jobTypes, type Launch, type LaunchJob } from '../../core/launch.ts'
import { secondsOf } from '../../lib/time-limit.ts'
import { jobNameOf, type PlanContext, slug } from '../../run/launch/plan.ts'
import { planRecipe } from '../../run/launch/plan-recipe.ts'
import { flagOf, type Settings } from '../../run/launch/settings.ts'
import { isUndivided, planSteps } from '../../run/recipe/steps.ts'
import { loadRecipe } from '../recipe/load-recipe.ts'
import { ownClustersDir } from './clusters.ts'
import { datagenJobs, type PlannedJobs } from './datagen.ts'
import { evalJobs } from './evaluation.ts'
import { rlJobs } from './rl.ts'
import { smallTrainingJobs } from './small-training.ts'
import { consolidateJobs, trainingJobs } from './training.ts'

/** What a launch depends on besides its settings. */
export interface LaunchPlace {
  readonly cluster: Cluster
  /** Tells launches with the same name apart. */
  readonly stamp: string
  readonly cwd: string
  readonly program: readonly string[]
  readonly secretsFile: string | null
}

/** Plans a launch: reads files it names, writes nothing. */
export async function makeLaunch(
  settings: Settings,
  place: LaunchPlace,
): Promise<{ launch: Launch; notes: readonly string[] }> {
  const jobType = jobTypeOf(settings)
  const name = settings.text('job_name') ?? nameOf(jobType, settings)
  const cluster = adjusted(place.cluster, settings)
  const at: PlanContext = {
    cluster,
    launchId: `${jobNameOf(name, '').replace(/_job$/, '').slice(0, 60)}-${place.stamp}`,
    experimentsDir: resolve(settings.text('experiments_dir') ?? 'experiments'),
    cwd: place.cwd,
    name,
    program: place.program,
    secretsFile: place.secretsFile === null ? null : resolve(place.secretsFile),
    timeLimit: settings.text('time_limit') ?? cluster.timeLimit,
    restarts: restartsOf(settings),
    stopSec: settings.number('stop_sec') ?? 120,
    variables: {},
  }
  checkTime(at)
  const { jobs, files, notes } = await jobsOf(jobType, at, settings)
  checkNodes(jobs, cluster)
  const missing = missingAccount(cluster)
  if (missing && !settings.is('dry_run')) throw missing
  const launch: Launch = {
    id: at.launchId,
    jobType,
    cluster,
    experimentsDir: at.experimentsDir,
    // Jobs on the login node run before anything is submitted.
    jobs: [...jobs.filter(({ place: at }) => at === 'login'), ...jobs.filter(({ place: at }) => at !== 'login')],
    files,
    dependency: settings.text('dependency') ?? null,
  }
  const more = [...(missing ? [missing.message] : []), ...arrayNotes(jobs), ...uselessNotes(jobType, settings)]
  return { launch, notes: [...notes, ...more] }
}

/** Upper limit on restarts: each is a job that waits for the previous one. */
const mostRestarts = 1000

function restartsOf(settings: Settings): number {
  const asked = settings.number('max_restarts') ?? 0
  if (asked <= mostRestarts) return asked
  throw new UserError(`--max-restarts: expected at most ${mostRestarts}, got ${asked}`, 'ask for fewer')
}

/** Slurm's default limit on array size. */
const usualArray = 1000

/** Warns if the scheduler may refuse an array because of its size. */
function arrayNotes(jobs: readonly LaunchJob[]): readonly string[] {
  return jobs
    .filter(({ array }) => array !== null && array.size > usualArray)
    .map(
      ({ name, array }) =>
        `${name}: an array of ${array?.size} tasks; Slurm takes ${usualArray} unless its MaxArraySize is larger, so you may need larger parts`,
    )
}

/** Settings that are read before or after a launch is planned. */
const readElsewhere = new Set(['config', 'cluster', 'name', 'dry_run', 'explain', 'json'])

/** Names settings that were given but have no effect on this launch. */
function uselessNotes(jobType: JobType, settings: Settings): readonly string[] {
  const useless = settings
    .unread()
    .filter(({ name, origin }) => /^(flag|file)/.test(origin) && !readElsewhere.has(name))
    .map(({ name }) => flagOf(name))
  return useless.length === 0 ? [] : [`${useless.join(', ')}: has no effect in this ${jobType} launch`]
}

async function jobsOf(jobType: JobType, at: PlanContext, settings: Settings): Promise<PlannedJobs> {
  if (jobType === 'datagen') return datagenJobs(at, settings)
  if (jobType === 'recipe') return recipeJobs(at, settings)
  if (jobType === 'consolidate') return consolidateJobs(at, settings)
  if (jobType === 'rl') return rlJobs(at, settings)
  if (jobType === 'eval') return evalJobs(at, settings)
  if (settings.text('trainer') === 'small') return smallTrainingJobs(at, settings, jobType)
  return trainingJobs(at, settings, jobType)
}

function jobTypeOf(settings: Settings): JobType {
  const given = settings.required('job_type', `one of ${jobTypes.join(', ')}`)
  const asked = given === 'train' ? 'sft' : given
  const type = asked === 'sft' && settings.is('use_mca') ? 'sft_mca' : asked
  const known = jobTypes.find((each) => each === type)
  if (!known) throw new UserError(`--job-type: unknown ${JSON.stringify(given)}`, `one of ${jobTypes.join(', ')}`)
  return known
}

/** Builds a name such as `datagen_vllm_local_tasks`: purpose, model, target. */
function nameOf(jobType: JobType, settings: Settings): string {
  const parts: Readonly<Record<JobType, readonly string[]>> = {
    datagen: ['datagen_engine', 'datagen_target_repo', 'trace_target_repo'],
    recipe: ['recipe'],
    sft: ['dataset', 'base_model', 'model_name_or_path', 'train_config_path'],
    sft_mca: ['dataset', 'base_model', 'model_name_or_path', 'train_config_path'],
    pretokenize: ['dataset', 'train_config_path'],
    consolidate: ['consolidate_input'],
    rl: ['model_path', 'train_data'],
    eval: ['eval_model', 'eval_benchmark'],
  }
  const last = (text: string) =>
    slug(
      text
        .split('/')
        .at(-1)
        ?.replace(/\.(ya?ml|json|ts)$/, '') ?? text,
    )
  const given = parts[jobType].map((name) => settings.text(name)).filter((text) => text !== undefined)
  return [jobType, ...given.map(last)].join('_')
}

/** The cluster with overridden values; a cluster's own values are a layer of the settings. */
function adjusted(cluster: Cluster, settings: Settings): Cluster {
  return {
    ...cluster,
    account: settings.text('account'),
    partition: settings.text('partition'),
    qos: settings.text('qos'),
    gpusPerNode: settings.number('gpus_per_node') ?? cluster.gpusPerNode,
    cpusPerNode: settings.number('cpus_per_node') ?? cluster.cpusPerNode,
    memoryPerNodeGb: settings.number('mem_per_node_gb') ?? cluster.memoryPerNodeGb,
    internetOnComputeNodes: settings.get('internet_node')?.value !== false,
    excludeNodes: settings.words('exclude_nodes'),
    // A setting for a place applies to all jobs there.
    internetJobs: cluster.internetJobs && {
      ...cluster.internetJobs,
      account: saidOf(settings, 'account') ?? cluster.internetJobs.account,
    },
    cpuJobs: cluster.cpuJobs && {
      account: saidOf(settings, 'account') ?? cluster.cpuJobs.account,
      partition: saidOf(settings, 'partition') ?? cluster.cpuJobs.partition,
      qos: saidOf(settings, 'qos') ?? cluster.cpuJobs.qos,
    },
  }
}

function saidOf(settings: Settings, name: string): string | undefined {
  return settings.get(name)?.origin.startsWith('cluster') ? undefined : settings.text(name)
}

/** The settings that a cluster provides. */
export function clusterSettings(cluster: Cluster): Readonly<Record<string, unknown>> {
  return {
    account: cluster.account,
    partition: cluster.partition,
    qos: cluster.qos,
    gpus_per_node: cluster.gpusPerNode,
    cpus_per_node: cluster.cpusPerNode,
    mem_per_node_gb: cluster.memoryPerNodeGb,
    gpus_type: cluster.gpuType,
    total_partition_nodes: cluster.nodes,
    internet_node: cluster.internetOnComputeNodes,
    time_limit: cluster.timeLimit,
    exclude_nodes: cluster.excludeNodes.length === 0 ? undefined : cluster.excludeNodes,
    checkpoints_dir: cluster.directories.checkpoints,
    models_dir: cluster.directories.models,
    datasets_dir: cluster.directories.datasets,
    tokenized_dir: cluster.directories.tokenized,
  }
}

/**
 * The error for a missing account. A dry run only reports it, because scripts can be inspected before the account is
 * known.
 */
function missingAccount({ name, account, accountRequired }: Cluster): UserError | null {
  if (!accountRequired || account !== undefined) return null
  return new UserError(
    `${name}: expected an account to charge, got none`,
    `pass --account NAME, or put a copy of the cluster file with \`account: NAME\` into ${ownClustersDir()}`,
  )
}

function checkNodes(jobs: readonly LaunchJob[], { name, nodes }: Cluster): void {
  const large = jobs.find(({ resources, place }) => place === null && resources.nodes > nodes)
  if (!large) return
  throw new UserError(
    `job ${large.name} asks for ${large.resources.nodes} nodes, but ${name} has ${nodes}`,
    'ask for fewer GPUs or nodes, or choose a larger cluster with --cluster',
  )
}

function checkTime({ timeLimit, cluster: { name, maxTimeLimit } }: PlanContext): void {
  if (maxTimeLimit !== undefined && secondsOf(timeLimit) > secondsOf(maxTimeLimit))
    throw new UserError(
      `--time-limit: expected at most ${maxTimeLimit} on ${name}, got ${timeLimit}`,
      'lower it, and let --max-restarts resume the job',
    )
}

/** Turns settings into the jobs that run a recipe, with array tasks sharing its shards. */
async function recipeJobs(at: PlanContext, settings: Settings): Promise<PlannedJobs> {
  const file = resolve(settings.required('recipe', 'for example --recipe recipes/demo.ts'))
  const shards = settings.number('shards') ?? 1
  if (shards < 1)
    throw new UserError(
      `--shards: expected at least 1, got ${shards}`,
      'it is the number of processes that share the recipe',
    )
  const extra = settings.words('recipe_extra_args')
  const { stages } = await loadRecipe(file, { set: valuesOf(extra, '--set') })
  const jobs = planRecipe(at, {
    file,
    extra,
    out: resolve(settings.text('recipe_output_dir') ?? `${at.experimentsDir}/outputs/recipe`),
    shards,
    throttle: settings.number('array_max') ?? shards,
    steps: planSteps(stages).map((step) => ({ id: step.id, undivided: isUndivided(step) })),
  })
  return { jobs, files: {}, notes: [] }
}

function valuesOf(words: readonly string[], flag: string): string[] {
  return words.flatMap((word, i) =>
    word.startsWith(`${flag}=`) ? [word.slice(flag.length + 1)] : words[i - 1] === flag ? [word] : [],
  )
}
