import { z } from 'zod'
import { parseJson } from '../lib/parse-json.ts'

/** What a server said instead of a reply. */
export interface Fault {
  readonly status: number
  readonly message: string
  /** The server's own names for it: type, code, status. */
  readonly labels: readonly string[]
  /** The part of the request it refers to, if any. */
  readonly param: string | null
}

/** Names for failures of a model's server, as in Python's client libraries. */
export type ModelErrorCode =
  | 'AuthenticationError'
  | 'PermissionDeniedError'
  | 'ModelNotFoundError'
  | 'RateLimitError'
  | 'ApiConnectionError'
  | 'ApiTimeoutError'
  | 'InternalServerError'
  | 'BadRequestError'
  | 'MalformedReplyError'

export type Verdict =
  | { readonly kind: 'context-exceeded'; readonly message: string }
  | { readonly kind: 'error'; readonly code: ModelErrorCode; readonly message: string; readonly retryable: boolean }

/** Parses the body of an error response; every server formats it differently, some in HTML. */
export function readFault(status: number, text: string): Fault {
  const document = parseJson(text)
  const fault = document === undefined ? null : faultIn(document, status)
  return fault ?? { status, message: plain(text) || 'nothing more', labels: [], param: null }
}

/** The fault in a JSON document, or null. A status inside it is used if the response itself claimed success. */
export function faultIn(document: unknown, status: number): Fault | null {
  const first: unknown = Array.isArray(document) ? document[0] : document
  if (!mayTellFault(first)) return null
  const outer = outerSchema.safeParse(first).data
  if (!outer) return null
  const { error, detail } = outer
  if (typeof error === 'string') return { status, message: plain(error), labels: [], param: null }
  const said = error ?? (outer.object === 'error' || outer.type === 'error' ? outer : null)
  if (said) {
    const labels = [said.type, said.code, said.status].filter((label) => typeof label === 'string')
    const inner = typeof said.code === 'number' ? said.code : (statusOfLabel(labels) ?? 500)
    return {
      status: status < 300 ? inner : status,
      message: plain(said.message ?? '') || 'nothing more',
      labels,
      param: said.param ?? null,
    }
  }
  if (detail === undefined || status < 300) return null
  return { status, message: plain(typeof detail === 'string' ? detail : detailsText(detail)), labels: [], param: null }
}

/** A quick filter for the many documents that are clearly no fault, such as pieces of a stream. */
function mayTellFault(document: unknown): document is object {
  if (typeof document !== 'object' || document === null) return false
  return (
    'error' in document ||
    'detail' in document ||
    ('message' in document && ('object' in document || 'type' in document))
  )
}

/** What a fault means for the call. Retryable means that the same request may succeed later. */
export function judgeFault(fault: Fault): Verdict {
  const { status, message, labels } = fault
  if (isContextFault(fault)) return { kind: 'context-exceeded', message }
  const code = codeOfStatus(status, message)
  const noMoney =
    labels.includes('insufficient_quota') || /insufficient_quota|exceeded your current quota/i.test(message)
  const retryable = code === 'RateLimitError' ? !noMoney : retryableCodes.includes(code) && ![501, 505].includes(status)
  return { kind: 'error', code, message: `the server answered ${status}: ${message}`, retryable }
}

const retryableCodes: readonly ModelErrorCode[] = ['InternalServerError', 'ApiTimeoutError', 'ApiConnectionError']

function codeOfStatus(status: number, message: string): ModelErrorCode {
  if (status === 401 || /api key not valid|incorrect api key|invalid (x-)?api[- ]key/i.test(message))
    return 'AuthenticationError'
  if (status === 402 || status === 403) return 'PermissionDeniedError'
  if (status === 404) return 'ModelNotFoundError'
  if (status === 429 || (status === 413 && perMinute.test(message))) return 'RateLimitError'
  if (status === 408) return 'ApiTimeoutError'
  // A conflict or a server that is not ready yet: nothing is wrong with the request.
  return status >= 500 || status === 409 || status === 425 ? 'InternalServerError' : 'BadRequestError'
}

/** Servers also report limits per minute as a request that is too large. */
const perMinute = /per minute|per day|\bTPM\b|\bRPM\b|rate limit/i

function isContextFault({ status, message, labels }: Fault): boolean {
  if (![400, 413, 422, 500].includes(status) || perMinute.test(message)) return false
  return labels.some((label) => contextLabels.includes(label)) || contextPhrases.some((phrase) => phrase.test(message))
}

const contextLabels = [
  'context_length_exceeded',
  'exceed_context_size_error',
  'model_context_window_exceeded',
  'request_too_large',
]

const contextPhrases = [
  /context[ _]length[ _]exceeded/i,
  // OpenAI, vLLM, DeepSeek, SGLang, Mistral.
  /maximum context length/i,
  /(the )?model'?s context length/i,
  /longer than the maximum model length/i,
  /max_tokens must be at least 1, got -/i,
  // Text generation inference.
  /`inputs` tokens \+ `max_new_tokens`/i,
  /`inputs` must have less than \d+ tokens/i,
  // llama.cpp, Ollama, LM Studio.
  /exceeds? (the )?(available )?context (size|length|window)/i,
  /greater than the context length/i,
  // Anthropic.
  /prompt is too long/i,
  /exceed context limit/i,
  // Gemini.
  /input token count.*exceeds the maximum number of tokens/i,
  // Other servers with the same API.
  /maximum prompt length is \d+/i,
  /reduce the length of (the|your) (messages|prompt)/i,
  /input is too long for (the )?requested model/i,
  /exceeded model token limit/i,
  /tokens? exceeds? the configured limit/i,
  /context window/i,
]

/** The status for error names inside a stream, where no HTTP status can follow. */
function statusOfLabel(labels: readonly string[]): number | null {
  const found = labels.find((label) => Object.hasOwn(statusByLabel, label))
  return found === undefined ? null : (statusByLabel[found] ?? null)
}

const statusByLabel: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  BadRequestError: 400,
  exceed_context_size_error: 400,
  context_length_exceeded: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  NotFoundError: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  RESOURCE_EXHAUSTED: 429,
  INVALID_ARGUMENT: 400,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

const errorSchema = z.object({
  message: z.string().nullish(),
  type: z.string().nullish().catch(null),
  code: z.union([z.string(), z.number()]).nullish().catch(null),
  status: z.string().nullish().catch(null),
  param: z.string().nullish().catch(null),
})

const outerSchema = errorSchema.extend({
  error: z.union([z.string(), errorSchema]).nullish(),
  object: z.string().nullish().catch(null),
  detail: z.unknown().optional(),
})

function detailsText(detail: unknown): string {
  const messages = z
    .array(z.object({ msg: z.string(), loc: z.array(z.union([z.string(), z.number()])).optional() }))
    .safeParse(detail)
  if (!messages.success) return 'nothing more'
  return messages.data.map(({ msg, loc }) => (loc ? `${loc.join('.')}: ${msg}` : msg)).join('; ')
}

/** One short line without markup, control characters, anything that looks like a key, or a whole payload. */
function plain(text: string): string {
  const head = text.slice(0, 4000).replaceAll(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/gi, ' ')
  const line = hideKeys(head.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim())
  return line.length > 300 ? `${line.slice(0, 297)}...` : line
}

function hideKeys(text: string): string {
  return text.replaceAll(/\b(?:(?:sk|pk|gsk|hf)[-_][\w*-]{8,}|AIza[\w-]{10,}|Bearer \S+)/g, '****')
}
