import type { ChatMessage, ModelRequest, ToolDefinition } from '../../core/model.ts'

/** How a conversation expects commands to be expressed. */
export type Manner =
  | { readonly kind: 'json' }
  | { readonly kind: 'xml' }
  /** `mark`: what to write when the work is done, if the instructions name such a word. */
  | { readonly kind: 'plain'; readonly mark: string | null }
  | { readonly kind: 'tools'; readonly tool: ToolDefinition }

/** Determines from the tools and the instructions how commands must be expressed. */
export function mannerOf({ messages, tools = [] }: ModelRequest): Manner {
  const tool = shellTool(tools)
  if (tool) return { kind: 'tools', tool }
  const told = messages.filter(({ role }) => role === 'system' || role === 'user').map(({ content }) => content)
  const rules = told.slice(0, 2).join('\n')
  if (/<keystrokes\b/.test(rules)) return { kind: 'xml' }
  if (/"keystrokes"/.test(rules)) return { kind: 'json' }
  return { kind: 'plain', mark: doneMark(messages) }
}

/**
 * A word in capitals like TASK_COMPLETE in an agent's own instructions; a task's instruction may contain unrelated
 * ones.
 */
function doneMark(messages: readonly ChatMessage[]): string | null {
  const first = messages[0]
  return (first?.role === 'system' ? /\b[A-Z]+(?:_[A-Z]+)+\b/.exec(first.content)?.[0] : null) ?? null
}

/** Names that agents use for the tool that runs a command, in lower case, likeliest first. */
const shellNames = [
  'bash',
  'exec_command',
  'run_shell_command',
  'shell',
  'execute_command',
  'run_command',
  'execute_bash',
  'run_terminal_cmd',
  'terminal',
  'local_shell',
]

function shellTool(tools: readonly ToolDefinition[]): ToolDefinition | null {
  const found = shellNames.map((name) => tools.find((tool) => tool.name.toLowerCase() === name))
  return found.find((tool) => tool !== undefined) ?? null
}

/** The arguments that make a shell tool run a command, whatever its schema calls them. */
export function shellArguments({ parameters }: ToolDefinition, command: string): Record<string, unknown> {
  const properties = entriesOf(parameters.properties)
  const key = commandKeys.find((name) => properties.has(name)) ?? 'command'
  const isList = typeOf(properties.get(key)) === 'array'
  const required = Array.isArray(parameters.required) ? parameters.required.map(String) : []
  const others = required.filter((name) => name !== key).map((name) => [name, filler(properties.get(name))] as const)
  const patience = [...patienceKeys].filter(([name]) => properties.has(name))
  return { [key]: isList ? ['bash', '-lc', command] : command, ...Object.fromEntries([...others, ...patience]) }
}

const commandKeys = ['command', 'cmd', 'script', 'input']

/** Names of a tool's parameter for the time limit of a command, each with its unit. */
const patienceKeys = new Map([
  ['timeout', 600_000],
  ['timeout_ms', 600_000],
  ['yield_time_ms', 30_000],
])

function filler(schema: unknown): unknown {
  const properties = entriesOf(schema)
  const [choice] = Array.isArray(properties.get('enum')) ? (properties.get('enum') as unknown[]) : []
  if (choice !== undefined) return choice
  const type = typeOf(schema)
  if (type === 'boolean') return false
  if (type === 'number' || type === 'integer') return 0
  if (type === 'array') return []
  return type === 'object' ? {} : 'runs the next step'
}

function typeOf(schema: unknown): unknown {
  return entriesOf(schema).get('type')
}

function entriesOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : [])
}

/** Everything before the model's first reply, where a task's instruction is found. */
export function openingText(messages: readonly ChatMessage[]): string {
  const first = messages.findIndex(({ role }) => role === 'assistant')
  const opening = first < 0 ? messages : messages.slice(0, first)
  return opening
    .filter(({ role }) => role === 'user')
    .map(({ content }) => content)
    .join('\n')
}
