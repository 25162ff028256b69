import { readJson } from 'ot-agent'
/** A script that does again what an agent did in its terminal, or null when no command can be found. */
export function replayScript(conversations: unknown): string | null {
  if (!Array.isArray(conversations)) return null
  const typed = conversations
    .filter((turn) => roleOf(turn) === 'assistant')
    .flatMap((turn) => keystrokesIn(contentOf(turn)))
  const commands = typed.map((keys) => keys.replace(/\s+$/, '')).filter((keys) => keys !== '' && !isKey(keys))
  if (commands.length === 0) return null
  // Each in the same shell, as in a terminal; a command that failed there did not stop the next one.
  return `#!/bin/bash\ncd /app\n${commands.join('\n')}\nexit 0\n`
}

/** The keys of a terminal that are no commands, as agents spell them. */
function isKey(keys: string): boolean {
  return /^(?:[CM]-\S|Enter|Escape|Tab|Up|Down|Left|Right|q|:q!?)$/.test(keys)
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

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = readJson(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1))
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
