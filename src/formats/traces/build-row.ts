import { createHash } from 'node:crypto'
import type { TrialFile, TrialWithFiles } from '../../core/trace.ts'
import { wellFormed } from './clean.ts'
import type { TraceRow } from './row.ts'
import type { TraceTrajectory } from './trajectory.ts'
import { columnsFromRecord, systemColumns, whole } from './trial-facts.ts'
import { type Turn, textOf } from './turns.ts'

/** What a row says about its conversation. */
export interface Conversation {
  readonly turns: readonly Turn[]
  /** The agent's own turns so far, over the whole trial or its step. */
  readonly count: number
  readonly episode: string
  /** The agent's name in the row. */
  readonly agent: string
  readonly source: string
  readonly trajectory: TraceTrajectory
}

type OfConversation =
  | 'conversations'
  | 'conversations_sharegpt'
  | 'agent'
  | 'episode'
  | 'tool_definitions'
  | 'trace_source'
  | 'prompt_digest'
  | 'turns'
  | 'context_messages'
  | 'tool_calls'
  | 'tool_results'
  | 'reasoning'
  | 'turn_marks'
  | 'train_on'

/** The columns shared by all rows of a trial, or of one step of it. */
export type SharedColumns = Omit<TraceRow, OfConversation>

/** Facts from a trial's conversations that its record may lack. */
export interface Told {
  readonly instruction: string | null
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly costUsd: number | null
}

/** The same, from the main trajectory. */
export function toldBy(chain: readonly TraceTrajectory[]): Told {
  const totals = chain.at(-1)?.final_metrics
  return {
    instruction: instructionIn(chain[0]),
    inputTokens: whole(totals?.total_prompt_tokens),
    outputTokens: whole(totals?.total_completion_tokens),
    costUsd: totals?.total_cost_usd ?? null,
  }
}

/** Fills the shared columns from the record and the trial's files. */
export function sharedColumns({ record, job, files }: TrialWithFiles, step: string | null, told: Told): SharedColumns {
  const { agent: _, ...columns } = columnsFromRecord(record)
  return {
    ...columns,
    ...systemColumns(record, step),
    // A step's own values are not those of the whole trial.
    ...(step === null && {
      input_tokens: columns.input_tokens ?? told.inputTokens,
      output_tokens: columns.output_tokens ?? told.outputTokens,
      cost_usd: columns.cost_usd ?? told.costUsd,
    }),
    instruction: told.instruction,
    verifier_output: verifierOutput(files.filter((file) => file.step === step && file.folder === 'verifier')),
    job,
    step,
    schema: 'trace/1',
  }
}

/** The row of one conversation; null if it does not start with the user, because then it answers no request. */
export function buildRow(said: Conversation, shared: SharedColumns, sharegpt: boolean): TraceRow | null {
  const { turns, trajectory } = said
  const [first] = turns
  if (first?.role !== 'user') return null
  const firstOwn = turns.findIndex(({ copied }) => !copied)
  const tools = trajectory.agent.tool_definitions ?? []
  return wellFormed<TraceRow>({
    ...shared,
    conversations: turns.map(({ role, content }) => ({ role, content })),
    ...(sharegpt ? { conversations_sharegpt: turns.map(toShareGpt) } : {}),
    agent: said.agent,
    model: trajectory.agent.model_name || shared.model,
    episode: said.episode,
    tool_definitions: tools.length === 0 ? null : JSON.stringify(tools),
    trace_source: said.source,
    prompt_digest: createHash('sha256').update(first.content).digest('hex'),
    turns: said.count,
    context_messages: firstOwn < 0 ? turns.length : firstOwn,
    tool_calls: [],
    tool_results: [],
    reasoning: [],
    turn_marks: [],
    train_on: 'all',
  })
}

function toShareGpt({ role, content }: Turn): { readonly from: string; readonly value: string } {
  return { from: role === 'user' ? 'human' : 'gpt', value: content }
}

/** The first non-empty message. */
function instructionIn(trajectory: TraceTrajectory | undefined): string | null {
  for (const step of trajectory?.steps ?? []) {
    const text = textOf(step.message).trim()
    if (text !== '') return text
  }
  return null
}

/** The verifier's files that contain the tests' output, in reading order. */
export const verifierFiles: readonly string[] = ['test-stdout.txt', 'test-stderr.txt']

/** The tests' output; if it was cut, the last line says so. */
function verifierOutput(files: readonly TrialFile[]): string | null {
  const parts = verifierFiles.flatMap((name) => {
    const file = files.find((each) => each.name === name)
    if (!file) return []
    const more = file.size - file.bytes.length
    return [utf8.decode(file.bytes) + (more > 0 ? `\n[... ${more} more bytes ...]\n` : '')]
  })
  return parts.length === 0 ? null : parts.join('')
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
