import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from '../../lib/files.ts'

/** A file of the built page. */
export interface Asset {
  readonly bytes: Buffer
  readonly type: string
  readonly etag: string
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The file at a URL path, or null. Only plain names are accepted, so no path can leave the directory. */
export async function assetFor(dir: string, path: string): Promise<Asset | null> {
  const file = path === '/' ? 'index.html' : path.slice(1)
  const [, extension = ''] = /^(?:chunks\/)?[\w-]+\.(html|js|css|svg)$/.exec(file) ?? []
  const type = types[extension]
  if (type === undefined) return null
  try {
    const bytes = await readFile(join(dir, file))
    return { bytes, type, etag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"` }
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}
