import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { WireAnswer } from '../../../formats/dialect-server/wire-answer.ts'
import { streamHeaders } from './live-answer.ts'

/** Sends an answer; one that comes after signs of life can only be told inside the stream they began. */
export async function sendAnswer(response: ServerResponse, answer: WireAnswer): Promise<void> {
  const began = response.headersSent
  if (!began) response.writeHead(answer.status, { ...answer.headers })
  for (const { data } of answer.pieces) {
    const piece = began && answer.status !== 200 ? `event: error\ndata: ${String(data)}\n\n` : data
    if (response.destroyed) return
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')])
  }
  response.end()
}

/** Node's own client gives up on a silent server after 300 s; a fault found earlier still gets its status. */
const silenceMs = 60_000

/** Keeps a stream's caller waiting for as long as a slow model takes; returns a function that stops it. */
export function keepAlive(response: ServerResponse, everyMs = silenceMs): () => void {
  const timer = setInterval(() => {
    if (response.destroyed) return
    if (!response.headersSent) {
      response.writeHead(200, streamHeaders)
    }
    // A comment: every reader of streams passes over it.
    response.write(': still here\n\n')
  }, everyMs)
  return () => clearInterval(timer)
}
