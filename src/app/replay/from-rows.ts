import { z } from 'zod'
import type { ChatMessage } from '../../core/model.ts'
import type { RecordedTurn } from '../../core/replay.ts'
import { recordedTurns } from '../../formats/traces/recorded-turns.ts'
import type { RunFacts } from '../../formats/traces/run-facts.ts'
import { shareGptOf } from '../../formats/traces/sharegpt.ts'
import { trialsBelow } from '../../store/rows/run-jobs.ts'
import { type FoundRow, type FoundTrial, notReplayable, type ReplaySettings } from './found-trial.ts'
import { limitOf, trialOf } from './from-job.ts'

const text = z.string().nullish().default(null)
const number = z
  .union([z.number(), z.bigint().transform(Number)])
  .nullish()
  .default(null)

/** The fields of a trace row; training datasets leave some out, third-party datasets most of them. */
const rowSchema = z.object({
  id: text,
  job: text,
  trial_name: text,
  step: text,
  trace_source: z
    .string()
    .nullish()
    .transform((source) => source ?? 'main'),
  episode: z
    .string()
    .nullish()
    .transform((episode) => episode ?? 'episode-0'),
  agent: text,
  model: text,
  task: text,
  task_digest: text,
  date: text,
  end: text,
  exit: text,
  reward: number,
  turns: number,
})

/** A row with the names that lead back to its trial. */
export interface NamedRow extends Omit<z.output<typeof rowSchema>, 'id' | 'job' | 'trial_name'> {
  readonly id: string
  readonly job: string
  readonly trial: string
  /** The complete row. */
  readonly row: unknown
}

/** Reads a row's names; `nth` names a row that has none, as in third-party datasets. */
export function nameRow(row: unknown, nth: number): NamedRow {
  const parsed = rowSchema.safeParse(row)
  const data = parsed.success ? parsed.data : rowSchema.parse({})
  const { id, job, trial_name, step, trace_source, episode } = data
  if (job !== null && trial_name !== null) {
    const made = [job, trial_name, ...(step === null ? [] : [step]), trace_source, episode].join('/')
    return { ...data, id: id ?? made, job, trial: trial_name, row }
  }
  // An id is job/trial/source/episode, plus the step for a multi-step task.
  const parts = id?.split('/') ?? []
  const [ofJob = '', ofTrial = '', ofStep = ''] = parts
  if (id === null || parts.length < 4)
    return { ...data, id: id ?? `row ${nth + 1}`, job: 'dataset', trial: `row ${nth + 1}`, row }
  return { ...data, id, job: ofJob, trial: ofTrial, step: parts.length > 4 ? ofStep : null, row }
}

/** Identifies a trial across jobs. */
export function trialKey(job: string, trial: string): string {
  return `${job}/${trial}`
}

export interface RowsAt {
  /** The run directory of the recipe that made them; null if they come from elsewhere. */
  readonly runDir: string | null
  /** How to run a trial of which only rows are left. */
  readonly settingsOf: (row: NamedRow, run: RunFacts | null) => ReplaySettings
  /** What the dataset says about how a trial was run. */
  readonly runOf?: ((job: string, trial: string) => RunFacts | null) | undefined
  readonly signal: AbortSignal
}

/** The trials of rows, in the order of the rows. */
export async function trialsOfRows(rows: readonly NamedRow[], at: RowsAt): Promise<readonly FoundTrial[]> {
  const wanted = new Map<string, Set<string>>()
  const byTrial = new Map<string, NamedRow[]>()
  for (const row of rows) {
    wanted.set(row.job, (wanted.get(row.job) ?? new Set()).add(row.trial))
    const key = trialKey(row.job, row.trial)
    byTrial.set(key, [...(byTrial.get(key) ?? []), row])
  }
  const recorded = new Map<string, FoundTrial>()
  if (at.runDir !== null)
    for await (const { job, record, store } of trialsBelow(at.runDir, wanted, at.signal))
      recorded.set(trialKey(job, record.name), trialOf(job, record, await store.readFiles(record.name, limitOf)))
  return [...byTrial].map(([key, ofTrial]) => {
    const trial = recorded.get(key)
    const played = prepareRows(ofTrial)
    if (!trial) return trialOfRows(ofTrial, played, at)
    return { ...trial, ...complete(withTools(played, ofTrial, trial.turns), trial.turns) }
  })
}

interface ReplayableRows {
  readonly rows: readonly FoundRow[]
  readonly turns: readonly RecordedTurn[]
}

/** The turns of one trial's rows; a row that is a prefix of another is part of it. */
function prepareRows(rows: readonly NamedRow[]): ReplayableRows {
  const all = rows.map(({ id, row }) => ({ id, turns: recordedTurns(id, row) }))
  const found = all.map(({ id, turns }): FoundRow => {
    if (typeof turns === 'string') return { id, cannot: turns }
    const longer = all.filter((other) => typeof other.turns !== 'string' && begins(turns, other.turns))
    const whole = longer.reduce<(typeof all)[number] | undefined>(
      (most, other) => (most && most.turns.length >= other.turns.length ? most : other),
      undefined,
    )
    return { id, cannot: null, ...(whole && { within: { row: whole.id, turns: turns.length } }) }
  })
  const isWhole = (id: string) => found.find((row) => row.id === id)?.within === undefined
  return {
    rows: found,
    turns: all.flatMap(({ id, turns }) => (typeof turns === 'string' || !isWhole(id) ? [] : turns)),
  }
}

function begins(turns: readonly RecordedTurn[], others: readonly RecordedTurn[]): boolean {
  const [last, same] = [turns.at(-1), others[turns.length - 1]]
  if (!last || !same || turns.length >= others.length || last.source !== same.source) return false
  const sentOf = ({ sent }: RecordedTurn) => JSON.stringify(sent.map(({ role, content }) => [role, content]))
  return last.reply.text === same.reply.text && sentOf(last) === sentOf(same)
}

/**
 * Restores tool calls to a row in ShareGPT format, where they are embedded in the text and cannot be parsed back. The
 * row uses its trial's turns if these render to exactly the same text.
 */
function withTools(
  { rows, turns }: ReplayableRows,
  named: readonly NamedRow[],
  recorded: readonly RecordedTurn[],
): ReplayableRows {
  const threads = new Map<string, RecordedTurn[]>()
  for (const turn of recorded) threads.set(turn.row, [...(threads.get(turn.row) ?? []), turn])
  const spelt = new Map([...threads.values()].map((thread) => [JSON.stringify(shareGptOf(messagesOf(thread))), thread]))
  const found = rows.map((row) => {
    const conversation = Object(named.find(({ id }) => id === row.id)?.row).conversations
    const thread = row.cannot === null ? undefined : spelt.get(JSON.stringify(conversation))
    return thread
      ? { row: { id: row.id, cannot: null }, turns: thread.map((turn) => ({ ...turn, row: row.id })) }
      : { row, turns: [] }
  })
  return { rows: found.map(({ row }) => row), turns: [...turns, ...found.flatMap((each) => each.turns)] }
}

/** The whole conversation of a thread, with replies as the model wrote them. */
function messagesOf(thread: readonly RecordedTurn[]): ChatMessage[] {
  const messages = [...(thread.at(-1)?.sent ?? [])]
  for (const { sent, reply } of thread)
    messages[sent.length] = { role: 'assistant', content: reply.text, toolCalls: reply.toolCalls }
  return messages
}

/**
 * Adds what only the job knows: conversations that are not rows, replies the agent discarded, why the model stopped,
 * and its token counts. A row that differs from the job is replayed as written in the row.
 */
function complete({ rows, turns }: ReplayableRows, recorded: readonly RecordedTurn[]): ReplayableRows {
  const left = new Set(turns)
  const merged = recorded.map((turn): RecordedTurn => {
    const said = [...left].find((each) => isSameTurn(each, turn))
    if (!said) return turn
    left.delete(said)
    const { row, turn: nth, reply } = said
    return { ...turn, row, turn: nth, reply: { ...turn.reply, text: reply.text, toolCalls: withIds(turn, said) } }
  })
  return {
    rows,
    turns: left.size === 0 ? merged : [...left, ...merged.filter(({ row }) => !rows.some(({ id }) => id === row))],
  }
}

/**
 * Whether two turns have the same reply to the same messages; the content of system and assistant messages may differ,
 * because agents send it again in another form.
 */
function isSameTurn(said: RecordedTurn, recorded: RecordedTurn): boolean {
  if (said.source !== recorded.source || said.sent.length !== recorded.sent.length) return false
  if (said.reply.text !== recorded.reply.text || callsOf(said) !== callsOf(recorded)) return false
  return said.sent.every(({ role, content }, i) => {
    const other = recorded.sent[i]
    return role === other?.role && (role === 'system' || role === 'assistant' || content === other.content)
  })
}

function callsOf({ reply }: RecordedTurn): string {
  return JSON.stringify(reply.toolCalls.map(({ name, arguments: args }) => [name, args]))
}

/** Restores the model's own tool call ids; a row has those that the agent sent back. */
function withIds(recorded: RecordedTurn, said: RecordedTurn): RecordedTurn['reply']['toolCalls'] {
  return said.reply.toolCalls.map((call, i) => ({ ...call, ...recorded.reply.toolCalls[i] }))
}

function trialOfRows(rows: readonly NamedRow[], { rows: found, turns }: ReplayableRows, at: RowsAt): FoundTrial {
  const [first] = rows
  if (!first) throw new Error('a trial has a row')
  const run = at.runOf?.(first.job, first.trial) ?? null
  const file = run?.agent.importPath ?? null
  const reason = !isComplete(rows, turns)
    ? notReplayable.incomplete
    : file === null
      ? null
      : notReplayable.customAgent(file)
  return {
    job: first.job,
    name: first.trial,
    rows: found.map((row) => ({ ...row, cannot: row.cannot ?? reason })),
    turns: reason === null ? turns : [],
    at: first.date === null || Number.isNaN(Date.parse(first.date)) ? null : new Date(first.date),
    // If the trial's end is unknown, an agent that asks for more has not diverged.
    isCut: first.end === null ? true : first.end !== 'scored' || !['finished', 'exited'].includes(first.exit ?? ''),
    reward: first.reward,
    agent: {
      name: first.agent ?? 'unknown',
      version: run?.agent.version ?? null,
      model: run?.agent.model ?? first.model,
      promptsDigest: run?.promptsDigest ?? null,
    },
    model: run?.model ?? null,
    task: { name: first.task ?? 'unknown', digest: first.task_digest, path: null },
    settings: at.settingsOf(first, run),
  }
}

/**
 * Whether the rows cover the whole trial: a row counts all replies of its kind, including those only in an earlier row.
 */
function isComplete(rows: readonly NamedRow[], turns: readonly RecordedTurn[]): boolean {
  const main = rows.filter(({ trace_source }) => trace_source === 'main')
  const counted = Math.max(...main.map((row) => row.turns ?? 0), 0)
  const there = turns.filter(({ source }) => source === 'main').length
  return main.length > 0 && there >= counted
}
