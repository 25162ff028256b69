import type { ChatMessage } from '../../core/model.ts'
import { pythonFloat } from '../harbor-job/python-json.ts'
import type { SharedColumns } from '../traces/build-row.ts'
import type { ExactTurn } from '../traces/exact-conversations.ts'
import { buildExactRow } from '../traces/exact-row.ts'
import type { TraceRow } from '../traces/row.ts'
import { whole } from '../traces/trial-facts.ts'
import type { ImportedConversation, ImportedSession, ImportProblem } from './session.ts'

export interface TraceNaming {
  /** The dataset the rows come from, used in their names. */
  readonly source: string
  /** The file, and the record in it. */
  readonly where: string
}

/** The rows of a session, one for each conversation, and reports of what is no trace. */
export function* tracesOfSession(
  session: ImportedSession,
  naming: TraceNaming,
): Generator<{ readonly row: TraceRow } | { readonly problem: ImportProblem; readonly source: string }> {
  const shared = sharedColumns(session, naming)
  const counts = new Map<string, number>()
  const lastMain = session.conversations.findLast(({ source }) => source === 'main')
  for (const said of session.conversations) {
    const { source } = said
    const turns = turnsOf(said, source === 'main' && said !== lastMain)
    const own = turns.filter((turn) => turn.own).length
    if (own === 0) {
      yield { source, problem: { reason: 'no-agent-turn', detail: 'the model replied to nothing' } }
      continue
    }
    const count = (counts.get(source) ?? 0) + own
    counts.set(source, count)
    const conversation = { source, turns, tools: session.tools, count }
    const row = buildExactRow(conversation, session.agent, shared, {
      episodes: 'last',
      sharegpt: false,
      reasoning: 'column',
    })
    yield row ? { row } : { source, problem: { reason: 'no-user-turn', detail: 'it begins with the agent' } }
  }
}

/** The messages up to the model's last reply, starting with a single system message. */
function turnsOf({ messages: listed, copied }: ImportedConversation, handsOff: boolean): ExactTurn[] {
  const messages = listed.slice(0, listed.findLastIndex(({ role }) => role === 'assistant') + 1)
  const opening = messages.findIndex(({ role }) => role !== 'system')
  const systems = Math.max(0, opening)
  const system: ChatMessage[] = systems === 0 ? [] : [{ role: 'system', content: joined(messages.slice(0, systems)) }]
  const rest = messages.slice(systems).map((message, i): ExactTurn => {
    const isCopied = i + systems < copied
    const isReply = message.role === 'assistant'
    return { message, own: isReply && !isCopied, marks: isReply && isCopied ? ['context'] : [] }
  })
  const last = rest.at(-1)
  if (handsOff && last?.own) rest[rest.length - 1] = { ...last, marks: ['before-handoff'] }
  return [...system.map((message) => ({ message, own: false, marks: [] })), ...rest]
}

function firstRequest({ conversations }: ImportedSession): string | null {
  return conversations[0]?.messages.find(({ role }) => role === 'user')?.content ?? null
}

function joined(messages: readonly ChatMessage[]): string {
  return messages.map(({ content }) => content).join('\n\n')
}

function sharedColumns(session: ImportedSession, { source, where }: TraceNaming): SharedColumns {
  const { model, provider, reward } = session
  const slash = model?.indexOf('/') ?? -1
  return {
    model: model?.slice(slash + 1) ?? 'unknown-model',
    model_provider: provider ?? (slash < 0 || model === null ? 'unknown-provider' : model.slice(0, slash)),
    date: session.date ?? '',
    task: session.task ?? session.runId ?? where.replace(/^.*\//, '').replace(/\.\w+(?=$|#)/, ''),
    run_id: session.runId ?? where,
    trial_name: where,
    result: reward === null ? null : pythonFloat(reward),
    instruction: session.instruction ?? firstRequest(session),
    verifier_output: null,
    task_digest: null,
    task_checksum: null,
    attempt: null,
    reward,
    end: 'scored',
    exit: session.exit,
    boundary: null,
    step: null,
    system_effect: null,
    system_changes: [],
    input_tokens: whole(session.inputTokens),
    output_tokens: whole(session.outputTokens),
    cost_usd: session.costUsd,
    job: source,
    source,
    schema: 'trace/1',
  }
}
