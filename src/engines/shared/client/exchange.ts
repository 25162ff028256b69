import type { ModelRequest } from '../../../core/model.ts'
import type { Dialect, Hear, Parsed, WireReply } from '../../../formats/model-dialect.ts'
import { type Fault, judgeFault, type ModelErrorCode, readFault } from '../../../formats/model-fault.ts'
import { exhaustedBy, patiently } from '../../../lib/exhaustion.ts'
import { type HttpAnswer, type HttpCall, type HttpClient, HttpFailure } from '../../../lib/http-client.ts'
import { readJson, replyLimits } from '../../../lib/parse-json.ts'
import { EventTooLong, makeEventReader } from '../../../lib/sse.ts'
import { readRetryAfter } from './retry.ts'

/** A server at the level of HTTP. */
export interface Wire {
  readonly http: HttpClient
  readonly dialect: Dialect
  /** The base of the dialect's paths. */
  readonly base: string
  readonly headers: Readonly<Record<string, string>>
  /** Removes the key from a text, in case the server repeated it. */
  hide(text: string): string
}

/** A longer reply is treated as a failure. */
const maxReplyBytes = 32 * 1024 * 1024

export interface ExchangeRequest {
  /** The model's name on the server. */
  readonly model: string
  /** The rendered `request`. */
  readonly body: Readonly<Record<string, unknown>>
  readonly request: ModelRequest
  readonly stream: boolean
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onText: Hear
  readonly onReasoning?: Hear | undefined
}

/** The outcome of one request. */
export type Exchanged =
  | { readonly kind: 'reply'; readonly reply: WireReply; readonly latencyMs: number }
  | { readonly kind: 'context-exceeded'; readonly message: string }
  | {
      readonly kind: 'trouble'
      readonly code: ModelErrorCode
      readonly message: string
      /** Whether another trial may succeed. */
      readonly retryable: boolean
      /** Whether to send the same request again soon. */
      readonly again: boolean
      readonly retryAfterMs: number | null
      /** Set when the server refused the request itself. */
      readonly fault: Fault | null
    }

/** Sends one request and reads its answer to the end. Every failure is returned as a value; only an abort is thrown. */
export async function exchange(wire: Wire, sent: ExchangeRequest): Promise<Exchanged> {
  const startedAt = performance.now()
  const { dialect } = wire
  const { model, body, request, timeoutMs, signal } = sent
  let heard = false
  const stream = sent.stream
    ? dialect.makeStream(
        request,
        (text) => {
          heard = true
          sent.onText(text)
        },
        sent.onReasoning &&
          ((text) => {
            heard = true
            sent.onReasoning?.(text)
          }),
      )
    : null
  try {
    const call: HttpCall = {
      method: 'POST',
      url: wire.base + dialect.path(model, sent.stream),
      headers: { 'content-type': 'application/json', ...wire.headers },
      body: JSON.stringify(body),
      timeoutMs,
      limitBytes: maxReplyBytes,
      signal,
      ...(stream && { onChunk: streamSink(stream.push) }),
    }
    // Without a file descriptor for a socket, nothing has been sent yet.
    const answer = await patiently(() => wire.http.send(call))
    if (answer.status >= 300) return faultOf(readFault(answer.status, textOf(answer)), answer)
    const parsed = stream ? stream.end() : parseWhole(dialect, answer, request)
    return judge(parsed, answer, performance.now() - startedAt)
  } catch (error) {
    if (error instanceof HttpFailure && exhaustedBy(error) === null) return httpTrouble(error, heard)
    if (error instanceof EventTooLong) return trouble('MalformedReplyError', error.message, { again: false })
    throw error
  }
}

function streamSink(push: (data: string) => boolean): (chunk: Buffer) => boolean {
  let done = false
  const read = makeEventReader((data) => {
    done ||= push(data)
  })
  return (chunk) => {
    read(chunk)
    return done
  }
}

function parseWhole(dialect: Dialect, answer: HttpAnswer, request: ModelRequest): Parsed {
  try {
    return dialect.parse(readJson(textOf(answer), replyLimits), request)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return { kind: 'malformed', message: `expected JSON, got ${answer.body.length} bytes of something else` }
  }
}

/** Invalid UTF-8 bytes become replacement characters. */
function textOf({ body }: HttpAnswer): string {
  return body.toString('utf8')
}

function judge(parsed: Parsed, answer: HttpAnswer, latencyMs: number): Exchanged {
  if (parsed.kind === 'reply') return { kind: 'reply', reply: parsed.reply, latencyMs }
  if (parsed.kind === 'fault') return faultOf(parsed.fault, answer)
  if (parsed.kind === 'cut')
    return trouble('ApiConnectionError', 'the stream ended before the reply did', { again: true })
  return trouble('MalformedReplyError', parsed.message, { again: true })
}

function faultOf(fault: Fault, { headers }: HttpAnswer): Exchanged {
  const verdict = judgeFault(fault)
  if (verdict.kind === 'context-exceeded') return verdict
  const { code, message, retryable } = verdict
  const retryAfterMs = readRetryAfter(headers, Date.now())
  return { kind: 'trouble', code, message, retryable, again: retryable, retryAfterMs, fault }
}

/**
 * A server that stayed silent may answer next time; a reply that was still growing at its time limit would not end
 * sooner.
 */
function httpTrouble({ trouble: kind, message }: HttpFailure, heard: boolean): Exchanged {
  if (kind === 'timeout') return trouble('ApiTimeoutError', message, { again: !heard })
  if (kind === 'too-large') return trouble('MalformedReplyError', message, { again: false })
  return trouble('ApiConnectionError', message, { again: true })
}

function trouble(code: ModelErrorCode, message: string, { again }: { again: boolean }): Exchanged {
  return { kind: 'trouble', code, message, retryable: true, again, retryAfterMs: null, fault: null }
}
