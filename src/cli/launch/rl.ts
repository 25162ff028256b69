import { readFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { LaunchJob } from '../../core/launch.ts'
import { readDocument } from '../../formats/harbor-job/read-config.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { buildRl, rlPresetSchema } from '../../formats/skyrl/build-rl.ts'
import { parseOverride } from '../../formats/skyrl/overrides.ts'
import { exists } from '../../lib/files.ts'
import { runOurs, runProgram } from '../../run/launch/pieces.ts'
import { cpuResources, jobNameOf, makeJob, type PlanContext } from '../../run/launch/plan.ts'
import { planTraining } from '../../run/launch/plan-training.ts'
import type { Settings } from '../../run/launch/settings.ts'
import { packageRoot } from '../package-root.ts'
import type { PlannedJobs } from './datagen.ts'
import { offlineNotes } from './training.ts'

/** Turns settings into the jobs of reinforcement learning: fetch tasks, train, publish. */
export async function rlJobs(at: PlanContext, settings: Settings): Promise<PlannedJobs> {
  const jobName = jobNameOf(settings.text('final_model_name') ?? at.name, 'rl')
  const train = settings.words('train_data').map((each) => placeOf(at, each))
  const val = settings.words('val_data').map((each) => placeOf(at, each))
  if (train.length === 0)
    throw new UserError('expected --train-data, got none', 'a folder of tasks, a parquet file of tasks, or org/name')
  const presetFile = await presetOf(settings)
  const text = await orUserError(presetFile, () => readFile(presetFile, 'utf8'))
  const parsed = rlPresetSchema.safeParse(readDocument(text, presetFile, 'yaml'))
  if (!parsed.success)
    throw new UserError(
      `${presetFile}: ${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}`,
      'configs/rl has some to start from',
    )
  const entrypoint = settings.text('skyrl_entrypoint')
  const nodes = settings.number('num_nodes') ?? 1
  const gpusPerNode = settings.number('num_gpus') ?? at.cluster.gpusPerNode
  if (gpusPerNode < 1)
    throw new UserError(
      `--num-gpus: expected at least 1 on ${at.cluster.name}, got ${gpusPerNode}`,
      'name a cluster with GPUs',
    )
  const outputDir = join(settings.text('checkpoints_dir') ?? join(at.experimentsDir, 'checkpoints'), jobName)
  const plan = buildRl({
    jobName,
    preset: { ...parsed.data, ...(entrypoint !== undefined && { entrypoint }) },
    presetFile,
    trainData: train.map(({ dir }) => dir),
    valData: val.map(({ dir }) => dir),
    modelPath: settings.required('model_path', 'the model to begin with, for example Qwen/Qwen3-8B'),
    overrides: settings.words('skyrl').map((each) => parseOverride(each, '-S')),
    topology: { nodes, gpusPerNode },
    outputDir,
    configDir: join(at.experimentsDir, 'configs'),
    internet: at.cluster.internetOnComputeNodes,
  })
  const fetches = [...train, ...val].filter(({ words }) => words !== null)
  const jobs: LaunchJob[] = []
  if (fetches.length > 0)
    jobs.push(
      makeJob(at, {
        name: 'data',
        summary: 'unpack the tasks',
        resources: cpuResources(at, 4, 16),
        pieces: fetches.map(({ words, dir }) => runOurs(`the tasks of ${basename(dir)}`, words ?? [])),
      }),
    )
  jobs.push(
    planTraining(at, {
      name: 'train',
      summary: 'train by reinforcement',
      command: plan.command,
      env: plan.env,
      nodes,
      gpusPerNode,
      after: fetches.length > 0 ? [{ job: 'data', when: 'ok' }] : [],
      image: settings.text('image') ?? null,
      spread: 'ray',
    }),
  )
  const repo = settings.text('hf_repo_name')
  if (settings.is('enable_hf_upload') || repo !== undefined)
    jobs.push(planUpload(at, outputDir, repo ?? `${settings.text('job_creator')}/${jobName}`))
  const files = Object.entries(plan.files).map(([path, content]) => [`configs/${path}`, content])
  return { jobs, files: Object.fromEntries(files), notes: offlineNotes(at, settings) }
}

/** The newest export of the policy, after training ended well: no login shell has to stay open for it. */
function planUpload(at: PlanContext, outputDir: string, repo: string): LaunchJob {
  const newest = `newest="$(find '${outputDir.replaceAll("'", "'\\''")}/exports' -maxdepth 1 -type d -name 'global_step_*' | sort -V | tail -n 1)"`
  return makeJob(at, {
    name: 'upload',
    summary: `publish to ${repo}`,
    resources: cpuResources(at, 4, 16),
    after: [{ job: 'train', when: 'ok' }],
    foreign: true,
    pieces: [
      {
        about: 'the newest export',
        lines: [newest, `if [ -z "$newest" ]; then note 'no export is there'; exit 66; fi`],
      },
      runProgram('publish', ['huggingface-cli', 'upload', repo, { raw: '"$newest/policy"' }]),
    ],
  })
}

/** Where tasks will lie, and how they get there: a folder is there, a parquet file is unpacked, a dataset is downloaded. */
function placeOf(
  { experimentsDir }: PlanContext,
  data: string,
): { readonly dir: string; readonly words: string[] | null } {
  const dir = join(experimentsDir, 'tasks_extracted', basename(data).replace(/\.parquet$/, ''))
  if (data.endsWith('.parquet'))
    return { dir, words: ['tasks', 'unpack', resolve(data), '--out', dir, '--on-exist', 'skip'] }
  if (/^[\w.-]+\/[\w.-]+$/.test(data) && !data.startsWith('.'))
    return { dir, words: ['hub', 'download', data, '--tasks', '--out', dir, '--overwrite'] }
  return { dir: resolve(data), words: null }
}

async function presetOf(settings: Settings): Promise<string> {
  const asked = settings.text('rl_config') ?? 'harbor'
  const shipped = join(packageRoot, 'configs/rl', `${asked}.yaml`)
  if (/^[\w.-]+$/.test(asked) && (await exists(shipped))) return shipped
  if (await exists(asked)) return resolve(asked)
  throw new UserError(`--rl-config: expected a file, found none at ${asked}`, 'configs/rl has some to start from')
}
