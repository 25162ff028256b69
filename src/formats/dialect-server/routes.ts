import { anthropicMessagesServer } from './anthropic-messages.ts'
import { geminiGenerateServer } from './gemini-generate.ts'
import { openaiChatServer } from './openai-chat.ts'
import { openaiResponsesServer } from './openai-responses.ts'
import type { CallAddress, ServerDialect } from './server-dialect.ts'

/** The target of a call: its API, and what the address says. */
export interface CallRoute {
  readonly dialect: ServerDialect
  readonly address: CallAddress
}

/** Finds the API for a POST to this path, with or without a version prefix; null if none. */
export function findRoute(path: string, query: Readonly<Record<string, string>> = {}): CallRoute | null {
  const bare = path.replace(/\/+$/, '')
  const known = suffixes.find(([suffix]) => bare === suffix || bare === `/v1${suffix}`)
  if (known) return { dialect: known[1], address: { model: null, stream: false, query } }
  const google = /^(?:\/v1(?:beta|alpha)?)?\/models\/(.+):(generateContent|streamGenerateContent)$/.exec(bare)
  if (!google) return null
  const [, model = '', method] = google
  const stream = method === 'streamGenerateContent'
  return { dialect: geminiGenerateServer, address: { model: decoded(model), stream, query } }
}

const suffixes: readonly (readonly [suffix: string, dialect: ServerDialect])[] = [
  ['/chat/completions', openaiChatServer],
  ['/responses', openaiResponsesServer],
  ['/messages', anthropicMessagesServer],
]

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
