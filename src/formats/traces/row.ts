/** One trace as a row of a dataset, in the format its readers know. A `message` is an index into `conversations`. */
export interface TraceRow {
  readonly conversations: readonly { readonly role: string; readonly content: string }[]
  readonly conversations_sharegpt?: readonly { readonly from: string; readonly value: string }[]
  readonly agent: string
  readonly model: string
  readonly model_provider: string
  /** When the trial started, in UTC. */
  readonly date: string
  readonly task: string
  /** `episode-N`, with N counted over the trial or its step. */
  readonly episode: string
  readonly run_id: string
  readonly trial_name: string
  /** A reward as Python prints it, an exception's name, or null if nothing was verified. */
  readonly result: string | null
  /** JSON. */
  readonly tool_definitions: string | null
  readonly instruction: string | null
  readonly verifier_output: string | null
  /** `main`, or which subagent. */
  readonly trace_source: string

  // From here on: the origin of the row.
  readonly task_digest: string | null
  /** Harbor's checksum of the task. */
  readonly task_checksum: string | null
  /** SHA-256 of the first user message. */
  readonly prompt_digest: string
  readonly attempt: number | null
  readonly reward: number | null
  /** scored, failed or cancelled. */
  readonly end: string
  /** finished, exited, or the limit that stopped the agent: time, turns, context, cost, storage. */
  readonly exit: string | null
  /** The boundary a failure is blamed on. */
  readonly boundary: string | null
  /** Why the trial was not solved, main reason first, with words that show it; `by`: rules, or the model asked. */
  readonly failure_modes?: readonly { readonly mode: string; readonly quote: string; readonly by: string }[]
  /** The step of a multi-step task. */
  readonly step: string | null
  /**
   * `differ` or `same`: the tests' results with and without the system files that the agent changed; null if it changed
   * none.
   */
  readonly system_effect: 'differ' | 'same' | null
  /** The first of those files; each was modified, added or removed. */
  readonly system_changes: readonly { readonly path: string; readonly change: string }[]
  /** The agent's own turns up to the end of the row, over the whole trial or its step. */
  readonly turns: number
  /** How many leading messages are copied context, not to be learned from again. */
  readonly context_messages: number
  /** The tool calls in the model's replies, with their arguments as the model wrote them. */
  readonly tool_calls: readonly {
    readonly message: number
    readonly id: string
    readonly name: string
    readonly arguments: string
  }[]
  /** Which call each tool message answers. */
  readonly tool_results: readonly { readonly message: number; readonly id: string }[]
  /** The model's reasoning before its replies. */
  readonly reasoning: readonly { readonly message: number; readonly content: string }[]
  /** Replies that may be unsuitable for training, and why: unparsed, truncated, filtered, before-handoff, context. */
  readonly turn_marks: readonly { readonly message: number; readonly mark: string }[]
  /** all, or last: train only on the last message. */
  readonly train_on: 'all' | 'last'
  /** Over the whole trial, like the next two. */
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost_usd: number | null
  readonly job: string
  /** The dataset the task is from. */
  readonly source: string | null
  readonly schema: 'trace/1'
}

export type TraceColumn = keyof TraceRow

type Kind = 'text' | 'int32' | 'int64' | 'float64' | Readonly<Record<string, 'text' | 'int32'>>

/** Every column of a row, in order; an object is a list of records with these keys. */
export const traceColumns: Readonly<Record<TraceColumn, Kind>> = {
  conversations: { role: 'text', content: 'text' },
  conversations_sharegpt: { from: 'text', value: 'text' },
  agent: 'text',
  model: 'text',
  model_provider: 'text',
  date: 'text',
  task: 'text',
  episode: 'text',
  run_id: 'text',
  trial_name: 'text',
  result: 'text',
  tool_definitions: 'text',
  instruction: 'text',
  verifier_output: 'text',
  trace_source: 'text',
  task_digest: 'text',
  task_checksum: 'text',
  prompt_digest: 'text',
  attempt: 'int32',
  reward: 'float64',
  end: 'text',
  exit: 'text',
  boundary: 'text',
  failure_modes: { mode: 'text', quote: 'text', by: 'text' },
  step: 'text',
  system_effect: 'text',
  system_changes: { path: 'text', change: 'text' },
  turns: 'int32',
  context_messages: 'int32',
  tool_calls: { message: 'int32', id: 'text', name: 'text', arguments: 'text' },
  tool_results: { message: 'int32', id: 'text' },
  reasoning: { message: 'int32', content: 'text' },
  turn_marks: { message: 'int32', mark: 'text' },
  train_on: 'text',
  input_tokens: 'int64',
  output_tokens: 'int64',
  cost_usd: 'float64',
  job: 'text',
  source: 'text',
  schema: 'text',
}

const extraColumns = ['conversations_sharegpt', 'failure_modes'] as const

/** A column that an export has only on request. */
export type ExtraColumn = (typeof extraColumns)[number]

/** The columns of an export with these extra ones. */
export function columnsOf(extra: readonly ExtraColumn[]): readonly TraceColumn[] {
  const left = new Set<string>(extraColumns.filter((name) => !extra.includes(name)))
  return (Object.keys(traceColumns) as TraceColumn[]).filter((name) => !left.has(name))
}
