import type { IncomingMessage } from 'node:http'
import { readJson } from '../../lib/parse-json.ts'
import { isSameKey } from '../listen.ts'

/** A request refused before it has any effect. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

/**
 * The header that carries the key. A cookie would also be sent along with requests from other pages; a header is not.
 */
const keyHeader = 'x-ot-agent-key'

const mostBytes = 65_536

/** Only the page that was opened with the key may list the runs. */
export function refuseWithoutKey({ headers }: IncomingMessage, key: string | null): void {
  if (key === null)
    throw new Refused(403, 'this server is read-only; ot-agent view --allow-runs starts one that can start runs')
  if (!isSameKey(headers[keyHeader], key))
    throw new Refused(403, 'expected the key of this server: open the address that ot-agent view --allow-runs printed')
}

/** Reads the JSON body of a write request, which must come from our own page with the key; its size is limited. */
export async function readWrite(message: IncomingMessage, key: string | null): Promise<unknown> {
  refuseWithoutKey(message, key)
  const { origin, host, 'content-type': type = '', 'sec-fetch-site': site = 'same-origin' } = message.headers
  if (host === undefined || origin !== `http://${host}` || site !== 'same-origin')
    throw new Refused(403, 'expected a request from the viewer’s own page, got one from another origin')
  if (!/^application\/json(; *charset=utf-8)?$/i.test(type)) throw new Refused(415, 'expected JSON')
  const length = Number(message.headers['content-length'] ?? Number.NaN)
  if (!(length <= mostBytes)) throw new Refused(413, `expected a body of known length, at most ${mostBytes} bytes`)
  const chunks: Buffer[] = []
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk)
  try {
    return readJson(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw new Refused(400, 'expected JSON, got something else')
  }
}
