import { readFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { JobDependency, JobType, LaunchJob } from '../../core/launch.ts'
import { readDocument } from '../../formats/harbor-job/read-document.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { buildSft, type SftRequest } from '../../formats/llamafactory/build-sft.ts'
import {
  parseTrainingFile,
  parseTrainingValue,
  type TrainingValues,
} from '../../formats/llamafactory/training-values.ts'
import { renderTrainingFacts, type TrainingFacts } from '../../formats/run-summary.ts'
import { exists } from '../../lib/files.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { configsOf, jobNameOf, launchDirOf, type PlanContext } from '../../run/launch/plan.ts'
import { type Download, planConsolidate, planDownload, planModelUpload, planSync } from '../../run/launch/plan-model.ts'
import { planTraining } from '../../run/launch/plan-training.ts'
import type { Settings } from '../../run/launch/settings.ts'
import type { PlannedJobs } from './datagen.ts'
import { dirOf, isHubName, localOf, offlineNotes } from './local-paths.ts'
import { type PreflightRequest, preflight } from './preflight.ts'
import { findTokens, tokenNotes } from './tokens.ts'
import { trainerFlags } from './trainer-flags.ts'
import { expectData, trainingData } from './training-data.ts'

/**
 * Turns settings into the jobs that train with LLaMA-Factory: downloads for offline nodes, tokenization, training,
 * consolidation.
 */
export async function trainingJobs(at: PlanContext, settings: Settings, jobType: JobType): Promise<PlannedJobs> {
  const jobName = jobNameOf(at.name, 'train')
  const { request, downloads, baseModel, notes, gpusPerNode, look } = await requestOf(at, settings, jobType, jobName)
  const tokenizes = jobType === 'pretokenize' || settings.is('pretokenize')
  const tokens = tokenizes ? await findTokens(at, dirOf(at, settings, 'tokenized_dir', 'tokenized'), request) : null
  const first =
    tokens && !(tokens.isThere && jobType !== 'pretokenize')
      ? buildSft({ ...request, jobName: `${jobName}_pretokenize`, pretokenize: tokens.draft })
      : null
  const train = jobType === 'pretokenize' ? null : buildSft({ ...request, ...(tokens && { tokenized: tokens.dir }) })
  const seen = settings.is('preflight') ? await preflight({ ...look, values: (train ?? first)?.values ?? {} }) : []
  const base = await baseOf(at, settings)
  const fetched = planDownload(at, [...downloads, ...base.downloads])
  const after = fetched.map(({ name }) => ({ job: name, when: 'ok' as const }))
  const shared = { image: settings.text('image') ?? null, spread: 'node' as const }
  const jobs = [...fetched]
  if (first)
    jobs.push(
      planTraining(at, {
        ...{ ...shared, name: 'pretokenize', summary: 'tokenize the dataset', command: first.command, env: first.env },
        ...{ nodes: 1, gpusPerNode: Math.min(1, gpusPerNode), after, summarize: null, ...(tokens && { once: tokens }) },
      }),
    )
  const files = { ...first?.files, ...train?.files }
  const offline = { dir: launchDirOf(at), isMovable: true, after: 'train' }
  const sync = train?.values.report_to === 'wandb' ? planSync(at, offline) : null
  if (train) {
    const outputDir = String(train.values.output_dir)
    const factsFile = `${jobName}_training_facts.json`
    files[factsFile] = renderTrainingFacts(factsOf(settings, request, baseModel, train.values))
    jobs.push(
      planTraining(at, {
        ...{ ...shared, name: 'train', summary: 'train', command: train.command, env: train.env },
        ...{ nodes: request.topology.nodes, gpusPerNode },
        after: first ? [{ job: 'pretokenize', when: 'ok' }] : after,
        summarize: { factsFile: join(request.configDir, factsFile), outputDir },
      }),
    )
    if (settings.has('consolidate_output_repo'))
      jobs.push(
        ...wholeModel(at, settings, { input: outputDir, base: base.dir, after: [{ job: 'train', when: 'ok' }] }),
      )
    jobs.push(...(sync?.jobs ?? []))
  }
  const named = Object.entries(files).map(([path, text]) => [`${configsOf(at)}/${path}`, text])
  return {
    jobs,
    files: Object.fromEntries(named),
    notes: [...offlineNotes(at), ...notes, ...seen, ...tokenNotes(tokens), ...(sync?.notes ?? [])],
  }
}

interface TrainingPlan {
  readonly request: SftRequest
  readonly downloads: readonly Download[]
  readonly baseModel: string
  /** 0 for training on CPUs. */
  readonly gpusPerNode: number
  readonly notes: readonly string[]
  /** What to inspect before anything is submitted. */
  readonly look: Pick<PreflightRequest, 'datasets' | 'model'>
}

async function requestOf(
  at: PlanContext,
  settings: Settings,
  jobType: JobType,
  jobName: string,
): Promise<TrainingPlan> {
  const presetFile = await presetOf(settings)
  const { dataset, eval_dataset, dataset_dir, ...values } = await readValues(presetFile)
  const overrides = overridesOf(settings, jobType)
  const data = await trainingData(at, settings, { path: presetFile, values: { dataset, eval_dataset, dataset_dir } })
  expectData(data, { ...values, ...overrides })
  const checkpoints = dirOf(at, settings, 'checkpoints_dir', 'checkpoints')
  // A relative path in the file is relative to the checkpoint directory, not to the working directory.
  const preset =
    typeof values.output_dir === 'string' ? { ...values, output_dir: resolve(checkpoints, values.output_dir) } : values
  const name = overrides.model_name_or_path ?? preset.model_name_or_path
  if (typeof name !== 'string' || name === '')
    throw new UserError(
      `${presetFile}: expected a model to train, got none`,
      'pass --base-model: a folder, or a repository on the Hub',
    )
  const model = await placeOf(at, settings, name)
  const gpusPerNode = (overrides.use_cpu ?? preset.use_cpu) === true ? 0 : gpusOf(at, settings)
  const request: SftRequest = {
    jobName,
    preset,
    presetFile,
    overrides: { ...overrides, ...(model.path !== name && { model_name_or_path: model.path }) },
    // Without GPUs there is still one process per node.
    topology: { nodes: settings.number('num_nodes') ?? 1, gpusPerNode: Math.max(1, gpusPerNode) },
    launcher: settings.text('train_launcher') === 'accelerate' ? 'accelerate' : 'torchrun',
    datasets: data.datasets,
    outputDir: join(checkpoints, jobName),
    configDir: join(at.experimentsDir, configsOf(at)),
    hubOwner: settings.text('job_creator') ?? null,
    internet: at.cluster.internetOnComputeNodes,
  }
  const downloads = [...(model.download ? [model.download] : []), ...data.downloads]
  const look = { datasets: data.datasets, model: { name, path: model.path } }
  return { request, downloads, baseModel: name, gpusPerNode, notes: data.notes, look }
}

/** A local model by path, or a Hub model as nodes will find it. */
async function placeOf(at: PlanContext, settings: Settings, name: string): Promise<ReturnType<typeof localOf>> {
  return (await exists(resolve(name))) ? { path: resolve(name), download: null } : localOf(at, settings, name, 'model')
}

/** Facts recorded about a run: the names as requested, not where nodes find them. */
function factsOf(
  settings: Settings,
  { jobName: modelName, datasets }: SftRequest,
  baseModel: string,
  values: TrainingValues,
): TrainingFacts {
  return {
    modelName,
    createdBy: settings.text('job_creator') ?? null,
    baseModel,
    datasets: settings.has('dataset')
      ? (settings.text('dataset') ?? '').split(',').filter((each) => each.trim() !== '')
      : datasets.filter(({ use }) => use === 'train').map(({ name }) => name),
    trainingType: 'SFT',
    parameters: values,
    ...(values.push_to_hub === true && { hubModel: String(values.hub_model_id) }),
  }
}

/** Turns settings into the job that consolidates a sharded checkpoint and publishes it. */
export async function consolidateJobs(at: PlanContext, settings: Settings): Promise<PlannedJobs> {
  const given = settings.required('consolidate_input', 'a directory of checkpoints, or a model of the Hub')
  const { dir, downloads } = await modelOf(at, settings, given)
  const base = await baseOf(at, settings)
  const fetched = planDownload(at, [...downloads, ...base.downloads])
  const after = fetched.map(({ name }) => ({ job: name, when: 'ok' as const }))
  return {
    jobs: [...fetched, ...wholeModel(at, settings, { input: dir, base: base.dir, after })],
    files: {},
    notes: offlineNotes(at),
  }
}

/** Where a local or Hub model is, or will be once it is downloaded. */
async function modelOf(at: PlanContext, settings: Settings, name: string, smallOnly = false) {
  if (!isHubName(name) || (await exists(name))) return { dir: resolve(name), downloads: [] }
  const dir = join(dirOf(at, settings, 'models_dir', 'models'), smallOnly ? `${name}.small` : name)
  return { dir, downloads: [{ repo: name, dir, type: 'model', smallOnly }] satisfies Download[] }
}

async function baseOf(at: PlanContext, settings: Settings) {
  const name = settings.text('consolidate_base_repo')
  return name === undefined ? { dir: null, downloads: [] } : modelOf(at, settings, name, true)
}

interface Consolidation {
  readonly input: string
  readonly base: string | null
  readonly after: readonly JobDependency[]
}

function wholeModel(at: PlanContext, settings: Settings, { input, base, after }: Consolidation): readonly LaunchJob[] {
  const out = join(
    resolve(settings.text('consolidate_workdir') ?? join(at.experimentsDir, 'consolidated')),
    basename(input),
  )
  const target = settings.text('consolidate_output_repo')
  const message = settings.text('consolidate_commit_message')
  const consolidate = planConsolidate(at, { input, out, base, after })
  const summaryFile = join(input, 'run_summary.json')
  return target === undefined
    ? [consolidate]
    : [consolidate, planModelUpload(at, { dir: out, target, message, after: 'consolidate', summaryFile })]
}

/** A preset by name, or a file (default: the preset qwen3-8b). */
async function presetOf(settings: Settings): Promise<string> {
  const asked = settings.text('train_config_path') ?? 'qwen3-8b'
  const shipped = join(packageRoot, 'configs/sft', `${asked}.yaml`)
  if (/^[\w.-]+$/.test(asked) && (await exists(shipped))) return shipped
  if (await exists(asked)) return resolve(asked)
  // Old command lines give the file's path in another source tree.
  const ours = join(packageRoot, 'configs/sft', basename(asked))
  if (await exists(ours)) return ours
  throw new UserError(
    `--train-config-path: expected a training file, found none at ${asked}`,
    'configs/sft has examples',
  )
}

/**
 * Reads a training file as its author meant it: a bare `no` is a string for keys that take strings, and false for keys
 * that take booleans.
 */
async function readValues(path: string): Promise<TrainingValues> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const values: unknown = path.endsWith('.json') ? readDocument(text, path, 'json') : parseTrainingFile(text, path)
  if (typeof values === 'object' && values !== null && !Array.isArray(values)) return { ...values }
  throw new UserError(`${path}: expected keys and values, got something else`, 'for example learning_rate: 4.0e-5')
}

/** The dedicated flags first, then whatever --train-extra-args says. */
function overridesOf(settings: Settings, jobType: JobType): TrainingValues {
  const given = trainerFlags.flatMap((name) => {
    const text = settings.text(name)
    return text === undefined ? [] : [[name === 'attn' ? 'flash_attn' : name, text] as const]
  })
  const model = settings.text('base_model') ?? settings.text('model_name_or_path')
  const template = settings.text('chat_template')
  const pairs = [
    ...given,
    ...(model === undefined ? [] : [['model_name_or_path', model] as const]),
    ...(template === undefined ? [] : [['template', template] as const]),
    ...(jobType === 'sft_mca' ? [['use_mca', 'true'] as const] : []),
    ...pairsOf(settings.words('train_extra_args')),
  ]
  return Object.fromEntries(pairs.map(([key, text]) => [key, parseTrainingValue(key, text, `--${key}`)]))
}

/** Accepts both `--learning_rate 1e-5 --packing` and `learning_rate=1e-5`. */
function pairsOf(words: readonly string[]): (readonly [string, string])[] {
  const isTaken = (i: number) => i >= 0 && /^--[\w-]+$/.test(words[i] ?? '')
  return words.flatMap((word, i) => {
    const [, name = '', value] = /^(?:--)?([\w-]+)(?:=(.*))?$/s.exec(word) ?? []
    // Whatever follows a flag is its value.
    if (!word.startsWith('--') && (value === undefined || isTaken(i - 1))) return []
    const next = words[i + 1]
    const taken = value ?? (next === undefined || next.startsWith('--') ? 'true' : next)
    return [[name.replaceAll('-', '_'), taken] as const]
  })
}

/** GPUs per node of a training run. */
export function gpusOf({ cluster }: PlanContext, settings: Settings): number {
  if (cluster.gpusPerNode === 0)
    throw new UserError(
      `cluster ${cluster.name}: expected GPUs to train on, it has none`,
      'choose another with --cluster, or train a small student with --trainer small',
    )
  const asked = settings.number('num_gpus') ?? cluster.gpusPerNode
  if (asked >= 1 && asked <= cluster.gpusPerNode) return asked
  throw new UserError(
    `--num-gpus: expected 1 to ${cluster.gpusPerNode} on ${cluster.name}, got ${asked}`,
    'GPUs of each node; pass --num-nodes for more nodes',
  )
}
