import type { ModelReply, ToolCall } from '../../core/model.ts'
import { type Manner, shellArguments } from './manner.ts'
import type { CallTurn, Command, SayTurn, WorkTurn } from './turn.ts'

/** What a model says in one turn. */
export interface Speech {
  readonly text: string
  readonly reasoning: string | null
  readonly toolCalls: readonly Omit<ToolCall, 'id'>[]
  readonly finish: ModelReply['finish']
}

type Spoken = WorkTurn | SayTurn | CallTurn

/** Expresses a turn as the conversation expects. */
export function renderTurn(turn: Spoken, manner: Manner): Speech {
  const { reasoning } = turn
  if (turn.kind === 'say') return { text: turn.text, reasoning, toolCalls: [], finish: turn.finish }
  if (turn.kind === 'call') {
    const toolCalls = turn.calls.map((call) => ({ name: call.name, arguments: JSON.stringify(call.arguments) }))
    return { text: turn.text, reasoning, toolCalls, finish: 'tool-calls' }
  }
  if (manner.kind === 'tools') return viaTool(turn, manner)
  return { text: renderText(turn, manner), reasoning, toolCalls: [], finish: 'stop' }
}

function renderText(turn: WorkTurn, manner: Exclude<Manner, { kind: 'tools' }>): string {
  if (manner.kind === 'json') return renderJson(turn)
  return manner.kind === 'xml' ? renderXml(turn) : renderPlain(turn, manner.mark)
}

/** A tool runs commands without a terminal, so keys that only a terminal has are left out. */
function viaTool(turn: WorkTurn, { tool }: Extract<Manner, { kind: 'tools' }>): Speech {
  const command = shellScript(turn.commands)
  const { reasoning, analysis } = turn
  if (command === '') return { text: analysis, reasoning, toolCalls: [], finish: 'stop' }
  const toolCalls = [{ name: tool.name, arguments: JSON.stringify(shellArguments(tool, command)) }]
  return { text: analysis, reasoning, toolCalls, finish: 'tool-calls' }
}

export function shellScript(commands: readonly Command[]): string {
  const typed = commands.map(({ keystrokes }) => keystrokes).filter((keys) => /\n$/.test(keys))
  return typed.join('').trimEnd()
}

function renderJson({ analysis, plan, commands, complete }: WorkTurn): string {
  const document = {
    analysis,
    plan,
    commands: commands.map(({ keystrokes, durationSec }) => ({ keystrokes, duration: durationSec })),
    ...(complete && { task_complete: true }),
  }
  return JSON.stringify(document, null, 2)
}

function renderXml({ analysis, plan, commands, complete }: WorkTurn): string {
  const keys = commands.map(
    ({ keystrokes, durationSec }) => `<keystrokes duration="${durationSec}">${keystrokes}</keystrokes>`,
  )
  return [
    '<response>',
    `<analysis>${analysis}</analysis>`,
    `<plan>${plan}</plan>`,
    '<commands>',
    ...keys,
    '</commands>',
    ...(complete ? ['<task_complete>true</task_complete>'] : []),
    '</response>',
  ].join('\n')
}

function renderPlain({ analysis, plan, commands, complete }: WorkTurn, mark: string | null): string {
  const script = shellScript(commands)
  const block = script === '' ? [] : ['```bash', script, '```']
  return [analysis, plan, ...block, complete && mark !== null ? mark : ''].filter((part) => part !== '').join('\n')
}
