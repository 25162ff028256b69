import type { ChatMessage } from '../../core/model.ts'
import { exchangesName } from '../../core/task-paths.ts'
import type { TrialFile, TrialWithFiles } from '../../core/trace.ts'
import { type Exchanges, readExchanges } from '../exchanges/read-exchanges.ts'
import type { Told } from './build-row.ts'
import { conversationsOf, type ExactConversation, type ExactTurn } from './exact-conversations.ts'
import type { TraceStep, TraceTrajectory } from './trajectory.ts'
import { type Read, readMain, type Trouble } from './trial-trajectories.ts'
import { textOf } from './turns.ts'

/** What was said in a trial or one of its steps, verbatim. */
export interface ExactTalk {
  readonly conversations: readonly ExactConversation[]
  readonly told: Told
}

/** Reads `exchanges.jsonl`, or what Harbor writes instead; returns the problem if neither gives exact conversations. */
export function readExact(
  trial: TrialWithFiles,
  files: readonly TrialFile[],
  episodes: 'all' | 'last',
): Read<ExactTalk> {
  const file = files.find(({ name }) => name === exchangesName)
  if (!file) {
    const read = harborConversations(trial, files, episodes)
    return 'trouble' in read ? read : { good: { conversations: read.good, told: toldBy(read.good) } }
  }
  if (file.size > file.bytes.length) {
    const detail = `${exchangesName} has ${file.size} bytes, and ${file.bytes.length} are read`
    return { trouble: { reason: 'trajectory-too-large', detail } }
  }
  const exchanges = readExchanges(file.bytes)
  if (exchanges.cut !== null) {
    return { trouble: { reason: 'trajectory-unreadable', detail: `${exchangesName}: ${exchanges.cut}` } }
  }
  const conversations = [...conversationsOf(exchanges, episodes)]
  return { good: { conversations, told: { ...toldBy(conversations), ...totalsOf(exchanges) } } }
}

function toldBy(conversations: readonly ExactConversation[]): Told {
  const main = conversations.find(({ source }) => source === 'main')
  const asked = main?.turns.find(({ message }) => message.role === 'user' && message.content.trim() !== '')
  const instruction = asked?.message.content.trim() ?? null
  return { instruction, inputTokens: null, outputTokens: null, costUsd: null }
}

function totalsOf({ threads }: Exchanges): Omit<Told, 'instruction'> {
  const replies = threads.flatMap(({ calls }) => calls.map(({ reply }) => reply))
  const priced = replies.flatMap(({ costUsd }) => costUsd ?? [])
  return {
    inputTokens: replies.reduce((sum, { usage }) => sum + usage.inputTokens, 0),
    outputTokens: replies.reduce((sum, { usage }) => sum + usage.outputTokens, 0),
    costUsd: priced.length === 0 ? null : priced.reduce((sum, cost) => sum + cost, 0),
  }
}

/**
 * Exact conversations of a trial without `exchanges.jsonl`, as Harbor may leave them: from `episode-N/prompt.txt` and
 * `response.txt`, or from a trajectory written with `raw_content`. Returns the problem if it has neither, because a
 * rendered reply is not what was said.
 */
function harborConversations(
  { record }: TrialWithFiles,
  files: readonly TrialFile[],
  which: 'all' | 'last',
): Read<readonly ExactConversation[]> {
  const summarized = Number(record.metadata?.summarization_count ?? 0) > 0
  const episodes = summarized ? [] : episodesIn(files)
  if (episodes.length > 0) return { good: mainOf(episodes, 0, which) }
  const main = readMain(files)
  if ('trouble' in main) return main
  if (!isRaw(record.config.agent.kwargs)) return { trouble: rendered }
  let before = 0
  const said = main.good.flatMap((trajectory) => {
    const conversations = mainOf(turnsOf(trajectory), before, which)
    before = conversations.at(-1)?.count ?? before
    return conversations
  })
  return { good: said }
}

const rendered: Trouble = {
  reason: 'not-exact',
  detail: 'no agent/exchanges.jsonl, and the trajectory holds replies in a rendered form; --form readable exports that',
}

/** The setting with which Harbor writes replies verbatim. */
function isRaw(kwargs: Readonly<Record<string, unknown>>): boolean {
  return Object(kwargs.trajectory_config).raw_content === true
}

/** The prompt and reply of each turn; all turns or none. */
function episodesIn(files: readonly TrialFile[]): ExactTurn[] {
  const texts = new Map(files.map((file) => [file.name, file]))
  const turns: ExactTurn[] = []
  for (let n = 0; ; n++) {
    const [prompt, response] = [texts.get(`episode-${n}/prompt.txt`), texts.get(`episode-${n}/response.txt`)]
    if (!prompt || !response) return turns
    if (isCut(prompt) || isCut(response)) return []
    turns.push(turn('user', utf8.decode(prompt.bytes), false), turn('assistant', utf8.decode(response.bytes), true))
  }
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

function isCut({ bytes, size }: TrialFile): boolean {
  return size > bytes.length
}

/** The messages of a raw trajectory up to the last reply. */
function turnsOf({ steps }: TraceTrajectory): ExactTurn[] {
  const turns = steps.flatMap((step) => {
    const own = step.source === 'agent' && step.is_copied_context !== true
    const said = turn(step.source === 'agent' ? 'assistant' : 'user', textOf(step.message), own)
    // The note about a hand-off is for viewers and was never sent.
    return step.source === 'system' ? [] : [said, ...observed(step)]
  })
  return turns.slice(0, turns.findLastIndex(({ own }) => own) + 1)
}

function observed({ observation }: TraceStep): ExactTurn[] {
  const texts = (observation?.results ?? []).flatMap(({ content }) => (content == null ? [] : [textOf(content)]))
  return texts.length === 0 ? [] : [turn('user', texts.join('\n'), false)]
}

function turn(role: ChatMessage['role'], content: string, own: boolean): ExactTurn {
  return { message: { role, content }, own, marks: role === 'assistant' && !own ? ['context'] : [] }
}

function mainOf(turns: readonly ExactTurn[], before: number, which: 'all' | 'last'): ExactConversation[] {
  const ends = turns.flatMap(({ own }, i) => (own ? [i + 1] : []))
  return (which === 'all' ? ends : ends.slice(-1)).map((end) => {
    const said = turns.slice(0, end)
    return { source: 'main', turns: said, tools: [], count: before + said.filter(({ own }) => own).length }
  })
}
