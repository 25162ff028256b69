import { exchangesName } from '../../core/task-paths.ts'
import type { TrialFile, TrialWithFiles } from '../../core/trace.ts'
import { type Exchanges, readExchanges } from '../exchanges/read-exchanges.ts'
import type { Told } from './build-row.ts'
import { conversationsOf, type ExactConversation } from './exact-conversations.ts'
import { harborConversations } from './harbor-conversations.ts'
import type { Read } from './trial-trajectories.ts'

/** What was said in a trial or a step of it, word for word. */
export interface ExactTalk {
  readonly conversations: readonly ExactConversation[]
  readonly told: Told
}

/** Reads `exchanges.jsonl`, or what Harbor leaves instead; says what is wrong when neither gives exact conversations. */
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
