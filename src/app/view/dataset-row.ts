import type { ViewText } from '../../core/view.ts'
import type { ViewDataMessage, ViewDataRowPage, ViewEvidence, ViewLineageStop } from '../../core/view-data.ts'

import {
  type Message,
  messageColumns,
  messagesOf,
  type RowRecord,
  renderValue,
} from '../../formats/conversations/messages.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { type Sighting, traceLineage } from '../../run/recipe/lineage.ts'
import { agentTurns } from '../../stages/shared/rollout-text/commands.ts'
import { findSign } from '../../stages/shared/rollout-text/hacking-signs.ts'
import type { OpenDataset } from './dataset-shelf.ts'
import { NotHere } from './library-job.ts'

/** How much of a text is sent at first; the rest on request. */
const shownChars = 20_000
/** How many messages are sent at once. */
const shownMessages = 200

/** Resolves a row key: its number, or `=` followed by its id. */
export async function numberOf({ index, dataset }: OpenDataset, key: string): Promise<number> {
  const id = key.startsWith('=') ? key.slice(1) : null
  const has = () => (id === null ? index.placeOf(Number(key)) >= 0 : index.numberOf(id) !== null)
  await index.wait(60_000, has)
  const number = id === null ? (/^\d{1,15}$/.test(key) ? Number(key) : -1) : (index.numberOf(id) ?? -1)
  if (index.placeOf(number) >= 0) return number
  throw new NotHere(`the dataset ${dataset.name} has no row ${JSON.stringify(key)}`)
}

export interface RowAsk {
  /** The first message to return. */
  readonly offset: number
  /** The URL of a trial's page, if there is one. */
  readonly linkOf: (job: string, trial: string) => Promise<string | null>
  /** Traces a row through its recipe. */
  readonly trace?: typeof traceLineage
}

/** A row of a dataset with its messages from `offset` on. */
export async function viewDataRow(opened: OpenDataset, number: number, ask: RowAsk): Promise<ViewDataRowPage> {
  const { offset } = ask
  const { index, dataset } = opened
  const place = index.placeOf(number)
  const row = index.rows[place]
  const record = await index.source.read(number)
  if (!row || !record) throw new NotHere(`the dataset ${dataset.name} has no row ${number}`)
  const messages = messagesOf(record)
  return {
    ...{ dataset, row, offset, total: messages.length },
    previous: index.rows[place - 1]?.number ?? null,
    next: index.rows[place + 1]?.number ?? null,
    messages: messages.slice(offset, offset + shownMessages).map(viewMessage),
    evidence: evidenceIn(messages, record),
    lineage: await lineageOf(opened, record, ask),
    fields: Object.entries(record)
      .filter(([name, value]) => value !== null && !(isConversation(name) && Array.isArray(value)))
      .map(([name, value]) => ({ name, text: cut(typeof value === 'string' ? value : renderValue(value, 2), 4000) })),
  }
}

/** The next part of one text of a row. */
export async function viewRowText(
  { index, dataset }: OpenDataset,
  number: number,
  at: { readonly message: number; readonly part: string; readonly from: number },
): Promise<ViewText> {
  const record = await index.source.read(number)
  const message = record && messagesOf(record)[at.message]
  const text = message && partOf(message, at.part)
  if (text === null || text === undefined) throw new NotHere(`the row ${number} of ${dataset.name} has no such text`)
  return { text: text.slice(at.from, at.from + windowChars), chars: text.length }
}

const windowChars = 200_000

function partOf({ content, reasoning, calls }: Message, part: string): string | null {
  if (part === 'content') return content
  if (part === 'reasoning') return reasoning
  return calls[Number(part)]?.arguments ?? null
}

function isConversation(name: string): boolean {
  return (messageColumns as readonly string[]).includes(name) || name === 'tool_calls' || name === 'reasoning'
}

function viewMessage({ role, content, reasoning, calls }: Message): ViewDataMessage {
  return {
    role: role.slice(0, 100),
    content: cut(content),
    reasoning: reasoning === null ? null : cut(reasoning),
    calls: calls.slice(0, 100).map((call) => ({ name: call.name.slice(0, 200), text: cut(call.arguments) })),
  }
}

function cut(text: string, most = shownChars): ViewText {
  return text.length <= most ? { text } : { text: text.slice(0, most), chars: text.length }
}

/** What the reward hacking filter would flag, in every turn and not only the first. */
function evidenceIn(messages: readonly Message[], record: RowRecord): ViewEvidence[] {
  const context = Math.min(Number(record.context_messages ?? 0) || 0, messages.length)
  const places = messages.flatMap(({ role }, i) => (i >= context && role === 'assistant' ? [i] : []))
  const calls = messages.flatMap((message, i) =>
    message.calls.map((call) => ({ message: i, id: '', name: call.name, arguments: call.arguments })),
  )
  const conversations = messages.map(({ role, content }) => ({ role, content }))
  const turns = agentTurns({ conversations, context_messages: context, tool_calls: calls })
  const instruction = messages.find(({ role }) => role === 'user')?.content ?? ''
  const found: ViewEvidence[] = []
  for (const { number, content, commands } of turns)
    for (const command of commands) {
      const evidence = findSign(command, content, instruction, nothingWaived)
      if (evidence) found.push({ message: places[number - 1] ?? 0, ...evidence, quote: evidence.quote.slice(0, 400) })
      if (found.length >= mostEvidence) return found
    }
  return found
}

const nothingWaived: ReadonlySet<never> = new Set()
const mostEvidence = 100

/** The path from source to row, as far as it is recorded. */
async function lineageOf(
  { run, dataset }: OpenDataset,
  record: RowRecord,
  { linkOf, trace = traceLineage }: RowAsk,
): Promise<ViewLineageStop[]> {
  const id = typeof record.id === 'string' ? record.id : null
  const origin = originOf(record)
  const found = run && id !== null ? await trace(run.dir, run.report, id) : null
  const trial = await trialStop(record, linkOf)
  if (!run || !found) {
    const known = [...origin, ...(trial ? [trial] : [])]
    return known.length === 0 ? [] : [...known, { ...stop('row', dataset.name, id), here: true }]
  }
  const { lineage = null } = found.task ?? {}
  const stops = lineage ? [sourceStop(lineage.pipeline, lineage.rowId, lineage.strategy)] : origin
  for (const sighting of found.way) {
    const isTrace = sighting.kept && typeof sighting.row.trial_name === 'string'
    if (isTrace && trial && !stops.includes(trial)) stops.push(trial)
    stops.push(stepStop(run.id, sighting, id ?? '', dataset.id))
  }
  return stops.some(({ here }) => here) ? stops : [...stops, { ...stop('dataset', dataset.name, id), here: true }]
}

/** What a row says about its origin: its source and its task. */
function originOf(record: RowRecord): ViewLineageStop[] {
  const lineage = Object(typeof record.lineage === 'string' ? parseJson(record.lineage) : record.lineage)
  const stops: ViewLineageStop[] = []
  if (typeof lineage.pipeline === 'string')
    stops.push(sourceStop(lineage.pipeline, String(lineage.rowId), String(lineage.strategy)))
  else if (typeof record.source === 'string') stops.push(stop('source', record.source, null))
  const digest = typeof record.task_digest === 'string' ? `digest ${record.task_digest.slice(0, 16)}` : null
  if (typeof record.task === 'string') stops.push(stop('task', record.task, digest))
  return stops
}

function stop(kind: string, text: string, detail: string | null): ViewLineageStop {
  return {
    kind,
    text: text.slice(0, 300),
    detail: detail?.slice(0, 300) ?? null,
    dropped: false,
    here: false,
    link: null,
  }
}

function sourceStop(pipeline: string, rowId: string, strategy: string): ViewLineageStop {
  return stop('source', `${pipeline}, row ${rowId}`, `by ${strategy}`)
}

async function trialStop(
  { job, trial_name: trial, result }: RowRecord,
  linkOf: RowAsk['linkOf'],
): Promise<ViewLineageStop | null> {
  if (typeof trial !== 'string' || typeof job !== 'string') return null
  const link = await linkOf(job, trial)
  return { ...stop('trial', trial, result === null ? null : `result ${String(result)}`), link }
}

/** A step that had the row, or dropped it. */
function stepStop(run: string, sighting: Sighting, id: string, dataset: string): ViewLineageStop {
  if (!sighting.kept) {
    const why = `dropped: ${sighting.reason}${sighting.detail ? ` (${sighting.detail})` : ''}`
    return { ...stop(sighting.stage, id, why), dropped: true }
  }
  const own = String(sighting.row.id ?? id)
  const set = `${run}:${sighting.step}`
  const here = set === dataset && own === id
  const link = here ? null : `#/data/${encodeURIComponent(set)}/rows/${encodeURIComponent(`=${own}`)}`
  return { ...stop(sighting.step, own, null), here, link }
}
