import { type Fields, fieldsOf, itemsOf } from './values.ts'

/** The supported formats. */
export const importFormats = ['swe-agent', 'openhands', 'codex', 'claude-code', 'messages'] as const
export type ImportFormat = (typeof importFormats)[number]

/** The format of a JSON document; null if not recognized. */
export function recognizeDocument(document: unknown): ImportFormat | null {
  if (Array.isArray(document)) {
    const items = document.flat().map(fieldsOf)
    if (items.some(isEvent)) return 'openhands'
    return items.some((row) => hasMessages(row) || Array.isArray(row.history)) ? 'messages' : null
  }
  const fields = fieldsOf(document)
  if (hasEvents(fields.history ?? fields.trajectory)) return 'openhands'
  if (Array.isArray(fields.history)) return 'swe-agent'
  return hasMessages(fields) ? 'messages' : null
}

/** The format of a JSON-lines file, from its first lines. */
export function recognizeLines(lines: readonly Fields[]): ImportFormat | null {
  if (lines.some(isCodex)) return 'codex'
  if (lines.some(isClaudeCode)) return 'claude-code'
  if (lines.some(isEvent) || lines.some(({ history, trajectory }) => hasEvents(history ?? trajectory)))
    return 'openhands'
  return lines.some(hasMessages) ? 'messages' : null
}

function isCodex({ type, payload, role, record_type: record }: Fields): boolean {
  if (typeof payload === 'object' && typeof type === 'string')
    return /^(session_meta|response_item|event_msg|turn_context|compacted)$/.test(type)
  // Versions before the envelope.
  return record === 'state' || (type === 'message' && typeof role === 'string')
}

function isClaudeCode({ sessionId, leafUuid, uuid, type, message }: Fields): boolean {
  if (typeof leafUuid === 'string') return true
  return (
    typeof type === 'string' &&
    (typeof sessionId === 'string' || typeof uuid === 'string') &&
    (typeof message === 'object' || /^(queue-operation|file-history-snapshot|system|user)$/.test(type))
  )
}

/** Whether a list holds OpenHands events, single or in pairs. */
export function hasEvents(value: unknown): boolean {
  return itemsOf(value).flat().map(fieldsOf).some(isEvent)
}

function isEvent({ action, observation, kind, source, args }: Fields): boolean {
  if (typeof kind === 'string') return /(Event|Observation|Condensation)$/.test(kind)
  return typeof observation === 'string' || (typeof action === 'string' && (args !== undefined || source !== undefined))
}

function hasMessages(row: Fields): boolean {
  const isList = (value: unknown) => Array.isArray(value) || (typeof value === 'string' && value.startsWith('['))
  return ['messages', 'conversations', 'conversation', 'trajectory'].some((name) => isList(row[name]))
}
