import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { WireAnswer } from '../formats/dialect-server/wire-answer.ts'
import { sleep } from '../lib/deadline.ts'
import type { Answered, OpenStream } from './route.ts'

/** A caller that waits for a stream hears something at least this often. */
const heartbeatMs = 15_000

/** Sends what a route answered; an aborted signal means that nobody listens any more. */
export async function send(response: ServerResponse, answered: Answered, signal: AbortSignal): Promise<void> {
  if (typeof answered === 'object' && 'answer' in answered) return sendStream(response, answered, signal)
  return sendNow(response, answered, signal)
}

async function sendNow(
  response: ServerResponse,
  answered: WireAnswer | 'hang-up' | 'silence',
  signal: AbortSignal,
): Promise<void> {
  if (answered === 'hang-up') response.destroy()
  // Whoever is answered with silence must hang up himself.
  if (typeof answered === 'string') return
  response.writeHead(answered.status, answered.headers)
  await sendPieces(response, answered, signal)
}

async function sendPieces(
  response: ServerResponse,
  { pieces, ending }: WireAnswer,
  signal: AbortSignal,
): Promise<void> {
  for (const { data, waitMs } of pieces) await write(response, data, waitMs, signal)
  const last = pieces.at(-1)
  while (ending === 'endless' && last) await write(response, last.data, Math.max(1, last.waitMs), signal)
  if (ending === 'cut') {
    // What was written must be out before the line breaks.
    await new Promise<void>((resolve) => response.write('', () => resolve()))
    response.destroy()
  } else response.end()
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

async function sendStream(response: ServerResponse, stream: OpenStream, signal: AbortSignal): Promise<void> {
  const beat = () => {
    if (!response.headersSent)
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    response.write(stream.heartbeat)
  }
  const timer = setInterval(beat, heartbeatMs)
  try {
    const answer = await stream.answer
    clearInterval(timer)
    if (!response.headersSent) return await sendNow(response, answer, signal)
    if (typeof answer === 'string') return await sendNow(response, answer, signal)
    if (answer.status < 300) return await sendPieces(response, answer, signal)
    response.end(stream.asEvents(answer))
  } finally {
    clearInterval(timer)
  }
}
