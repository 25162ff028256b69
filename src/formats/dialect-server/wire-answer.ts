import type { Pace, ServiceAnswer, Spoilt } from './model-service.ts'
import {
  renderEvent,
  type ServedCall,
  type ServedReply,
  type ServerDialect,
  type ServiceFault,
  type Stamp,
  statusOf,
} from './server-dialect.ts'

/** An answer as sent over a connection. */
export interface WireAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly pieces: readonly WirePiece[]
  /** `cut`: the connection breaks after the last piece. `endless`: the last piece is repeated for ever. */
  readonly ending: 'whole' | 'cut' | 'endless'
}

export interface WirePiece {
  readonly data: string | Uint8Array
  /** The delay before it is sent. */
  readonly waitMs: number
}

/** What to send as an answer, or what happens instead. */
export function renderAnswer(
  dialect: ServerDialect,
  call: ServedCall,
  answer: ServiceAnswer,
  stamp: Stamp,
): WireAnswer | 'hang-up' | 'silence' {
  switch (answer.kind) {
    case 'reply':
      return call.stream
        ? streamed(dialect, call, { reply: answer.reply, stamp, pace: answer.pace ?? atOnce, spoilt: answer.spoilt })
        : whole(dialect.render(call, answer.reply, stamp), answer.spoilt)
    case 'fault':
      return renderFaultAnswer(dialect, answer.fault)
    case 'foreign':
      return plain(answer.status, answer.contentType, answer.body)
    default:
      return answer.kind
  }
}

/** A fault in the format of the called API. */
export function renderFaultAnswer(dialect: Pick<ServerDialect, 'renderFault'>, fault: ServiceFault): WireAnswer {
  const answer = plain(statusOf(fault), json, JSON.stringify(dialect.renderFault(fault)))
  if (fault.retryAfterSec === undefined) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(fault.retryAfterSec) } }
}

/** A complete document. */
export function renderDocument(document: unknown): WireAnswer {
  return plain(200, json, JSON.stringify(document))
}

export function plain(status: number, contentType: string, data: string): WireAnswer {
  return { status, headers: { 'content-type': contentType }, pieces: [{ data, waitMs: 0 }], ending: 'whole' }
}

const json = 'application/json'
const atOnce: Pace = { pieceChars: 4096, pieceMs: 0 }

function whole(document: Readonly<Record<string, unknown>>, spoilt: Spoilt | undefined): WireAnswer {
  const text = JSON.stringify(document)
  const answer = plain(200, json, text)
  if (spoilt === undefined) return answer
  if (spoilt === 'bad-utf8') return { ...answer, pieces: [{ data: withBadBytes(text), waitMs: 0 }] }
  const half = text.slice(0, Math.floor(text.length / 2))
  // An endless document continues with spaces, which JSON allows.
  const pieces = [{ data: half, waitMs: 0 }, ...(spoilt === 'endless' ? [{ data: ' '.repeat(1024), waitMs: 5 }] : [])]
  return { ...answer, pieces, ending: spoilt }
}

interface StreamedReply {
  readonly reply: ServedReply
  readonly stamp: Stamp
  readonly pace: Pace
  readonly spoilt: Spoilt | undefined
}

function streamed(
  dialect: ServerDialect,
  call: ServedCall,
  { reply, stamp, pace: { pieceChars, pieceMs }, spoilt }: StreamedReply,
): WireAnswer {
  const writer = dialect.makeStream(call, stamp)
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
  // A writer numbers its events, so they must be created in the order in which they are sent.
  const start = writer.start(reply).map((event) => ({ data: renderEvent(event), waitMs: 0 }))
  const middle = [
    ...piecesOf(reply.reasoning ?? '', pieceChars).flatMap((piece) => writer.reasoning(piece)),
    ...piecesOf(reply.text, pieceChars).flatMap((piece) => writer.text(piece)),
  ].map((event) => ({ data: renderEvent(event), waitMs: pieceMs }))
  if (spoilt === 'endless') {
    const more = writer.text('and so on ').map((event) => ({ data: renderEvent(event), waitMs: Math.max(1, pieceMs) }))
    return { status: 200, headers, pieces: [...start, ...middle, ...more], ending: 'endless' }
  }
  if (spoilt === 'cut') {
    return { status: 200, headers, pieces: [...start, ...middle.slice(0, Math.ceil(middle.length / 2))], ending: 'cut' }
  }
  const end = { data: writer.end(reply).map(renderEvent).join(''), waitMs: middle.length === 0 ? pieceMs : 0 }
  const pieces = [...start, ...middle, end]
  if (spoilt !== 'bad-utf8') return { status: 200, headers, pieces, ending: 'whole' }
  return {
    status: 200,
    headers,
    pieces: pieces.map((piece) => ({ ...piece, data: withBadBytes(piece.data) })),
    ending: 'whole',
  }
}

/** Splits a text into pieces without breaking a character. */
export function piecesOf(text: string, chars: number): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const end = from + chars
    const torn = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 && end < text.length
    pieces.push(text.slice(from, torn ? end + 1 : end))
    from = torn ? end + 1 : end
  }
  return pieces
}

/** Inserts a byte that is invalid UTF-8 into a text's content, after its first letter. */
function withBadBytes(text: string): Uint8Array {
  const marked = text.replace(/("(?:content|text|thinking|reasoning_content|delta)":")([^"\\])/, '$1$2\u0001')
  const bytes = Buffer.from(marked)
  const at = bytes.indexOf(1)
  if (at >= 0) bytes[at] = 0xff
  return bytes
}
