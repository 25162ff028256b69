import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { messageOf, UserError } from '../../core/errors.ts'
import {
  loadModelTokenizer,
  type ModelTokenizer,
  readTokenizerFiles,
  type TokenizerFiles,
  tokenizerFileNames,
  tryTemplate,
} from '../../formats/chat-template.ts'
import { openRepository } from '../../formats/hub/open.ts'
import {
  encodedLength,
  renderRow,
  type TrainingRow,
  toTrainingRow,
  trainsOnMasked,
} from '../../formats/llamafactory/encode-row.ts'
import { type ChatTemplate, chatTemplates, publishedVersions } from '../../formats/llamafactory/known-keys.ts'
import type { TrainingValues } from '../../formats/llamafactory/training-values.ts'
import type { FoundDataset } from '../../formats/sft-dataset/find-dataset.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { nearest } from '../../lib/nearest.ts'
import { readJson } from '../../lib/parse-json.ts'
import { isHubName } from './local-paths.ts'
import { hubOf } from './training-data.ts'

/** Sampling stops after this many characters, so that the check does not take minutes. */
const mostCharacters = 8_000_000

/** Above this share of truncated rows, the check warns. */
const seriousShare = 0.01

/** What a training run will do. */
export interface PreflightRequest {
  readonly datasets: readonly FoundDataset[]
  readonly values: TrainingValues
  /** The model as requested, and where nodes will find it. */
  readonly model: { readonly name: string; readonly path: string } | null
}

/**
 * Inspects sampled rows as the trainer will see them: lengths, truncation, rows that teach nothing. Returns notes for
 * the user.
 */
export async function preflight({ datasets, values, model }: PreflightRequest): Promise<readonly string[]> {
  const template = templateOf(values.template)
  const rows = datasets
    .filter(({ use, sample }) => use === 'train' && sample !== null)
    .flatMap(({ sample, shape }) => (sample?.rows ?? []).map((row) => toTrainingRow(row, shape)))
  if (rows.length === 0) return []
  const kept = rows.filter((row) => row !== null)
  const skipped = [...skippedNotes(rows.length, kept.length), ...maskedNotes(kept, values)]
  const found = model === null ? null : await findTokenizer(model)
  if (found === null || model === null)
    return [...skipped, `tokens were not counted: found no tokenizer of ${model?.name ?? 'the model'} on this machine`]
  const tokenizer = await loadModelTokenizer(found).catch((error: unknown) => messageOf(error))
  if (typeof tokenizer === 'string')
    return [
      ...skipped,
      `tokens were not counted: cannot read the tokenizer of ${model.name}: ${tokenizer.slice(0, 200)}`,
    ]
  const counted = withinLimit(kept)
  checkRoles(counted, tokenizer, model.name)
  return [
    ...skipped,
    ...lengthNotes(counted, tokenizer, template, values),
    ...templateNotes(counted, tokenizer, template, values),
  ]
}

function templateOf(name: unknown): ChatTemplate | null {
  if (typeof name !== 'string') return null
  if (Object.hasOwn(chatTemplates, name)) return chatTemplates[name] ?? null
  const near = nearest(name, Object.keys(chatTemplates))
  throw new UserError(
    `template: LLaMA-Factory ${publishedVersions.llamafactory} has no template ${JSON.stringify(name)}`,
    near === null ? 'for example qwen3_nothink, llama3 or default' : `did you mean ${near}?`,
  )
}

function skippedNotes(all: number, kept: number): readonly string[] {
  if (kept === 0)
    throw new UserError(
      `the trainer would skip all ${all} sampled rows: user and assistant do not alternate, or the last message is not the assistant's`,
      'the order must be user, assistant, user, assistant; a system message may come first',
    )
  return kept === all
    ? []
    : [
        `WARNING: ${all - kept} of ${all} rows would be skipped: user and assistant do not alternate, or the last message is not the assistant's`,
      ]
}

/** Notes about masking: the trainer can only mask history as a whole, and ignores per-message masks in rows. */
function maskedNotes(rows: readonly TrainingRow[], { mask_history }: TrainingValues): readonly string[] {
  const wrong = rows.filter((row) => trainsOnMasked(row, mask_history === true))
  if (wrong.length === 0) return []
  const wouldDo = mask_history !== true && wrong.every((row) => !trainsOnMasked(row, true))
  const cure = wouldDo
    ? '--train-extra-args "--mask_history true" trains only on the last reply of each row'
    : "maps/mask-turns with how: 'expand' leaves them out"
  return [
    `WARNING: ${wrong.length} of ${rows.length} rows have replies marked as not for training, and LLaMA-Factory would train on them; ${cure}`,
  ]
}

function withinLimit(rows: readonly TrainingRow[]): readonly TrainingRow[] {
  let characters = 0
  return rows.filter(({ turns }) => {
    const fits = characters < mostCharacters
    characters += turns.reduce((sum, { content }) => sum + content.length, 0)
    return fits
  })
}

const spoken = { user: 'user', assistant: 'assistant', observation: 'tool', function: 'assistant' } as const

/** The conversation as a server receives it. */
function messagesOf({ system, turns }: TrainingRow): { role: string; content: string }[] {
  const said = turns.map(({ role, content }) => ({ role: spoken[role], content }))
  return system === '' ? said : [{ role: 'system', content: system }, ...said]
}

/** Refuses rows that the model's own chat template cannot render, because the student could not be served on them. */
function checkRoles(rows: readonly TrainingRow[], { render }: ModelTokenizer, model: string): void {
  if (render === null) return
  for (const row of rows) {
    const tried = tryTemplate(render, messagesOf(row), row.tools === '' ? null : readJson(row.tools))
    if ('text' in tried) continue
    const what = tried.role === null ? 'cannot render the rows' : `does not know the role ${tried.role}`
    throw new UserError(
      `the chat template of ${model} ${what}: ${tried.why}`,
      'choose another model or convert the rows; --preflight false submits anyway',
    )
  }
}

function lengthNotes(
  rows: readonly TrainingRow[],
  { count, render, bosToken }: ModelTokenizer,
  template: ChatTemplate | null,
  values: TrainingValues,
): readonly string[] {
  const cutoffLen = typeof values.cutoff_len === 'number' ? values.cutoff_len : 2048
  const flags = { maskHistory: values.mask_history === true, trainOnPrompt: values.train_on_prompt === true }
  const lengths = rows.map((row) => {
    if (template !== null) return encodedLength(row, { template, cutoffLen, count, hasBos: bosToken !== '', ...flags })
    const tokens = count(
      render?.(messagesOf(row), null) ??
        messagesOf(row)
          .map(({ content }) => content)
          .join('\n'),
    )
    return { tokens, trainable: 1, truncated: tokens > cutoffLen }
  })
  const sorted = lengths.map(({ tokens }) => tokens).sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  const cutShort = lengths.filter(({ truncated }) => truncated).length
  const empty = lengths.filter(({ trainable }) => trainable === 0).length
  const share = cutShort / rows.length
  return [
    `tokens of ${rows.length} rows: half have up to ${at(0.5)}, 90 % up to ${at(0.9)}, 99 % up to ${at(0.99)}, the longest ${at(1)}`,
    share > seriousShare
      ? `WARNING: cutoff_len ${cutoffLen} cuts ${cutShort} of ${rows.length} rows short (${percent(share)}); --cutoff-len ${at(1)} would keep them whole`
      : `cutoff_len ${cutoffLen} cuts ${cutShort} of ${rows.length} rows short`,
    ...(empty === 0
      ? []
      : [`WARNING: ${empty} of ${rows.length} rows have no trainable tokens: every reply is masked or cut`]),
  ]
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

/**
 * Notes where the trainer's template renders a different text than the model's, so that the served student would see
 * other text than in training.
 */
function templateNotes(
  rows: readonly TrainingRow[],
  { render, eosToken }: ModelTokenizer,
  template: ChatTemplate | null,
  { template: name }: TrainingValues,
): readonly string[] {
  if (template === null) return ['template is not set: LLaMA-Factory derives one from the model’s own']
  if (render === null) return []
  const pairs = rows.map((row) => ({ ours: renderRow(row, template, template.eos ?? eosToken), row }))
  const compared = pairs.filter(({ ours }) => ours !== null)
  const other = compared.filter(({ ours, row }) => ours?.trimEnd() !== render(messagesOf(row), null).trimEnd())
  return other.length === 0
    ? []
    : [
        `template ${name} of LLaMA-Factory renders ${other.length} of ${compared.length} rows differently than the model's own chat template, which servers use`,
      ]
}

/** Looks in the model's folder, the Hub library's cache, and the Hub. */
async function findTokenizer({
  name,
  path,
}: {
  readonly name: string
  readonly path: string
}): Promise<TokenizerFiles | null> {
  for (const dir of [resolve(name), path, await cachedModel(name)]) {
    const files = dir === null ? null : await readTokenizerFiles(dir)
    if (files !== null) return files
  }
  return isHubName(name) ? fromHub(name) : null
}

async function cachedModel(name: string): Promise<string | null> {
  const { HF_HUB_CACHE, HF_HOME } = process.env
  const cache = HF_HUB_CACHE || join(HF_HOME || join(homedir(), '.cache/huggingface'), 'hub')
  const dir = join(cache, `models--${name.replaceAll('/', '--')}`)
  const commit = await readTextIfExists(join(dir, 'refs/main')).catch(() => null)
  return commit === null ? null : join(dir, 'snapshots', commit.trim())
}

/** Downloads a few megabytes without keeping them; an unreachable Hub does not prevent a launch. */
async function fromHub(name: string): Promise<TokenizerFiles | null> {
  const hub = hubOf(process.env)
  if (hub === null) return null
  try {
    const repository = openRepository({ kind: 'hub', repo: name }, hub, 'model')
    const commit = await repository.head(null)
    if (commit === null) return null
    const listed = new Set((await repository.list(commit)).map(({ path }) => path))
    const [tokenizer, config, template] = await Promise.all(
      tokenizerFileNames.map(async (file) => {
        if (!listed.has(file)) return null
        const chunks: Uint8Array[] = []
        for await (const chunk of (await repository.read(commit, file, 0)).body) chunks.push(chunk)
        return Buffer.concat(chunks).toString('utf8')
      }),
    )
    return tokenizer == null ? null : { tokenizer, config: config ?? '{}', template: template ?? null }
  } catch {
    return null
  }
}
