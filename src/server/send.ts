import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { renderEvent, type ServerDialect } from '../formats/dialect-server/server-dialect.ts'
import type { WireAnswer } from '../formats/dialect-server/wire-answer.ts'
import { sleep } from '../lib/deadline.ts'
import { readJson } from '../lib/parse-json.ts'

/** Sends an answer piece by piece with its delays; an aborted signal means that the caller has hung up. */
export async function send(response: ServerResponse, answer: WireAnswer, signal: AbortSignal): Promise<void> {
  if (!response.headersSent) response.writeHead(answer.status, answer.headers)
  for (const { data, waitMs } of answer.pieces) await write(response, data, waitMs, signal)
  const last = answer.pieces.at(-1)
  while (answer.ending === 'endless' && last) await write(response, last.data, Math.max(1, last.waitMs), signal)
  if (answer.ending === 'whole') response.end()
  else {
    // Flush what was written before breaking the connection.
    await new Promise<void>((resolve) => response.write('', () => resolve()))
    response.destroy()
  }
}

async function write(
  response: ServerResponse,
  data: string | Uint8Array,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (waitMs > 0) await sleep(waitMs, signal)
  signal.throwIfAborted()
  if (!response.write(data)) await once(response, 'drain', { signal })
}

/** How often a caller waiting for a stream gets a keep-alive. */
const silenceMs = 15_000

/** Keeps a stream's caller from timing out while a slow model works; returns a function that stops the keep-alives. */
export function keepAlive(response: ServerResponse, dialect: ServerDialect): () => void {
  const timer = setInterval(() => {
    if (response.destroyed) return
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(dialect.heartbeat)
  }, silenceMs)
  return () => clearInterval(timer)
}

/**
 * Adapts an answer for a stream that has already sent keep-alives: an error can no longer set the status, so it is sent
 * as a stream event.
 */
export function lateAnswer(answer: WireAnswer, dialect: ServerDialect): WireAnswer {
  if (answer.status < 300) return answer
  const page = answer.pieces.map(({ data }) => data.toString()).join('')
  const fault = { kind: answer.status === 429 ? 'rate-limit' : 'server', message: messageIn(page) } as const
  return { ...answer, pieces: [{ data: renderEvent(dialect.faultEvent(fault)), waitMs: 0 }] }
}

function messageIn(page: string): string {
  try {
    return String(Object(Object(readJson(page)).error).message ?? page.slice(0, 300))
  } catch {
    return page.slice(0, 300)
  }
}
