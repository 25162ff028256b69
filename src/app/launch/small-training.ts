import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { JobType } from '../../core/launch.ts'
import { renderTrainingFacts } from '../../formats/run-summary.ts'
import { kindAt } from '../../lib/files.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { configsOf, jobNameOf, type PlanContext } from '../../run/launch/plan.ts'
import { planTraining } from '../../run/launch/plan-training.ts'
import type { Settings } from '../../run/launch/settings.ts'
import type { PlannedJobs } from './datagen.ts'
import { dirOf } from './local-paths.ts'

/** LLaMA-Factory arguments that this trainer has under another name. */
const sameMeaning = {
  learning_rate: '--lr',
  num_train_epochs: '--epochs',
  max_steps: '--steps',
  cutoff_len: '--context',
  seed: '--seed',
} as const

/** Turns settings into the job that trains a small student with trainers/small, on one node. */
export async function smallTrainingJobs(at: PlanContext, settings: Settings, jobType: JobType): Promise<PlannedJobs> {
  if (jobType !== 'sft')
    throw new UserError(`--trainer small: expected --job-type sft, got ${jobType}`, 'use --job-type sft')
  if ((settings.number('num_nodes') ?? 1) !== 1)
    throw new UserError('--trainer small: expected one node', 'remove --num-nodes, or train with LLaMA-Factory')
  const data = await dataOf(settings)
  const jobName = jobNameOf(at.name, 'train')
  const outputDir = join(dirOf(at, settings, 'checkpoints_dir', 'checkpoints'), jobName)
  const base = settings.text('base_model') ?? settings.text('model_name_or_path')
  const onProcessors = settings.is('use_cpu') || at.cluster.gpusPerNode === 0
  const flags = [
    ...data.flatMap((path) => ['--data', path]),
    ...['--out', outputDir],
    ...(base === undefined ? [] : ['--init', resolve(base)]),
    ...Object.entries(sameMeaning).flatMap(([name, flag]) => {
      const value = settings.text(name)
      return value === undefined ? [] : [flag, value]
    }),
    ...(onProcessors ? ['--device', 'cpu'] : []),
    ...settings.words('train_extra_args'),
  ]
  const factsFile = `${configsOf(at)}/${jobName}_training_facts.json`
  const facts = renderTrainingFacts({
    ...{
      modelName: jobName,
      createdBy: settings.text('job_creator') ?? null,
      baseModel: base ?? 'random weights',
    },
    ...{ datasets: data, trainingType: 'SFT', parameters: { trainer: 'small', arguments: flags.join(' ') } },
  })
  const job = planTraining(at, {
    ...{ name: 'train', summary: 'train a small student', env: {}, nodes: 1, after: [], spread: 'node' },
    command: ['python3', join(packageRoot, 'trainers/small/train.py'), ...flags],
    gpusPerNode: onProcessors ? 0 : 1,
    image: settings.text('image') ?? null,
    summarize: { factsFile: join(at.experimentsDir, factsFile), outputDir },
  })
  return { jobs: [job], files: { [factsFile]: facts }, notes: [`the student will be in ${outputDir}`] }
}

/** The JSON-lines folders and files on this machine. */
async function dataOf(settings: Settings): Promise<string[]> {
  const given = (settings.text('dataset') ?? '').split(',').map((each) => each.trim().replace(/^file:/, ''))
  const paths = given.filter((each) => each !== '').map((each) => resolve(each))
  if (paths.length === 0)
    throw new UserError(
      '--dataset: expected a dataset to train on, got none',
      'pass a folder that a recipe wrote, or a .jsonl file',
    )
  if (settings.is('dry_run') || settings.has('dependency')) return paths
  for (const path of paths)
    if ((await kindAt(path)) === 'none')
      throw new UserError(
        `--dataset: expected a dataset, found nothing at ${path}`,
        '--trainer small reads folders and .jsonl files of this machine',
      )
  return paths
}
