import { commandNames } from '../../lib/command-names.ts'
import type { TraceStep } from './trajectory.ts'
import { textOf } from './turns.ts'

/** What an agent did in one tool call. */
export interface ShellCall {
  readonly tool: string
  /** What was passed to a shell or typed into a terminal; null for other tools. */
  readonly script: string | null
}

/** Argument names under which agents' tools take a script. */
const scriptKeys = ['keystrokes', 'command', 'cmd', 'commands', 'script', 'bash_command']

/** The calls of one turn. An agent without tools may have written its commands as blocks in its message. */
export function shellCalls(step: TraceStep): ShellCall[] {
  const calls = (step.tool_calls ?? []).map((call) => ({
    tool: call.function_name.slice(0, 80),
    script: scriptOf(call.arguments ?? {}),
  }))
  return calls.length > 0 ? calls : blocksOf(textOf(step.message))
}

function scriptOf(given: Readonly<Record<string, unknown>>): string | null {
  for (const key of scriptKeys) {
    const value = Object.hasOwn(given, key) ? given[key] : undefined
    if (typeof value === 'string') return value
    if (Array.isArray(value)) return scriptOfWords(value.map(String))
  }
  return null
}

/** Extracts the script from `bash -lc SCRIPT`. */
function scriptOfWords(words: readonly string[]): string {
  const isShell = /(^|\/)(ba|da|z)?sh$/.test(words[0] ?? '') && /^-\w*c$/.test(words[1] ?? '')
  return isShell ? (words[2] ?? '') : words.join(' ')
}

function blocksOf(message: string): ShellCall[] {
  const blocks = message.matchAll(/^```(?:bash|sh|shell|mswea_bash_command)[ \t]*\n([\s\S]*?)^```/gm)
  return [...blocks].map(([, script = '']) => ({ tool: 'block in the message', script }))
}

/** Keys that are pressed rather than typed as text, in tmux's notation. */
const pressed = /^(?:[CMS]-\S{1,3}|Enter|Escape|Tab|BSpace|Space|Up|Down|Left|Right|Home|End|PageUp|PageDown|F\d+)$/

/** The programs that a script calls; a pressed key is reported as `key`. */
export function programsIn(script: string): string[] {
  const text = script.trim()
  if (pressed.test(text)) return [`key ${text}`]
  // Without a line break it went to a program that reads single keys, such as a pager.
  if (!/\s/.test(script) && script.length <= 2) return script === '' ? [] : ['key']
  return commandNames(script)
}
