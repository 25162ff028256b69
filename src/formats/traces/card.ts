import { renderYaml } from '../../lib/render-yaml.ts'
import { sizeCategory } from '../size-category.ts'
import { cardFeatures } from './parquet-schema.ts'
import { columnsOf, type ExtraColumn, type TraceColumn } from './row.ts'
import type { ShardFile } from './shards.ts'

/** The content of an export's dataset card. */
export interface TraceCard {
  readonly name: string
  readonly extra: readonly ExtraColumn[]
  readonly rows: number
  /** Uncompressed. */
  readonly dataBytes: number
  readonly files: readonly ShardFile[]
  readonly trials: number
  readonly exported: number
  readonly drops: Readonly<Record<string, number>>
  /** The export's options, verbatim. */
  readonly options: Readonly<Record<string, string>>
  readonly inputs: readonly { readonly job: string; readonly trials: number; readonly exported: number }[]
  /** How many trials gave rows, by result. */
  readonly results: Readonly<Record<string, number>>
  readonly madeBy: string
}

/** A dataset's README.md for the Hub: sizes and columns for machines first, then a description for people. */
export function renderCard(card: TraceCard): string {
  return `---\n${renderYaml(frontMatter(card), { lineWidth: 0 })}---\n\n${body(card)}`
}

function frontMatter(card: TraceCard): Readonly<Record<string, unknown>> {
  const folder = card.files[0]?.path.split('/')[0] ?? 'data'
  const shards = card.files.filter(({ path }) => path.startsWith(`${folder}/`))
  return {
    pretty_name: card.name,
    size_categories: [sizeCategory(card.rows)],
    task_categories: ['text-generation'],
    tags: ['agent', 'traces', 'ot-agent'],
    dataset_info: {
      features: cardFeatures(columnsOf(card.extra)),
      splits: [{ name: 'train', num_bytes: card.dataBytes, num_examples: card.rows }],
      download_size: shards.reduce((sum, { bytes }) => sum + bytes, 0),
      dataset_size: card.dataBytes,
    },
    configs: [{ config_name: 'default', data_files: [{ split: 'train', path: `${folder}/train-*` }] }],
  }
}

function body(card: TraceCard): string {
  const tables = [
    ['## Rows by result', table(['result', 'rows'], Object.entries(card.results))],
    [
      '## Jobs',
      table(
        ['job', 'trials', 'with rows'],
        card.inputs.map(({ job, trials, exported }) => [job, trials, exported]),
      ),
    ],
    ['## Left out', `${table(['reason', 'count'], Object.entries(card.drops))}\n\nEvery one is in \`drops.jsonl\`.`],
    ['## How it was made', table(['option', 'value'], Object.entries(card.options))],
    [
      '## Columns',
      table(
        ['column', 'what it is'],
        columnsOf(card.extra).map((name) => [name, meanings[name]]),
      ),
    ],
  ]
  const lines = [
    `# ${escaped(card.name)}`,
    `${card.rows} traces of ${card.exported} trials, out of ${card.trials} finished ones. Written by ${escaped(card.madeBy)}.`,
    ...tables.flat(),
  ]
  return `${lines.join('\n\n')}\n`
}

function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  if (rows.length === 0) return 'None.'
  const line = (cells: readonly (string | number)[]) => `| ${cells.map((cell) => escaped(String(cell))).join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Names come from untrusted tasks and jobs: no markup, no line breaks. */
function escaped(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[\\`*[\]<>|#]/g, '\\$&')
    .slice(0, 300)
}

const meanings: Readonly<Record<TraceColumn, string>> = {
  conversations: 'messages, with role system, user, assistant or tool; the last one is the assistant’s',
  conversations_sharegpt:
    'the same for LLaMA-Factory: from system, human, gpt, function_call or observation, and value; the sides take turns',
  agent: 'the agent that drove the model',
  model: 'the model',
  model_provider: 'who served it',
  date: 'when the trial began, UTC',
  task: 'name of the task',
  episode: 'episode-N: the agent’s N-th turn ends the row',
  run_id: 'id of the job',
  trial_name: 'name of the trial',
  result: 'reward, or name of the exception; null when nothing was verified',
  tool_definitions: 'tools the model was offered, JSON',
  instruction: 'the first message',
  verifier_output: 'what the tests printed',
  trace_source: 'main, or which subagent',
  task_digest: 'digest of the task’s content',
  task_checksum: 'Harbor’s checksum of the task',
  prompt_digest: 'SHA-256 of the first user message',
  attempt: 'which attempt at the task, from 0',
  reward: 'the reward, whatever ended the trial',
  end: 'scored, failed or cancelled',
  exit: 'how the agent stopped: finished, exited, or a limit: time, turns, context, cost, storage',
  boundary: 'who is to blame for a failure',
  failure_modes:
    'why the trial was not solved, the main reason first: mode, a quote that shows it, and who says so, rules or a model',
  step: 'the step of a multi-step task',
  system_effect:
    'differ or same: what tests said with and without the system files that the agent changed; null when it changed none',
  system_changes: 'those files, the first of them: path, and modified, added or removed',
  turns: 'turns of the agent up to the end of the row, over the whole trial or, where there are steps, the step',
  context_messages: 'how many messages at the beginning are copied context, not to be learnt from again',
  tool_calls: 'calls of tools: index of the message, id, name, arguments as the model wrote them',
  tool_results: 'which call a message of role tool answers: index of the message, id of the call',
  reasoning: 'what the model thought before a reply: index of the message, text',
  turn_marks:
    'replies one may not want to train on: index of the message, and unparsed, truncated, filtered, before-handoff or context',
  train_on: 'all: every reply; last: only the last message, because the others are in other rows',
  input_tokens: 'of the whole trial, cached ones included',
  output_tokens: 'of the whole trial',
  cost_usd: 'of the whole trial',
  job: 'name of the job',
  source: 'dataset the task is from',
  schema: 'version of these columns',
}
