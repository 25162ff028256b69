import { hadNoValidReply } from '../../core/model-replies.ts'
import { exchangesName, journalName } from '../../core/task-paths.ts'
import type { Drop, TrialFile, TrialWithFiles } from '../../core/trace.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { exchangesLimitBytes } from '../exchanges/exchange.ts'
import { buildRow, type Conversation, sharedColumns, toldBy, verifierFiles } from './build-row.ts'
import { buildExactRow } from './exact-row.ts'
import { readExact } from './read-exact.ts'
import type { TraceRow } from './row.ts'
import type { TraceTrajectory } from './trajectory.ts'
import { isSuccess, resultOf } from './trial-facts.ts'
import { inlineTurns, namesIn, readMain, readSubagents, type Subagent, type Trouble } from './trial-trajectories.ts'
import { alternate, episodesOf, ownTurns } from './turns.ts'

export interface TraceOptions {
  /**
   * `exact`: what was sent to the model and what it replied, for training; `readable`: the parsed trajectory as Harbor
   * renders it.
   */
  readonly form: 'exact' | 'readable'
  /** For exact conversations: reasoning only in its own column, or before each reply too. */
  readonly reasoning: 'column' | 'inline'
  /** One row for each turn of the agent, or only the whole conversation. */
  readonly episodes: 'all' | 'last'
  readonly filter: 'all' | 'success' | 'failure'
  /** `inline` only exists in the readable form. */
  readonly subagents: 'drop' | 'separate' | 'inline'
  /**
   * For the readable form. `recorded`: the trajectory's messages one by one, as Harbor exports them, even if a role
   * speaks twice in a row.
   */
  readonly turns: 'alternate' | 'recorded'
  readonly sharegpt: boolean
}

export type Trace = { readonly row: TraceRow } | { readonly drop: Drop }
type Traces = Generator<Trace, void, void>

/** Why a trial gives no trace, according to its record; null if it may give some. */
export function refuseTrial(record: TrialRecord, { filter }: Pick<TraceOptions, 'filter'>): Drop | null {
  if (hadNoValidReply(record)) return { ...unanswered, traceSource: null, step: null }
  if (filter === 'all' || isSuccess(record) === (filter === 'success')) return null
  const detail = `the result is ${resultOf(record) ?? 'not known'}, but only ${filter} is kept`
  return { reason: 'filtered-by-result', detail, traceSource: null, step: null }
}

/** How many bytes of a trial's file to read; null for files that traces do not need. */
export function limitOfFile(folder: TrialFile['folder'], name: string): number | null {
  if (folder === 'verifier') return verifierFiles.includes(name) ? verifierLimitBytes : null
  // For a journal it is enough to know that it exists.
  if (name === journalName) return 0
  if (name === exchangesName) return exchangesLimitBytes
  if (/^episode-\d+\/(?:prompt|response)\.txt$/.test(name)) return episodeLimitBytes
  return /^trajectory(\..+)?\.json$/.test(name) ? trajectoryLimitBytes : null
}

const verifierLimitBytes = 1 << 20
const trajectoryLimitBytes = 128 << 20
const episodeLimitBytes = 16 << 20

/** The rows of a trial, and reports with reasons for what gave none. */
export function* makeTraces(trial: TrialWithFiles, options: TraceOptions): Traces {
  for (const step of trial.record.steps?.map(({ name }) => name) ?? [null]) {
    for (const trace of tracesOfStep(trial, step, options)) {
      yield 'drop' in trace ? { drop: { ...trace.drop, step } } : trace
    }
  }
}

/** The traces of one agent directory: a trial's, or that of one step. */
function* tracesOfStep(trial: TrialWithFiles, step: string | null, options: TraceOptions): Traces {
  const files = trial.files.filter((file) => file.step === step && file.folder === 'agent')
  if (options.form === 'exact') return yield* exactTraces(trial, step, files, options)
  const main = readMain(files)
  if ('trouble' in main) return yield drop(main.trouble, null)
  if (main.good.every((trajectory) => ownTurns(trajectory) === 0)) return yield drop(silent, null)
  const subagents = readSubagents(files, main.good)
  const shared = sharedColumns(trial, step, toldBy(main.good))
  const toTrace = (said: Conversation): Trace => {
    const row = buildRow(said, shared, options.sharegpt)
    return row ? { row } : drop(unasked, said.source)
  }
  yield* map(mainConversations(main.good, subagents, options), toTrace)
  if (options.subagents !== 'separate') return yield* leftOut(main.good, subagents, options)
  const agent = trial.record.config.agent.name ?? trial.record.agent.name
  for (const subagent of subagents) {
    const whole = wholeConversation(subagent, agent, options)
    yield 'trouble' in whole ? drop(whole.trouble, subagent.label) : toTrace(whole)
  }
}

/** Nothing the agent did came from its model, so that there is nothing to learn from it. */
const unanswered = {
  reason: 'no-valid-reply',
  detail: 'the agent never received a valid reply from its model',
} as const

/**
 * Rows of what was really said: each context that was handed off, and each thread besides the main one, is a separate
 * row.
 */
function* exactTraces(
  trial: TrialWithFiles,
  step: string | null,
  files: readonly TrialFile[],
  options: TraceOptions,
): Traces {
  const read = readExact(trial, files, options.episodes)
  if ('trouble' in read) return yield drop(read.trouble, null)
  const { conversations, told } = read.good
  if (!conversations.some(({ source }) => source === 'main')) return yield drop(unheard, null)
  const shared = sharedColumns(trial, step, told)
  const agent = trial.record.config.agent.name ?? trial.record.agent.name
  for (const said of conversations) {
    if (said.source !== 'main' && options.subagents === 'drop') yield drop(byPolicy, said.source)
    else {
      const row = buildExactRow(said, agent, shared, options)
      yield row ? { row } : drop(unasked, said.source)
    }
  }
}

const unheard: Trouble = { reason: 'no-agent-turn', detail: 'no model call was answered' }
const silent: Trouble = { reason: 'no-agent-turn', detail: 'the trajectory holds no turn of the agent itself' }
const unasked: Trouble = { reason: 'no-user-turn', detail: 'the conversation begins with the agent' }

function* mainConversations(
  chain: readonly TraceTrajectory[],
  subagents: readonly Subagent[],
  options: TraceOptions,
): Generator<Conversation, void, void> {
  const inline = options.subagents === 'inline'
  const last = chain.findLastIndex((trajectory) => ownTurns(trajectory) > 0)
  let before = 0
  for (const [at, trajectory] of chain.entries()) {
    const wanted = options.episodes === 'all' || at === last
    const inlined = inline ? { inlined: (step: TraceTrajectory['steps'][number]) => inlineTurns(step, subagents) } : {}
    for (const { index, turns } of wanted ? episodesOf(trajectory, { episodes: options.episodes, ...inlined }) : []) {
      yield {
        turns: inline || options.turns === 'alternate' ? alternate(turns) : turns,
        count: before + index + 1,
        episode: `episode-${before + index}`,
        agent: trajectory.agent.name,
        source: 'main',
        trajectory,
      }
    }
    before += ownTurns(trajectory)
  }
}

/** A subagent's trajectory as one conversation, under the main agent's name. */
function wholeConversation(
  { label, read }: Subagent,
  agent: string,
  options: TraceOptions,
): Conversation | { readonly trouble: Trouble } {
  if ('trouble' in read) return read
  for (const { index, turns } of episodesOf(read.good, { episodes: 'last' })) {
    return {
      turns: options.turns === 'alternate' ? alternate(turns) : turns,
      count: index + 1,
      episode: 'episode-0',
      agent,
      source: label,
      trajectory: read.good,
    }
  }
  return { trouble: silent }
}

/** With `drop` every subagent; with `inline` those that are unreadable or that no step refers to. */
function* leftOut(chain: readonly TraceTrajectory[], subagents: readonly Subagent[], options: TraceOptions): Traces {
  const named = new Set(chain.flatMap(({ steps }) => steps.flatMap(namesIn)))
  for (const { label, names, read } of subagents) {
    if (options.subagents === 'drop') yield drop(byPolicy, label)
    else if ('trouble' in read) yield drop(read.trouble, label)
    else if (!names.some((name) => named.has(name))) yield drop(unnamed, label)
  }
}

const byPolicy: Trouble = { reason: 'subagent-left-out', detail: 'subagents are dropped' }
const unnamed: Trouble = { reason: 'subagent-left-out', detail: 'no step of the main trajectory refers to it' }

function drop({ reason, detail }: Trouble, traceSource: string | null): Trace {
  return { drop: { reason, detail, traceSource, step: null } }
}

function* map<T, R>(items: Iterable<T>, change: (item: T) => R): Generator<R, void, void> {
  for (const item of items) yield change(item)
}
