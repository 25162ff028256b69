import { z } from 'zod'
import { renderYaml } from '../../../lib/render-yaml.ts'
import type { WrittenFile } from './files.ts'
import { messagesColumn, type Spelling } from './trace-columns.ts'

/** Training settings besides the data; the defaults are those of the published recipe for an 8B model. */
export const trainingOptions = z.strictObject({
  model: z.string().min(1).default('Qwen/Qwen3-8B'),
  template: z.string().min(1).default('qwen3_nothink'),
  cutoffTokens: z.int().positive().default(32_768),
  epochs: z.number().positive().default(7),
  learningRate: z.number().positive().default(4e-5),
  maxGradNorm: z.number().positive().default(1),
  batch: z.int().positive().default(96).describe('Rows a step, over all devices.'),
  devices: z.int().positive().default(8),
})

export type TrainingOptions = z.output<typeof trainingOptions>

const roles = {
  role_tag: 'role',
  content_tag: 'content',
  user_tag: 'user',
  assistant_tag: 'assistant',
  observation_tag: 'tool',
  function_tag: 'function_call',
  system_tag: 'system',
}

const tags: Readonly<Record<Spelling, object>> = {
  sharegpt: {
    role_tag: 'from',
    content_tag: 'value',
    user_tag: 'human',
    assistant_tag: 'gpt',
    observation_tag: 'observation',
    function_tag: 'function_call',
    system_tag: 'system',
  },
  messages: roles,
  'prompt-completion': roles,
}

/** What a trainer must know about all rows of a dataset. */
export interface Trained {
  /** Only the last message of each row is to be trained on. */
  readonly lastOnly: boolean
  readonly hasTools: boolean
}

/** `dataset_info.json`: one entry per file, with the tags used in its rows. */
export function renderDatasetInfo(
  files: readonly WrittenFile[],
  spelling: Spelling,
  { hasTools }: Pick<Trained, 'hasTools'>,
): string {
  const columns = { messages: messagesColumn[spelling], ...(hasTools && { tools: 'tools' }) }
  const entries = files.map(({ path }) => [
    entryName(path),
    { file_name: path, formatting: 'sharegpt', columns, tags: tags[spelling] },
  ])
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`
}

/** `train.yaml` for `llamafactory-cli train`, run in the dataset's directory. */
export function renderTraining(
  { train, validation }: { train: readonly WrittenFile[]; validation: readonly WrittenFile[] },
  name: string,
  { lastOnly }: Pick<Trained, 'lastOnly'>,
  { model, template, cutoffTokens, epochs, learningRate, maxGradNorm, batch, devices }: TrainingOptions,
): string {
  const list = (files: readonly WrittenFile[]) => files.map(({ path }) => entryName(path)).join(',')
  return renderYaml({
    model_name_or_path: model,
    stage: 'sft',
    do_train: true,
    finetuning_type: 'full',
    dataset_dir: '.',
    dataset: list(train),
    ...(validation.length > 0 && { eval_dataset: list(validation), eval_strategy: 'epoch' }),
    template,
    cutoff_len: cutoffTokens,
    ...(lastOnly && { mask_history: true }),
    output_dir: `saves/${name}`,
    per_device_train_batch_size: 1,
    gradient_accumulation_steps: Math.max(1, Math.round(batch / devices)),
    learning_rate: learningRate,
    lr_scheduler_type: 'cosine',
    warmup_ratio: 0.1,
    num_train_epochs: epochs,
    max_grad_norm: maxGradNorm,
    weight_decay: 0.04,
    adam_beta1: 0.9,
    adam_beta2: 0.98,
    bf16: true,
    gradient_checkpointing: true,
    save_strategy: 'epoch',
    logging_steps: 1,
    report_to: 'none',
  })
}

/** `data/train-00000-of-00002.parquet` becomes `train_00000`. */
function entryName(path: string): string {
  return (path.split('/').at(-1) ?? path).replace(/-of-\d+\..*$/, '').replaceAll('-', '_')
}
