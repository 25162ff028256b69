import { Parser } from 'htmlparser2'
import { UserError } from '../../../core/errors.ts'

/** A question or an answer of a Stack Exchange dump; bodies are HTML. */
export interface Post {
  readonly id: number
  readonly kind: 'question' | 'answer'
  /** The question an answer belongs to. */
  readonly parentId: number | null
  readonly acceptedAnswerId: number | null
  readonly score: number
  readonly title: string
  readonly tags: readonly string[]
  readonly body: string
  readonly isClosed: boolean
  readonly license: string | null
}

const maxRowBytes = 32 * 2 ** 20

/** The posts of a dump's XML, as they come; holds a chunk and what one element holds. */
export async function* readPosts(path: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Post, void, void> {
  let found: Post[] = []
  let isPosts = false
  let sinceRow = 0
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (name === 'posts') isPosts = true
        if (name !== 'row') return
        sinceRow = 0
        const post = parsePost(attributes)
        if (post) found.push(post)
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  const text = new TextDecoder('utf-8')
  for await (const chunk of chunks) {
    sinceRow += chunk.length
    if (sinceRow > maxRowBytes + chunk.length)
      throw new UserError(
        `${path}: expected rows of at most ${maxRowBytes} bytes, got a longer one`,
        'is it a Posts.xml?',
      )
    parser.write(text.decode(chunk, { stream: true }))
    if (found.length === 0) continue
    yield* found
    found = []
  }
  parser.write(text.decode())
  parser.end()
  yield* found
  if (!isPosts)
    throw new UserError(
      `${path}: expected <posts> with a <row> for each post, found none`,
      'name the Posts.xml of a dump',
    )
}

function parsePost(row: Readonly<Record<string, string>>): Post | null {
  const id = Number(row.Id)
  const kind = row.PostTypeId === '1' ? 'question' : row.PostTypeId === '2' ? 'answer' : null
  if (!Number.isSafeInteger(id) || id < 0 || kind === null || row.Body === undefined) return null
  return {
    id,
    kind,
    parentId: wholeNumber(row.ParentId),
    acceptedAnswerId: wholeNumber(row.AcceptedAnswerId),
    score: Number(row.Score) || 0,
    title: row.Title ?? '',
    tags: parseTags(row.Tags ?? ''),
    body: row.Body,
    isClosed: row.ClosedDate !== undefined,
    license: row.ContentLicense ?? null,
  }
}

function wholeNumber(text: string | undefined): number | null {
  const value = Number(text)
  return text !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : null
}

/** `<a><b>` in older dumps, `|a|b|` in newer ones. */
function parseTags(text: string): string[] {
  return text.split(/[<>|]+/).filter((tag) => tag !== '')
}
