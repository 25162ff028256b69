import { readFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { JobType } from '../../core/launch.ts'
import { readDocument } from '../../formats/harbor-job/read-config.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { buildSft, type SftRequest } from '../../formats/llamafactory/build-sft.ts'
import { parseTrainingValue, type TrainingValues } from '../../formats/llamafactory/training-values.ts'
import { exists } from '../../lib/files.ts'
import { runProgram } from '../../run/launch/pieces.ts'
import { cpuResources, jobNameOf, makeJob, type PlanContext } from '../../run/launch/plan.ts'
import { planTraining } from '../../run/launch/plan-training.ts'
import type { Settings } from '../../run/launch/settings.ts'
import { packageRoot } from '../package-root.ts'
import type { PlannedJobs } from './datagen.ts'
import { trainingArguments } from './flags.ts'

/** Turns settings into the jobs that train with LLaMA-Factory: tokenizing first where that is asked for. */
export async function trainingJobs(at: PlanContext, settings: Settings, jobType: JobType): Promise<PlannedJobs> {
  const jobName = jobNameOf(at.name, 'train')
  const presetFile = await presetOf(settings)
  const overrides = overridesOf(settings, jobType)
  const tokenizedDir = join(settings.text('tokenized_dir') ?? join(at.experimentsDir, 'tokenized'), jobName)
  const datasets = (settings.text('dataset') ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
  const base: SftRequest = {
    jobName,
    preset: await readValues(presetFile),
    presetFile,
    overrides,
    topology: { nodes: settings.number('num_nodes') ?? 1, gpusPerNode: gpusOf(at, settings) },
    launcher: 'torchrun',
    datasets: datasets.map((each) => localDataset(at, settings, each)),
    outputDir: join(settings.text('checkpoints_dir') ?? join(at.experimentsDir, 'checkpoints'), jobName),
    configDir: join(at.experimentsDir, 'configs'),
    internet: at.cluster.internetOnComputeNodes,
  }
  const tokenizes = jobType === 'pretokenize' || settings.is('pretokenize')
  const first = tokenizes ? buildSft({ ...base, jobName: `${jobName}_pretokenize`, pretokenize: tokenizedDir }) : null
  const train = jobType === 'pretokenize' ? null : buildSft({ ...base, ...(tokenizes && { tokenized: tokenizedDir }) })
  const image = settings.text('image') ?? null
  const shared = { image, spread: 'node' as const }
  const jobs = [
    ...(first
      ? [
          planTraining(at, {
            ...shared,
            name: 'pretokenize',
            summary: 'tokenize the dataset',
            command: first.command,
            env: first.env,
            nodes: 1,
            gpusPerNode: Math.min(1, at.cluster.gpusPerNode),
            after: [],
          }),
        ]
      : []),
    ...(train
      ? [
          planTraining(at, {
            ...shared,
            name: 'train',
            summary: 'train',
            command: train.command,
            env: train.env,
            ...base.topology,
            after: first ? [{ job: 'pretokenize', when: 'ok' }] : [],
          }),
        ]
      : []),
  ]
  const files = Object.entries({ ...first?.files, ...train?.files }).map(([path, text]) => [`configs/${path}`, text])
  return { jobs, files: Object.fromEntries(files), notes: offlineNotes(at, settings) }
}

/** Turns settings into the job that puts a sharded checkpoint together, and publishes it. */
export async function consolidateJobs(at: PlanContext, settings: Settings): Promise<PlannedJobs> {
  const input = resolve(settings.required('consolidate_input', 'a directory of checkpoints'))
  const out = join(
    resolve(settings.text('consolidate_workdir') ?? join(at.experimentsDir, 'consolidated')),
    basename(input),
  )
  const repo = settings.text('consolidate_output_repo')
  const message = settings.text('consolidate_commit_message')
  const small = `find ${quote(input)} -maxdepth 1 -type f \\( -name '*.json' -o -name '*.jsonl' -o -name '*.jinja' -o -name '*.txt' -o -name '*.model' \\) ! -name '*.index.json' -exec cp -n {} ${quote(out)} \\;`
  const consolidate = makeJob(at, {
    name: 'consolidate',
    summary: 'one model of many shards',
    resources: { ...cpuResources(at, at.cluster.cpusPerNode, at.cluster.memoryPerNodeGb ?? 128) },
    foreign: true,
    pieces: [
      { about: 'where it goes', lines: [`mkdir -p ${quote(out)}`] },
      runProgram('one model of many shards', [
        'python',
        `${input}/zero_to_fp32.py`,
        input,
        out,
        '--safe_serialization',
      ]),
      { about: 'the small files beside the weights', lines: [small] },
    ],
  })
  const upload = (target: string) =>
    makeJob(at, {
      name: 'upload',
      summary: `publish to ${target}`,
      resources: cpuResources(at, 4, 16),
      after: [{ job: 'consolidate', when: 'ok' }],
      foreign: true,
      pieces: [
        runProgram('publish', [
          'huggingface-cli',
          'upload',
          target,
          out,
          ...(message === undefined ? [] : ['--commit-message', message]),
        ]),
      ],
    })
  return {
    jobs: [consolidate, ...(repo === undefined ? [] : [upload(repo)])],
    files: {},
    notes: offlineNotes(at, settings),
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** A preset by its name, or a file; without one, the smallest preset. */
async function presetOf(settings: Settings): Promise<string> {
  const asked = settings.text('train_config_path') ?? 'qwen3-8b'
  const shipped = join(packageRoot, 'configs/sft', `${asked}.yaml`)
  if (/^[\w.-]+$/.test(asked) && (await exists(shipped))) return shipped
  if (await exists(asked)) return resolve(asked)
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

function gpusOf({ cluster }: PlanContext, settings: Settings): number {
  const asked = settings.number('num_gpus') ?? cluster.gpusPerNode
  if (asked >= 1 && asked <= cluster.gpusPerNode) return asked
  throw new UserError(
    `--num-gpus: expected 1 to ${cluster.gpusPerNode} on ${cluster.name}, got ${asked}`,
    'name a cluster with GPUs',
  )
}

/** On nodes without internet a dataset must lie where jobs can read it. */
function localDataset({ cluster }: PlanContext, settings: Settings, dataset: string): string {
  const dir = settings.text('datasets_dir')
  const isHub = /^[\w.-]+\/[\w.-]+$/.test(dataset)
  return isHub && !cluster.internetOnComputeNodes && dir !== undefined ? `${dir}/${basename(dataset)}` : dataset
}

export function offlineNotes({ cluster }: PlanContext, settings: Settings): string[] {
  if (cluster.internetOnComputeNodes) return []
  const models = settings.text('models_dir') ?? 'a directory that nodes can read'
  const datasets = settings.text('datasets_dir') ?? 'a directory that nodes can read'
  return [
    `compute nodes of ${cluster.name} have no internet: download the model to ${models} and datasets to ${datasets} from a login node first`,
    'nothing is reported or uploaded from there; ot-agent hub upload does that from a login node',
  ]
}
