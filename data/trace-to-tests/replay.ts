import { readJson } from 'ot-agent'

/** What an agent did in its terminal, as a script that repeats it; `problem` says why there is none. */
export function replayScript(conversations: unknown): { readonly script: string } | { readonly problem: string } {
  const turns = Array.isArray(conversations) ? conversations : []
  const typed = turns
    .filter((turn) => roleOf(turn) === 'assistant' || roleOf(turn) === 'gpt')
    .flatMap((turn) => keystrokesIn(contentOf(turn)))
  const commands = linesTyped(typed)
  if (commands.trim() === '') return { problem: 'found neither a solution nor commands in the trace' }
  const [program] = commands.match(interactive) ?? []
  if (program !== undefined) return { problem: `it worked in a program that takes keys: ${program.trim()}` }
  // All in one shell, as in a terminal, where a failed command does not stop the next one.
  return { script: `#!/bin/bash\ncd ${startIn(turns)}\n${commands}exit 0\n` }
}

/** The terminal's starting folder, taken from the prompt on its first screen. */
function startIn(turns: readonly unknown[]): string {
  const [first] = turns.filter((turn) => /^(?:user|human)$/.test(roleOf(turn)))
  return /^\w+@[\w.-]+:(\/[\w./-]*)[#$]/m.exec(contentOf(first))?.[1] ?? '/app'
}

/** The task given to an agent in its first turn, or null. */
export function taskIn(conversations: unknown): string | null {
  const [first] = Array.isArray(conversations)
    ? conversations.filter((turn) => /^(?:user|human)$/.test(roleOf(turn)))
    : []
  const [, task] =
    /\nTask Description:\n([\s\S]*?)\n+Current (?:terminal state|Terminal Screen|state)\b/.exec(contentOf(first)) ?? []
  return task === undefined || task.trim() === '' ? null : task.trim()
}

/** Programs that take over the terminal's input from the shell. */
const interactive =
  /^(?:sudo )?(?:(?:vim?|nano|emacs|less|more|man|top|htop|ed|tmux|screen)(?:\s.*)?|(?:python3?|node|bash|sh|mysql|psql|gdb|irb|ghci|sqlite3(?: \S+)?)\s*)$/m

/** All completed input: an unfinished line was never run, nor was an abandoned one. */
function linesTyped(typed: readonly string[]): string {
  let text = ''
  for (const keys of typed) {
    const name = keys.trim()
    if (name === 'C-c') text = text.slice(0, text.lastIndexOf('\n') + 1)
    else if (name === 'Enter') text += '\n'
    else if (!isKey(name)) text += keys
  }
  const sent = text.slice(0, text.lastIndexOf('\n') + 1)
  return sent.replace(/\n{3,}/g, '\n\n').replace(/^\n+/, '')
}

/** Key names, as agents spell them, that are not commands. */
function isKey(keys: string): boolean {
  return /^(?:[CM]-\S|Escape|Tab|Up|Down|Left|Right|q|:q!?)$/.test(keys)
}

function keystrokesIn(content: string): string[] {
  const tagged = [...content.matchAll(/<keystrokes\b[^>]*>([\s\S]*?)<\/keystrokes>/g)].map(([, keys = '']) => keys)
  if (tagged.length > 0) return tagged
  const document = parseObject(content)
  const commands = Array.isArray(document?.commands) ? document.commands : []
  return commands.flatMap((command: unknown) => {
    const keys = typeof command === 'object' && command !== null && 'keystrokes' in command ? command.keystrokes : null
    return typeof keys === 'string' ? [keys] : []
  })
}

/** The first object in a reply, after the model's thinking. */
function parseObject(text: string): Record<string, unknown> | null {
  const said = text.replace(/<think>[\s\S]*?<\/think>/g, '')
  try {
    const value: unknown = readJson(said.slice(said.indexOf('{'), said.lastIndexOf('}') + 1))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function roleOf(turn: unknown): string {
  return String(Object(turn).role ?? Object(turn).from ?? '')
}

function contentOf(turn: unknown): string {
  return String(Object(turn).content ?? Object(turn).value ?? '')
}
