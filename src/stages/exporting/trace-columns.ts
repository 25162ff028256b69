import { z } from 'zod'

/** How messages are spelt: `sharegpt` as from human/gpt and value, `messages` as role user/assistant and content. */
export const spellings = ['sharegpt', 'messages'] as const
export type Spelling = (typeof spellings)[number]

export const traceExportOptions = {
  spelling: z.enum(spellings).default('sharegpt'),
  /** `training` leaves out what says when and in which job a row was made; `all` keeps every column of a trace. */
  columns: z.enum(['training', 'all']).default('training'),
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
  'task_digest',
  'prompt_digest',
  'lineage',
  'signals',
]

/** The select list of an export of traces. */
export function traceColumnList({ spelling, columns }: { spelling: Spelling; columns: 'training' | 'all' }): string {
  const turns = `${conversationsAs[spelling]} AS conversations`
  return columns === 'all'
    ? `id, ${turns}, * EXCLUDE (id, conversations, row)`
    : `id, ${turns}, ${training.map((name) => `"${name}"`).join(', ')}`
}

const conversationsAs: Readonly<Record<Spelling, string>> = {
  messages: 'conversations',
  sharegpt: `list_transform(conversations, lambda m: {'from': CASE m.role WHEN 'user' THEN 'human' WHEN 'assistant' THEN 'gpt' ELSE m.role END, 'value': m.content})`,
}
