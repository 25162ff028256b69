import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { readDocument } from '../../formats/harbor-job/read-document.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { parseStrict } from '../../formats/strict-config.ts'
import { faultSchema } from './fault.ts'
import { type Turn, work } from './turn.ts'

/** Hand-written turns. */
export interface Script {
  /**
   * `conversation`: each conversation plays its own turns, matched by its content. `requests`: the n-th request gets
   * the n-th turn, whatever its content.
   */
  readonly order: 'conversation' | 'requests'
  /** For conversations that match no task's list; null when the script has none. */
  readonly turns: readonly Turn[] | null
  readonly tasks: readonly { readonly match: string; readonly turns: readonly Turn[] }[]
}

const commandSchema = z.union([
  z.string(),
  z.strictObject({ keystrokes: z.string(), duration: z.number().nonnegative().default(1) }),
])

const spoken = { reasoning: z.string().optional() }

const turnSchema = z.union([
  z.string(),
  z.strictObject({ fault: z.union([faultSchema.shape.kind, faultSchema]) }),
  z.strictObject({
    ...spoken,
    reply: z.string(),
    finish: z.enum(['stop', 'length', 'content-filter']).default('stop'),
  }),
  z.strictObject({
    ...spoken,
    text: z.string().default(''),
    tool_calls: z.array(z.strictObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })).min(1),
  }),
  z.strictObject({
    ...spoken,
    analysis: z.string().default(''),
    plan: z.string().default(''),
    commands: z.array(commandSchema).default([]),
    task_complete: z.boolean().default(false),
  }),
])

const turns = z.array(turnSchema)
const scriptSchema = z.strictObject({
  order: z.enum(['conversation', 'requests']).default('conversation'),
  turns: turns.optional(),
  tasks: z.array(z.strictObject({ match: z.string().min(1), turns })).default([]),
})

/** Reads a script: a list of turns, or lists for tasks that are identified by a text in their prompt. */
export async function loadScript(path: string): Promise<Script> {
  return parseScript(await orUserError(path, () => readFile(path, 'utf8')), path)
}

export function parseScript(text: string, path: string): Script {
  const document = readDocument(text, path)
  const hint = 'a turn is a text, {reply}, {analysis, plan, commands, task_complete}, {text, tool_calls} or {fault}'
  const script = parseStrict(scriptSchema, Array.isArray(document) ? { turns: document } : document, path, hint)
  if (script.turns === undefined && script.tasks.length === 0)
    throw new UserError(`${path}: expected turns or tasks, got neither`, hint)
  if (script.order === 'requests' && script.turns === undefined)
    throw new UserError(`${path}: expected turns for the order requests, got only tasks`, 'list them under turns')
  return {
    order: script.order,
    turns: script.turns?.map(toTurn) ?? null,
    tasks: script.tasks.map((task) => ({ match: task.match, turns: task.turns.map(toTurn) })),
  }
}

function toTurn(turn: z.output<typeof turnSchema>): Turn {
  if (typeof turn === 'string') return { kind: 'say', text: turn, reasoning: null, finish: 'stop' }
  if ('fault' in turn) {
    const fault = typeof turn.fault === 'string' ? faultSchema.parse({ kind: turn.fault }) : turn.fault
    return { kind: 'fault', fault }
  }
  const reasoning = turn.reasoning ?? null
  if ('reply' in turn) return { kind: 'say', text: turn.reply, reasoning, finish: turn.finish }
  if ('tool_calls' in turn) return { kind: 'call', text: turn.text, calls: turn.tool_calls, reasoning }
  const commands = turn.commands.map((command) =>
    typeof command === 'string'
      ? { keystrokes: command, durationSec: 1 }
      : { keystrokes: command.keystrokes, durationSec: command.duration },
  )
  return work({ analysis: turn.analysis, plan: turn.plan, commands, complete: turn.task_complete, reasoning })
}
