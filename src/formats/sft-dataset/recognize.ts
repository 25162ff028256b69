import { UserError } from '../../core/errors.ts'
import { readJson } from '../../lib/parse-json.ts'

/** One row of any dataset. */
export type DataRow = Readonly<Record<string, unknown>>

/** The format of a dataset's rows, in the terms of LLaMA-Factory's dataset_info.json. */
export interface DatasetShape {
  readonly formatting: 'sharegpt' | 'openai' | 'alpaca'
  readonly columns: Readonly<Record<string, string>>
  readonly tags?: Readonly<Record<string, string>>
}

/** What the user or the dataset says about its columns; takes precedence over what the rows look like. */
export interface ShapeHints {
  readonly formatting?: string | undefined
  readonly columns?: Readonly<Record<string, string>>
  readonly tags?: Readonly<Record<string, string>>
}

const roleKeys = ['role', 'from']
const contentKeys = ['content', 'value']
/** The usual names of message columns, likeliest first. */
const usualNames = ['messages', 'conversations', 'conversation']

/** The roles of messages, with the names that datasets use for them. */
export const roleNames = {
  user_tag: ['user', 'human'],
  assistant_tag: ['assistant', 'gpt', 'model'],
  system_tag: ['system', 'developer'],
  observation_tag: ['tool', 'observation', 'function', 'ipython', 'tool_response'],
  function_tag: ['function_call', 'tool_call'],
} as const

type RoleTag = keyof typeof roleNames
const roleTags = Object.keys(roleNames) as RoleTag[]

/** Detects the format from sample rows; rows that cannot be trained on are a UserError listing the columns found. */
export function recognizeShape(rows: readonly DataRow[], hints: ShapeHints, where: string): DatasetShape {
  if (rows.length === 0)
    throw new UserError(`${where}: expected rows to train on, found none`, 'check that the dataset is complete')
  const found = columnsOf(rows)
  for (const [use, column] of Object.entries(hints.columns ?? {}))
    if (!found.includes(column))
      throw new UserError(`${where}: expected a column ${column} (${use}), found ${listed(found)}`, hintFor(use))
  const isAlpaca = hints.formatting === 'alpaca' || (hints.columns?.prompt && !hints.columns.messages)
  const messages = isAlpaca ? null : (hints.columns?.messages ?? messagesColumn(rows, found, where))
  const shape = messages === null ? alpacaShape(rows, found, hints) : chatShape(rows, messages, hints, where)
  if (shape !== null) return shape
  throw new UserError(
    `${where}: expected a column of messages (role and content, or from and value), found ${listed(found)}`,
    'pass its name with --messages, and its keys with --role-tag and --content-tag',
  )
}

function columnsOf(rows: readonly DataRow[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))]
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'no columns'
  const shown = names.slice(0, 20).map((name) => name.slice(0, 60).replace(/[\s\p{Cc}]+/gu, ' '))
  return `the columns ${shown.join(', ')}${names.length > 20 ? `, and ${names.length - 20} more` : ''}`
}

function hintFor(use: string): string {
  return `--${use.replaceAll('_', '-')}${['prompt', 'query', 'response', 'history'].includes(use) ? '-column' : ''} names it`
}

/** The column whose values are lists of messages; the usual names are tried first. */
function messagesColumn(rows: readonly DataRow[], columns: readonly string[], where: string): string | null {
  const fitting = columns.filter((name) => {
    const lists = rows.map((row) => row[name]).filter((value) => Array.isArray(value) && value.length > 0)
    return lists.length > 0 && lists.every((list) => keysOf([list as unknown[]], {}) !== null)
  })
  const usual = usualNames.find((name) => fitting.includes(name))
  if (usual === undefined && fitting.includes('prompt') && fitting.includes('completion'))
    throw new UserError(
      `${where}: the rows are split into prompt and completion, which TRL reads and LLaMA-Factory does not`,
      "export them with spelling: 'sharegpt', or join the two columns",
    )
  if (usual !== undefined || fitting.length < 2) return usual ?? fitting[0] ?? null
  throw new UserError(
    `${where}: several columns hold messages: ${fitting.slice(0, 10).join(', ')}`,
    'choose the one to train on with --messages',
  )
}

/** The keys under which messages store speaker and text. */
function keysOf(
  lists: readonly (readonly unknown[])[],
  tags: Readonly<Record<string, string>>,
): { readonly role: string; readonly content: string } | null {
  const messages = lists.flat()
  const isIn = (key: string) =>
    messages.length > 0 &&
    messages.every((message) => typeof message === 'object' && message !== null && key in message)
  const isText = (key: string) => messages.every((message) => typeof Object(message)[key] === 'string')
  const role = [tags.role_tag ?? roleKeys].flat().find((key) => isIn(key) && isText(key))
  const content = [tags.content_tag ?? contentKeys].flat().find((key) => isIn(key) || (tags.content_tag ?? '') === key)
  return role === undefined || content === undefined ? null : { role, content }
}

function chatShape(rows: readonly DataRow[], column: string, hints: ShapeHints, where: string): DatasetShape | null {
  const lists = rows.map((row) => row[column]).filter((value): value is unknown[] => Array.isArray(value))
  const keys = keysOf(lists, hints.tags ?? {})
  if (keys === null) return null
  const messages: Readonly<Record<string, unknown>>[] = lists.flat().map((message) => Object(message))
  const spoken = new Set(messages.map((message) => String(message[keys.role])))
  const tools = toolsColumn(rows, hints)
  const calls = messages.some(({ tool_calls: made }) => Array.isArray(made) && made.length > 0)
  const shape = {
    formatting: openAiOrNot(hints.formatting, calls || tools?.isList === true),
    columns: {
      messages: column,
      ...systemColumn(rows),
      ...(tools && { tools: tools.name }),
      ...hints.columns,
    },
    tags: { role_tag: keys.role, content_tag: keys.content, ...tagsOf(spoken, hints.tags ?? {}, where) },
  }
  const odd = messages.findIndex(
    (message) => typeof message[keys.content] !== 'string' && !(calls && message[keys.content] == null),
  )
  if (odd < 0) return shape
  throw new UserError(
    `${where}: ${column}: expected messages whose ${keys.content} is a text, found ${kindOf(messages[odd]?.[keys.content])}`,
    'the trainer accepts only text: convert the column, or choose another with --messages or --content-tag',
  )
}

/**
 * Only this format supports `tool_calls` and tools that are not JSON text; it also adds words to the system message.
 */
function openAiOrNot(asked: string | undefined, needsIt: boolean): 'openai' | 'sharegpt' {
  if (asked === 'openai' || asked === 'sharegpt') return asked
  return needsIt ? 'openai' : 'sharegpt'
}

function kindOf(value: unknown): string {
  return value == null ? 'nothing' : Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}

/** One tag for each role in the rows; LLaMA-Factory accepts only one name per role. */
function tagsOf(
  spoken: ReadonlySet<string>,
  given: Readonly<Record<string, string>>,
  where: string,
): Readonly<Record<string, string>> {
  const named = new Set(roleTags.map((tag) => given[tag]).filter((name) => name !== undefined))
  const tags: Record<string, string> = {}
  for (const tag of roleTags) {
    const names = roleNames[tag].filter((name) => spoken.has(name) && !named.has(name))
    const [first, second] = given[tag] === undefined ? names : [given[tag]]
    if (second !== undefined)
      throw new UserError(
        `${where}: the rows contain both ${first} and ${second}, which are the same role for the trainer`,
        'convert the rows so that each role has one name',
      )
    if (first !== undefined) tags[tag] = first
  }
  const known = new Set(Object.values(tags))
  const strange = [...spoken].filter((name) => !known.has(name))
  if (strange.length > 0)
    throw new UserError(
      `${where}: unknown roles ${strange
        .slice(0, 5)
        .map((name) => JSON.stringify(name.slice(0, 40)))
        .join(', ')} beside ${[...known].join(', ') || 'none that are known'}`,
      'map them with --user-tag, --assistant-tag, --system-tag, --observation-tag or --function-tag',
    )
  if (tags.assistant_tag === undefined && tags.function_tag === undefined)
    throw new UserError(
      `${where}: expected messages of an assistant, found the roles ${[...spoken].join(', ')}`,
      'pass the name of that role with --assistant-tag',
    )
  return filledTags(tags)
}

/** Fills missing tags: LLaMA-Factory would leave them undefined, which matches a message without a role. */
function filledTags(tags: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const human = tags.user_tag === 'human' || tags.assistant_tag === 'gpt'
  const usual: Readonly<Record<RoleTag, string>> = human
    ? {
        user_tag: 'human',
        assistant_tag: 'gpt',
        system_tag: 'system',
        observation_tag: 'observation',
        function_tag: 'function_call',
      }
    : {
        user_tag: 'user',
        assistant_tag: 'assistant',
        system_tag: 'system',
        observation_tag: 'tool',
        function_tag: 'function_call',
      }
  const taken = new Set(Object.values(tags))
  const free = roleTags.filter((tag) => tags[tag] === undefined && !taken.has(usual[tag]))
  return { ...Object.fromEntries(free.map((tag) => [tag, usual[tag]])), ...tags }
}

/** The tools offered to the model in a row: as JSON text, or as a list. */
function toolsColumn(rows: readonly DataRow[], hints: ShapeHints): { name: string; isList: boolean } | null {
  const names = hints.columns?.tools ? [hints.columns.tools] : ['tools', 'tool_definitions']
  for (const name of names) {
    const values = rows.map((row) => row[name]).filter((value) => value != null && value !== '' && value !== '[]')
    if (values.length === 0) continue
    if (values.every((value) => Array.isArray(value))) return { name, isList: true }
    if (values.every((value) => typeof value === 'string' && isJson(value))) return { name, isList: false }
  }
  return null
}

function isJson(text: string): boolean {
  try {
    return typeof readJson(text) === 'object'
  } catch {
    return false
  }
}

function systemColumn(rows: readonly DataRow[]): { system?: string } {
  const values = rows.map((row) => row.system).filter((value) => value != null)
  return values.length > 0 && values.every((value) => typeof value === 'string') ? { system: 'system' } : {}
}

/** The format of rows with one instruction and one answer. */
function alpacaShape(rows: readonly DataRow[], found: readonly string[], hints: ShapeHints): DatasetShape | null {
  const isText = (name: string) =>
    found.includes(name) && rows.every((row) => row[name] == null || typeof row[name] === 'string')
  const pick = (use: string, names: readonly string[]) => hints.columns?.[use] ?? names.find(isText)
  const prompt = pick('prompt', ['instruction', 'prompt', 'question'])
  const response = pick('response', ['output', 'response', 'completion', 'answer'])
  if (prompt === undefined || response === undefined) return null
  const query = pick('query', ['input'])
  return {
    formatting: 'alpaca',
    columns: { prompt, response, ...(query && { query }), ...systemColumn(rows), ...hints.columns },
  }
}
