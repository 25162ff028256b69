import { z } from 'zod'
import { masked } from '../rollout-text/turn-marks.ts'

/**
 * The format of conversations. `sharegpt`: from system, human, gpt, function_call, observation and value, as
 * LLaMA-Factory takes conversations with and without tools. `messages`: role and content in the column `messages` with
 * calls, as TRL and chat templates take them, and a flag `train`. `prompt-completion`: the same, split before the last
 * message, which alone is trained on.
 */
const spellings = ['sharegpt', 'messages', 'prompt-completion'] as const
export type Spelling = (typeof spellings)[number]

export const traceExportOptions = {
  spelling: z.enum(spellings).default('sharegpt'),
  /** `training` omits when and in which job a row was made; `all` keeps every column of a trace. */
  columns: z.enum(['training', 'all']).default('training'),
  /**
   * `inline`: the model's reasoning precedes its reply, as chat templates of thinking models expect; the column exists
   * either way.
   */
  reasoning: z.enum(['column', 'inline']).default('column'),
}

export interface TraceShape {
  readonly spelling: Spelling
  readonly columns: 'training' | 'all'
  readonly reasoning: 'column' | 'inline'
}

const training = [
  'agent',
  'model',
  'task',
  'source',
  'episode',
  'trace_source',
  'result',
  'reward',
  'turns',
  'context_messages',
  'reasoning',
  'turn_marks',
  'train_on',
  'task_digest',
  'prompt_digest',
  'lineage',
  'signals',
]

/** The column that holds the messages in each format. */
export const messagesColumn: Readonly<Record<Spelling, string>> = {
  sharegpt: 'conversations',
  messages: 'messages',
  'prompt-completion': 'prompt',
}

/** The select list of an export of traces. */
export function traceColumnList({ spelling, columns, reasoning }: TraceShape): string {
  const turns = `${spelled[spelling](reasoning === 'inline')}, tool_definitions AS tools`
  return columns === 'all'
    ? `id, ${turns}, * EXCLUDE (id, conversations, tool_definitions, tool_calls, tool_results, row)`
    : `id, ${turns}, ${training.map((name) => `"${name}"`).join(', ')}`
}

/** For message `m` at position `i`, counted from 1. */
const callsOf = `list_filter(coalesce(tool_calls, []), lambda c: c.message = i - 1)`
const thoughtOf = `list_filter(coalesce(reasoning, []), lambda r: r.message = i - 1)[1].content`

function contentOf(inline: boolean): string {
  if (!inline) return 'm.content'
  return `CASE WHEN ${thoughtOf} IS NULL THEN m.content ELSE '<think>' || chr(10) || trim(${thoughtOf}, chr(10) || ' ') || chr(10) || '</think>' || chr(10) || chr(10) || m.content END`
}

const spelled: Readonly<Record<Spelling, (inline: boolean) => string>> = {
  sharegpt: (inline) => `${shareGpt(inline)} AS conversations`,
  messages: (inline) => `${messages(inline, true)} AS messages`,
  'prompt-completion': (inline) =>
    `(${messages(inline, false)})[:-2] AS prompt, (${messages(inline, false)})[-1:] AS completion`,
}

/** The SQL equivalent of `shareGptOf`. */
function shareGpt(inline: boolean): string {
  const content = contentOf(inline)
  const calls = `to_json(list_transform(${callsOf}, lambda c: {'name': c.name, 'arguments': coalesce(try_cast(CASE WHEN c.arguments = '' THEN '{}' ELSE c.arguments END AS JSON), to_json(c.arguments))}))::VARCHAR`
  const side = `CASE WHEN m.role = 'assistant' THEN CASE WHEN len(${callsOf}) > 0 THEN 'function_call' ELSE 'gpt' END
    WHEN m.role = 'tool' THEN 'observation' WHEN m.role = 'system' AND i = 1 THEN 'system' ELSE 'human' END`
  const value = `CASE WHEN len(${callsOf}) = 0 THEN ${content} WHEN ${content} = '' THEN ${calls}
    ELSE ${content} || chr(10) || '<tool_call>' || chr(10) || ${calls} || chr(10) || '</tool_call>' END`
  const each = `list_transform(conversations, lambda m, i: [{'from': ${side}, 'value': ${value}}])`
  return `list_reduce(${each}, lambda said, next: CASE WHEN ${sameSide} THEN list_concat(said[:-2], [{'from': ${joinedSide}, 'value': said[-1]."value" || ${between} || next[1]."value"}]) ELSE list_concat(said, next) END)`
}

const isModel = (message: string) => `(${message}."from" IN ('gpt', 'function_call'))`
const sameSide = `said[-1]."from" <> 'system' AND ${isModel('said[-1]')} = ${isModel('next[1]')}`
const joinedSide = `CASE WHEN said[-1]."from" IN ('function_call', 'observation') THEN said[-1]."from" WHEN next[1]."from" IN ('function_call', 'observation') THEN next[1]."from" ELSE said[-1]."from" END`
const between = `CASE WHEN said[-1]."from" = 'observation' AND next[1]."from" = 'observation'
  THEN chr(10) || '</tool_response>' || chr(10) || '<tool_response>' || chr(10) ELSE chr(10) || chr(10) END`

function messages(inline: boolean, flagged: boolean): string {
  const resultOf = `list_filter(coalesce(tool_results, []), lambda r: r.message = i - 1)[1].id`
  const calls = `CASE WHEN len(${callsOf}) = 0 THEN NULL ELSE list_transform(${callsOf}, lambda c: {'id': c.id, 'type': 'function', 'function': {'name': c.name, 'arguments': c.arguments}}) END`
  const barred = `list_contains(list_transform(list_filter(coalesce(turn_marks, []), lambda t: t.mark IN ('${masked}', 'context')), lambda t: t.message), i - 1)`
  const train = `m.role = 'assistant' AND i > coalesce(context_messages, 0) AND NOT ${barred} AND (train_on IS DISTINCT FROM 'last' OR i = len(conversations))`
  const fields = [
    `'role': m.role`,
    `'content': ${contentOf(inline)}`,
    `'tool_calls': ${calls}`,
    `'tool_call_id': ${resultOf}`,
    ...(flagged ? [`'train': ${train}`] : []),
  ]
  return `list_transform(conversations, lambda m, i: {${fields.join(', ')}})`
}
