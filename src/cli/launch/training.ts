import { readFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { JobDependency, JobType, LaunchJob } from '../../core/launch.ts'
import { readDocument } from '../../formats/harbor-job/read-config.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { buildSft, type SftRequest } from '../../formats/llamafactory/build-sft.ts'
import { parseTrainingValue, type TrainingValues } from '../../formats/llamafactory/training-values.ts'
import { renderTrainingFacts, type TrainingFacts } from '../../formats/run-summary.ts'
import { exists } from '../../lib/files.ts'
import { configsOf, jobNameOf, type PlanContext } from '../../run/launch/plan.ts'
import { type Download, planConsolidate, planDownload, planModelUpload } from '../../run/launch/plan-model.ts'
import { planTraining } from '../../run/launch/plan-training.ts'
import type { Settings } from '../../run/launch/settings.ts'
import { packageRoot } from '../package-root.ts'
import type { PlannedJobs } from './datagen.ts'
import { trainingArguments } from './flags.ts'
import { dirOf, isHubName, localOf, offlineNotes } from './local-paths.ts'

/** Turns settings into the jobs that train with LLaMA-Factory: what nodes cannot fetch first, then tokens, training, one model. */
export async function trainingJobs(at: PlanContext, settings: Settings, jobType: JobType): Promise<PlannedJobs> {
  const jobName = jobNameOf(at.name, 'train')
  const { request, downloads, baseModel } = await requestOf(at, settings, jobType, jobName)
  const tokenizedDir = join(dirOf(at, settings, 'tokenized_dir', 'tokenized'), jobName)
  const tokenizes = jobType === 'pretokenize' || settings.is('pretokenize')
  const first = tokenizes
    ? buildSft({ ...request, jobName: `${jobName}_pretokenize`, pretokenize: tokenizedDir })
    : null
  const train =
    jobType === 'pretokenize' ? null : buildSft({ ...request, ...(tokenizes && { tokenized: tokenizedDir }) })
  const base = await baseOf(at, settings)
  const fetched = planDownload(at, [...downloads, ...base.downloads])
  const after = fetched.map(({ name }) => ({ job: name, when: 'ok' as const }))
  const shared = { image: settings.text('image') ?? null, spread: 'node' as const }
  const jobs = [...fetched]
  if (first)
    jobs.push(
      planTraining(at, {
        ...{ ...shared, name: 'pretokenize', summary: 'tokenize the dataset', command: first.command, env: first.env },
        ...{ nodes: 1, gpusPerNode: Math.min(1, at.cluster.gpusPerNode), after, summarize: null },
      }),
    )
  const files = { ...first?.files, ...train?.files }
  if (train) {
    const outputDir = String(train.values.output_dir)
    const factsFile = `${jobName}_training_facts.json`
    files[factsFile] = renderTrainingFacts(factsOf(settings, jobName, baseModel, train.values))
    jobs.push(
      planTraining(at, {
        ...{ ...shared, name: 'train', summary: 'train', command: train.command, env: train.env, ...request.topology },
        after: first ? [{ job: 'pretokenize', when: 'ok' }] : after,
        summarize: { factsFile: join(request.configDir, factsFile), outputDir },
      }),
    )
    if (settings.has('consolidate_output_repo'))
      jobs.push(...wholeModel(at, settings, outputDir, base.dir, [{ job: 'train', when: 'ok' }]))
  }
  const named = Object.entries(files).map(([path, text]) => [`${configsOf(at)}/${path}`, text])
  return { jobs, files: Object.fromEntries(named), notes: offlineNotes(at) }
}

async function requestOf(
  at: PlanContext,
  settings: Settings,
  jobType: JobType,
  jobName: string,
): Promise<{ request: SftRequest; downloads: readonly Download[]; baseModel: string | null }> {
  const presetFile = await presetOf(settings)
  const preset = await readValues(presetFile)
  const overrides = overridesOf(settings, jobType)
  const asked = (settings.text('dataset') ?? '').split(',').map((each) => each.trim())
  const datasets = asked.filter((each) => each !== '').map((each) => localOf(at, settings, each, 'dataset'))
  const name = overrides.model_name_or_path ?? preset.model_name_or_path
  const model = typeof name === 'string' ? localOf(at, settings, name, 'model') : null
  const request: SftRequest = {
    jobName,
    preset,
    presetFile,
    overrides: { ...overrides, ...(model && model.path !== name && { model_name_or_path: model.path }) },
    topology: { nodes: settings.number('num_nodes') ?? 1, gpusPerNode: gpusOf(at, settings) },
    launcher: 'torchrun',
    datasets: datasets.map(({ path }) => path),
    outputDir: join(dirOf(at, settings, 'checkpoints_dir', 'checkpoints'), jobName),
    configDir: join(at.experimentsDir, configsOf(at)),
    internet: at.cluster.internetOnComputeNodes,
  }
  const downloads = [model, ...datasets].map((each) => each?.download ?? null).filter((each) => each !== null)
  return { request, downloads, baseModel: typeof name === 'string' ? name : null }
}

/** What is written down of a run: the names that were asked for, not where nodes find them. */
function factsOf(
  settings: Settings,
  modelName: string,
  baseModel: string | null,
  values: TrainingValues,
): TrainingFacts {
  return {
    modelName,
    createdBy: settings.text('job_creator') ?? 'DCAgent',
    baseModel,
    datasets: (settings.text('dataset') ?? '').split(',').filter((each) => each.trim() !== ''),
    trainingType: 'SFT',
    parameters: values,
  }
}

/** Turns settings into the job that puts a sharded checkpoint together, and publishes it. */
export async function consolidateJobs(at: PlanContext, settings: Settings): Promise<PlannedJobs> {
  const given = settings.required('consolidate_input', 'a directory of checkpoints, or a model of the Hub')
  const { dir, downloads } = await modelOf(at, settings, given)
  const base = await baseOf(at, settings)
  const fetched = planDownload(at, [...downloads, ...base.downloads])
  const after = fetched.map(({ name }) => ({ job: name, when: 'ok' as const }))
  return { jobs: [...fetched, ...wholeModel(at, settings, dir, base.dir, after)], files: {}, notes: offlineNotes(at) }
}

/** A model on disk, or of the Hub: where it lies, or will once it is fetched. */
async function modelOf(at: PlanContext, settings: Settings, name: string, smallOnly = false) {
  if (!isHubName(name) || (await exists(name))) return { dir: resolve(name), downloads: [] }
  const dir = join(dirOf(at, settings, 'models_dir', 'models'), smallOnly ? `${name}.small` : name)
  return { dir, downloads: [{ repo: name, dir, type: 'model', smallOnly }] satisfies Download[] }
}

async function baseOf(at: PlanContext, settings: Settings) {
  const name = settings.text('consolidate_base_repo')
  return name === undefined ? { dir: null, downloads: [] } : modelOf(at, settings, name, true)
}

function wholeModel(
  at: PlanContext,
  settings: Settings,
  input: string,
  base: string | null,
  after: readonly JobDependency[],
): readonly LaunchJob[] {
  const out = join(
    resolve(settings.text('consolidate_workdir') ?? join(at.experimentsDir, 'consolidated')),
    basename(input),
  )
  const target = settings.text('consolidate_output_repo')
  const message = settings.text('consolidate_commit_message')
  const consolidate = planConsolidate(at, { input, out, base, after })
  return target === undefined
    ? [consolidate]
    : [consolidate, planModelUpload(at, { dir: out, target, message, after: 'consolidate' })]
}

/** A preset by its name, or a file; without one, the smallest preset. */
async function presetOf(settings: Settings): Promise<string> {
  const asked = settings.text('train_config_path') ?? 'qwen3-8b'
  const shipped = join(packageRoot, 'configs/sft', `${asked}.yaml`)
  if (/^[\w.-]+$/.test(asked) && (await exists(shipped))) return shipped
  if (await exists(asked)) return resolve(asked)
  // Old command lines name the file by a path of another tree.
  const ours = join(packageRoot, 'configs/sft', basename(asked))
  if (await exists(ours)) return ours
  throw new UserError(
    `--train-config-path: expected a training file, found none at ${asked}`,
    'configs/sft has some to start from',
  )
}

async function readValues(path: string): Promise<TrainingValues> {
  const document = readDocument(
    await orUserError(path, () => readFile(path, 'utf8')),
    path,
    path.endsWith('.json') ? 'json' : 'yaml',
  )
  return { ...Object(document) }
}

/** Flags of their own first, then whatever --train-extra-args says. */
function overridesOf(settings: Settings, jobType: JobType): TrainingValues {
  const given = trainingArguments
    .filter((name) => name !== 'dataset')
    .flatMap((name) => {
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

/** `--learning_rate 1e-5 --packing` and `learning_rate=1e-5` alike. */
function pairsOf(words: readonly string[]): (readonly [string, string])[] {
  return words.flatMap((word, i) => {
    const [, name = '', value] = /^(?:--)?([\w-]+)(?:=(.*))?$/s.exec(word) ?? []
    if (!word.startsWith('--') && value === undefined) return []
    const next = words[i + 1]
    const taken = value ?? (next === undefined || next.startsWith('--') ? 'true' : next)
    return [[name.replaceAll('-', '_'), taken] as const]
  })
}

/** GPUs of each node of a training. */
export function gpusOf({ cluster }: PlanContext, settings: Settings): number {
  const asked = settings.number('num_gpus') ?? cluster.gpusPerNode
  if (asked >= 1 && asked <= cluster.gpusPerNode) return asked
  throw new UserError(
    `--num-gpus: expected 1 to ${cluster.gpusPerNode} on ${cluster.name}, got ${asked}`,
    'name a cluster with GPUs',
  )
}
