import type { IncomingMessage, ServerResponse } from 'node:http'

/** The part of an object store that build contexts need: an existence check and single uploads. */
export class Objects {
  private readonly stored = new Map<string, Buffer>()

  get(key: string): Buffer | undefined {
    return this.stored.get(key)
  }

  get count(): number {
    return this.stored.size
  }

  handle(request: IncomingMessage, response: ServerResponse, url: URL, body: Buffer): void {
    if (request.method === 'GET' && url.searchParams.get('list-type') === '2') {
      const prefix = url.searchParams.get('prefix') ?? ''
      const keys = [...this.stored.keys()].filter((key) => key.startsWith(prefix))
      const contents = keys.map(
        (key) => `<Contents><Key>${key}</Key><Size>${this.stored.get(key)?.length}</Size></Contents>`,
      )
      response.setHeader('content-type', 'application/xml')
      response.end(
        `<?xml version="1.0"?><ListBucketResult><KeyCount>${keys.length}</KeyCount>${contents.join('')}</ListBucketResult>`,
      )
    } else if (request.method === 'PUT') {
      const key = decodeURIComponent(url.pathname.split('/').slice(3).join('/'))
      const streaming = String(request.headers['x-amz-content-sha256'] ?? '').startsWith('STREAMING')
      this.stored.set(key, streaming ? unchunked(body) : body)
      response.setHeader('etag', '"0"')
      response.end()
    } else {
      response.statusCode = 501
      response.end()
    }
  }
}

/** The package uploads in chunks, with a checksum at the end. */
function unchunked(body: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const lineEnd = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.subarray(at, lineEnd).toString('latin1'), 16)
    if (!(size > 0)) break
    parts.push(body.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
  return Buffer.concat(parts)
}
