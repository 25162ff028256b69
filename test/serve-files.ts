import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { extname, join } from 'node:path'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.csv': 'text/csv',
}

/** A plain server for the files of a folder, below a path. */
export function serveFiles(dir: string, below: string): Promise<Server> {
  const server = createServer((message, response) => {
    const { pathname } = new URL(message.url ?? '/', 'http://here')
    const path = decodeURIComponent(pathname.slice(below.length))
    try {
      const bytes = readFileSync(join(dir, path === '' ? 'index.html' : path))
      response.writeHead(200, { 'content-type': types[extname(path || 'index.html')] ?? 'text/plain' }).end(bytes)
    } catch {
      response.writeHead(404).end('none')
    }
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}
