import type { IncomingMessage } from 'node:http'

/** The body of a request as text; null when it is longer than allowed. */
export async function readBody(message: IncomingMessage, limitBytes: number): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of message) {
    bytes += chunk.length
    if (bytes > limitBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
