import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { findProgram, spawnProcess, UserError } from 'ot-agent'

/** Limits on what one document, perhaps a hostile one, may cost. */
export interface PageCaps {
  readonly maxPages: number
  readonly maxMb: number
  readonly timeoutSec: number
}

/**
 * The pages of a document as text, split at form feeds, and Markdown also before its headings. PDF goes through
 * pdftotext, which only reads; anything else is treated as text.
 */
export async function readPages(path: string, caps: PageCaps, signal: AbortSignal): Promise<string[]> {
  const text = /\.pdf$/i.test(path) ? await pdfText(path, caps, signal) : await plainText(path, caps)
  const plain = text.replace(/\r\n?/g, '\n')
  const pages = plain.split('\f').flatMap((page) => (/\.md$/i.test(path) ? sectionsOf(page) : [page]))
  if (pages.at(-1)?.trim() === '') pages.pop()
  return pages.slice(0, caps.maxPages)
}

/** Splits before headings; a heading inside a fence is code. */
function sectionsOf(page: string): string[] {
  const sections: string[][] = [[]]
  let fence: string | null = null
  for (const line of page.split('\n')) {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1] ?? null
    if (mark !== null) fence = fence === null ? mark : mark.startsWith(fence) ? null : fence
    if (fence === null && /^#{1,3} /.test(line) && sections.at(-1)?.some((text) => text.trim() !== ''))
      sections.push([])
    sections.at(-1)?.push(line)
  }
  return sections.map((lines) => lines.join('\n'))
}

async function plainText(path: string, { maxMb }: PageCaps): Promise<string> {
  const { size } = await stat(path)
  if (size > maxMb * 1e6) throw tooLong(path, maxMb)
  return readFile(path, 'utf8')
}

async function pdfText(path: string, { maxPages, maxMb, timeoutSec }: PageCaps, signal: AbortSignal): Promise<string> {
  const program = findProgram('pdftotext')
  if (program === null)
    throw new UserError(
      `${path}: expected the program pdftotext on this machine to read it, found none`,
      'install the Debian package poppler-utils, or give the pages as text',
    )
  // The name goes after --, because a document may be named -x.pdf.
  const words = ['-q', '-layout', '-enc', 'UTF-8', '-l', String(maxPages), '--', path, '-']
  const child = await spawnProcess(program, words, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: process.env.PATH },
  })
  const ended = once(child, 'close')
  ended.catch(() => {})
  const stop = () => child.kill('SIGKILL')
  signal.addEventListener('abort', stop, { once: true })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    stop()
  }, timeoutSec * 1000)
  try {
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxMb * 1e6) throw tooLong(path, maxMb)
      chunks.push(chunk)
    }
    const [code] = await ended
    signal.throwIfAborted()
    if (isLate) throw new UserError(`${path}: expected its text within ${timeoutSec} s, got none`, 'raise timeoutSec')
    if (code !== 0)
      throw new UserError(`${path}: expected a PDF, pdftotext ended with ${code}`, 'check that the file is complete')
    return Buffer.concat(chunks).toString('utf8')
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    stop()
  }
}

function tooLong(path: string, maxMb: number): UserError {
  return new UserError(`${path}: expected at most ${maxMb} MB of text, got more`, 'raise maxMb, or split the document')
}
