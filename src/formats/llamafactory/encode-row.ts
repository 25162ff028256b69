import type { DataRow, DatasetShape } from '../sft-dataset/recognize.ts'
import type { ChatTemplate, Slot } from './known-keys.ts'

/** A message as LLaMA-Factory sees it. */
export interface Turn {
  readonly role: 'user' | 'assistant' | 'observation' | 'function'
  readonly content: string
  /** True if the row says not to learn from it. The trainer ignores that; only `mask_history` leaves replies out. */
  readonly masked?: boolean
}

/** A row as LLaMA-Factory sees it: turns that alternate between the two sides. */
export interface TrainingRow {
  readonly system: string
  /** JSON, or empty. */
  readonly tools: string
  readonly turns: readonly Turn[]
}

type Message = Readonly<Record<string, unknown>>

/** Converts a dataset row to LLaMA-Factory's form; null for a row that it skips because the sides do not alternate. */
export function toTrainingRow(row: DataRow, shape: DatasetShape): TrainingRow | null {
  const { formatting, columns } = shape
  const own = textOf(columns.system === undefined ? null : row[columns.system])
  const offered = columns.tools === undefined ? '' : row[columns.tools]
  const tools = typeof offered === 'string' ? offered : offered == null ? '' : JSON.stringify(offered)
  if (formatting === 'alpaca') return { system: own, tools, turns: alpacaTurns(row, columns) }
  const value = row[columns.messages ?? '']
  const messages: Message[] = Array.isArray(value) ? value.map((each) => Object(each)) : []
  const tags = shape.tags ?? {}
  const [first] = messages
  const hasSystem = first !== undefined && first[tags.role_tag ?? ''] === tags.system_tag
  const said = hasSystem ? messages.slice(1) : messages
  const turns = said.map((message, i) => {
    const turn = turnOf(message, tags, formatting === 'openai')
    const masked = message.train === false || (row.train_on === 'last' && i < said.length - 1)
    return turn && masked && isReply(turn) ? { ...turn, masked } : turn
  })
  const whole = turns.filter((turn) => turn !== null)
  const joined = formatting === 'openai' ? joinObservations(whole) : whole
  if (whole.length < turns.length || joined.length === 0 || joined.length % 2 !== 0) return null
  const alternates = joined.every(({ role }, i) => (role === 'user' || role === 'observation') === (i % 2 === 0))
  return alternates ? { system: hasSystem ? textOf(first[tags.content_tag ?? '']) : own, tools, turns: joined } : null
}

function isReply({ role }: Turn): boolean {
  return role === 'assistant' || role === 'function'
}

/** Whether the trainer learns from replies that the row masks. */
export function trainsOnMasked({ turns }: TrainingRow, maskHistory: boolean): boolean {
  return (maskHistory ? turns.slice(-1) : turns).some(({ masked }) => masked === true)
}

function alpacaTurns(row: DataRow, columns: DatasetShape['columns']): Turn[] {
  const asked = [columns.prompt, columns.query].map((name) => textOf(name === undefined ? null : row[name]))
  const answer = textOf(columns.response === undefined ? null : row[columns.response])
  return [
    { role: 'user', content: asked.filter((text) => text !== '').join('\n') },
    { role: 'assistant', content: answer },
  ]
}

function turnOf(message: Message, tags: Readonly<Record<string, string>>, readsCalls: boolean): Turn | null {
  const said = message[tags.role_tag ?? '']
  const content = textOf(message[tags.content_tag ?? ''])
  const calls = message.tool_calls
  if (readsCalls && said === tags.assistant_tag && Array.isArray(calls) && calls.length > 0)
    return { role: 'function', content: JSON.stringify(calls.map((call) => Object(call).function)) }
  if (said === tags.user_tag) return { role: 'user', content }
  if (said === tags.assistant_tag) return { role: 'assistant', content }
  if (said === tags.observation_tag) return { role: 'observation', content }
  return said === tags.function_tag ? { role: 'function', content } : null
}

/** Merges the results of parallel calls into one turn. */
function joinObservations(turns: readonly Turn[]): Turn[] {
  const joined: Turn[] = []
  for (const turn of turns) {
    const last = joined.at(-1)
    if (turn.role === 'observation' && last?.role === 'observation')
      joined[joined.length - 1] = {
        ...last,
        content: `${last.content}\n</tool_response>\n<tool_response>\n${turn.content}`,
      }
    else joined.push(turn)
  }
  return joined
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The training settings that determine a row's length. */
export interface EncodeOptions {
  readonly template: ChatTemplate
  readonly cutoffLen: number
  readonly maskHistory: boolean
  readonly trainOnPrompt: boolean
  /** True if the model has a beginning-of-text token. */
  readonly hasBos: boolean
  readonly count: (text: string) => number
}

/** A row's length, and how many of its tokens are learned from after truncation and masking. */
export interface EncodedLength {
  readonly tokens: number
  readonly trainable: number
  readonly truncated: boolean
}

/**
 * Counts like LLaMA-Factory: turn by turn, each cut to the remaining room. The text it adds around tools is not
 * counted.
 */
export function encodedLength({ system, tools, turns }: TrainingRow, options: EncodeOptions): EncodedLength {
  const { template, count, cutoffLen } = options
  // The trainer adds its end-of-turn token if the model has none.
  const countText = (text: string) => {
    const parts = template.eos === null ? [text] : text.split(template.eos)
    return parts.reduce((sum, part) => sum + count(part), parts.length - 1)
  }
  const sized = (slots: readonly Slot[], content: string) =>
    slots.reduce(
      (sum, slot) =>
        sum +
        (typeof slot === 'string'
          ? countText(slot.replace('{{content}}', () => content))
          : 'special' in slot && slot.special === 'bos_token'
            ? Number(options.hasBos)
            : 1),
      0,
    )
  const head = system || template.defaultSystem
  const opening = sized(template.prefix, '') + (head || tools ? sized(template.system, head + tools) : 0)
  const pairs = turns.flatMap((asked, i) => {
    const answer = turns[i + 1]
    if (i % 2 !== 0 || answer === undefined) return []
    const source = sized(template[asked.role], asked.content) + (i === 0 ? opening : 0)
    // With mask_history, reasoning templates strip thoughts from all replies but the last.
    const isBare = template.isReasoning && options.maskHistory && i + 2 < turns.length
    const target = isBare
      ? sized(template[answer.role], withoutThought(answer.content, template))
      : sized(template[answer.role], answer.content) + thoughtOf(answer.content, options)
    return [{ source, target, masked: answer.masked === true }]
  })
  const tokens = pairs.reduce((sum, { source, target }) => sum + source + target, template.efficientEos ? 1 : 0)
  return { tokens, trainable: trainableOf(pairs, options), truncated: tokens > cutoffLen }
}

function withoutThought(content: string, { thoughtWords: [opens = '', closes = ''] }: ChatTemplate): string {
  const [first = '', ...others] = content.split(opens)
  const kept = others.map((part) => {
    const end = part.indexOf(closes)
    return end < 0 ? opens + part : part.slice(end + closes.length)
  })
  return [first, ...kept].join('').replace(/^\n+/, '')
}

/** Reasoning templates put an empty thought before an answer without one. */
function thoughtOf(content: string, { template, count }: EncodeOptions): number {
  const [opens = '', closes = ''] = template.thoughtWords
  const has = content.includes(opens.trim()) || content.includes(closes.trim())
  return template.isReasoning && !has ? count(opens + closes) : 0
}

function trainableOf(
  pairs: readonly { readonly source: number; readonly target: number; readonly masked: boolean }[],
  options: EncodeOptions,
): number {
  const { cutoffLen, maskHistory, trainOnPrompt, template } = options
  let used = template.efficientEos ? 1 : 0
  let trainable = 0
  for (const [i, { source, target, masked }] of (maskHistory ? [...pairs].reverse() : pairs).entries()) {
    if (used >= cutoffLen) break
    const kept = cut(source, target, cutoffLen - used)
    used += kept.source + kept.target
    if (!masked && (!maskHistory || i === 0)) trainable += kept.target
    if (trainOnPrompt) trainable += kept.source
  }
  return trainable
}

/** Truncates the longer side of a pair, or both in proportion. */
function cut(source: number, target: number, room: number): { readonly source: number; readonly target: number } {
  const most =
    target * 2 < room ? room : source * 2 < room ? room - source : Math.floor(room * (target / (source + target)))
  const kept = Math.min(most, target)
  return { source: Math.min(Math.max(room - kept, 0), source), target: kept }
}

/** A row as LLaMA-Factory's text; null if it has tools, whose format depends on more. */
export function renderRow({ system, tools, turns }: TrainingRow, template: ChatTemplate, eos: string): string | null {
  if (tools !== '' || turns.some(({ role }) => role === 'function')) return null
  const written = (slots: readonly Slot[], content: string) =>
    slots
      .map((slot) =>
        typeof slot === 'string'
          ? slot.replace('{{content}}', () => content)
          : 'token' in slot
            ? slot.token
            : slot.special === 'eos_token'
              ? eos
              : '',
      )
      .join('')
  const head = system || template.defaultSystem
  return [
    written(template.prefix, ''),
    head === '' ? '' : written(template.system, head),
    ...turns.map(({ role, content }) => written(template[role], content)),
  ].join('')
}
