import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { buildSft, type SftRequest } from '../../formats/llamafactory/build-sft.ts'
import { exists } from '../../lib/files.ts'
import { type PlanContext, slug } from '../../run/launch/plan.ts'
import type { SharedResult } from '../../run/launch/plan-training.ts'

/** Where the tokens of a training run are. */
export interface Tokens extends SharedResult {
  readonly isThere: boolean
}

/** Keys that affect training but not the tokens. A change in any other key tokenizes again. */
const aboutTraining = new Set([
  ...[
    'adam_beta1',
    'adam_beta2',
    'adam_epsilon',
    'bf16',
    'cache_dir',
    'dataset_dir',
    'ddp_timeout',
    'deepspeed',
    'do_train',
  ],
  ...[
    'enable_liger_kernel',
    'eval_steps',
    'eval_strategy',
    'finetuning_type',
    'flash_attn',
    'fp16',
    'fsdp',
    'fsdp_config',
  ],
  ...[
    'gradient_accumulation_steps',
    'gradient_checkpointing',
    'include_mfu',
    'learning_rate',
    'load_best_model_at_end',
  ],
  ...['lora_alpha', 'lora_dropout', 'lora_rank', 'lora_target', 'lr_scheduler_type', 'max_grad_norm', 'max_steps'],
  ...[
    'num_train_epochs',
    'optim',
    'output_dir',
    'overwrite_cache',
    'overwrite_output_dir',
    'per_device_eval_batch_size',
  ],
  ...['per_device_train_batch_size', 'plot_loss', 'preprocessing_num_workers', 'pure_bf16', 'push_to_hub', 'report_to'],
  ...['run_name', 'torch_compile', 'use_cpu', 'use_mca', 'warmup_ratio', 'warmup_steps', 'weight_decay'],
])
const aboutTrainingToo = /^(dataloader|hub|logging|save)_/

/**
 * Finds the tokens that an earlier launch made for the same rows, model, template and lengths, or where to put new
 * ones.
 */
export async function findTokens(
  { experimentsDir, launchId }: PlanContext,
  root: string,
  request: SftRequest,
): Promise<Tokens> {
  const values = Object.entries(buildSft(request).values)
    .filter(([key]) => !aboutTraining.has(key) && !aboutTrainingToo.test(key))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const datasets = await Promise.all(
    request.datasets.map(async ({ name, use, entry }) => ({ name, use, entry, files: await filesOf(entry) })),
  )
  const digest = digestOf({ values, datasets })
  const names = request.datasets.filter(({ use }) => use === 'train').map(({ name }) => slug(name))
  const dir = join(root, `${names.join('_').slice(0, 60)}-${digest}`)
  // Launches in other experiments may have the same id.
  const draft = `${dir}.${digestOf([experimentsDir, launchId])}`
  return { dir, draft, isThere: await exists(dir) }
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12)
}

/** Says that existing tokens are reused, and how to tokenize again. */
export function tokenNotes(tokens: Tokens | null): readonly string[] {
  return tokens?.isThere ? [`using the tokens of an earlier launch: ${tokens.dir}; remove it to tokenize again`] : []
}

/** A fingerprint of a dataset's files without reading them: names, sizes and times. A Hub dataset has none here. */
async function filesOf(entry: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const paths = Object.values(entry).filter((value): value is string => typeof value === 'string' && isAbsolute(value))
  const found = await Promise.all(paths.map(filesBelow))
  return found.flat().sort()
}

async function filesBelow(path: string): Promise<readonly string[]> {
  const seen = await stat(path).catch(() => null)
  if (seen === null) return []
  if (!seen.isDirectory()) return [`${path} ${seen.size} ${Math.floor(seen.mtimeMs)}`]
  const names = await readdir(path)
  return (
    await Promise.all(names.filter((name) => !name.startsWith('.')).map((name) => filesBelow(join(path, name))))
  ).flat()
}
