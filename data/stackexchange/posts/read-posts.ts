import { UserError } from 'ot-agent'

/** What can be said about a question or an answer without parsing its text. */
export interface PostHead {
  readonly id: number
  readonly kind: 'question' | 'answer'
  /** The question an answer belongs to. */
  readonly parentId: number | null
  readonly acceptedAnswerId: number | null
  readonly score: number
  readonly tags: readonly string[]
  /** Length of its HTML in characters. */
  readonly bodyChars: number
  readonly hasCode: boolean
  readonly isClosed: boolean
  /** Its row exactly as in the dump, on one line. */
  readonly raw: string
}

/** A post with its text; the body is HTML. */
export interface Post extends Pick<PostHead, 'id' | 'acceptedAnswerId' | 'score' | 'tags'> {
  readonly title: string
  /** The day it was written, or null. */
  readonly day: string | null
  /** ID of the user who wrote it; null if the account is gone. */
  readonly author: number | null
  /** How many comments readers left on it. */
  readonly comments: number
  readonly body: string
  readonly license: string | null
}

const maxRowBytes = 32 * 2 ** 20

/** The posts in a dump's XML, in order; holds no more than a chunk and one row in memory. */
export async function* readPosts(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<PostHead, void, void> {
  const text = new TextDecoder('utf-8')
  let isPosts = false
  let rest = ''
  for await (const chunk of chunks) {
    const all = rest + text.decode(chunk, { stream: true })
    isPosts ||= all.includes('<posts')
    const { posts, end } = scanPosts(all)
    rest = all.slice(end)
    if (rest.length > maxRowBytes)
      throw new UserError(
        `${path}: expected rows of at most ${maxRowBytes} bytes, got a longer one`,
        'is it a Posts.xml?',
      )
    yield* posts
  }
  if (!isPosts)
    throw new UserError(
      `${path}: expected <posts> with a <row> for each post, found none`,
      'name the Posts.xml of a dump',
    )
}

/** A post from its row in a dump. */
export function parsePost(raw: string): Post {
  const { row } = scanRow(raw, opening.length)
  return {
    id: Number(row.Id),
    acceptedAnswerId: wholeNumber(row.AcceptedAnswerId),
    score: scoreOf(row),
    title: decode(row.Title ?? ''),
    day: /^\d{4}-\d\d-\d\d/.exec(row.CreationDate ?? '')?.[0] ?? null,
    author: wholeNumber(row.OwnerUserId),
    comments: wholeNumber(row.CommentCount) ?? 0,
    tags: parseTags(row.Tags ?? ''),
    body: decode(row.Body ?? ''),
    license: row.ContentLicense === undefined ? null : decode(row.ContentLicense),
  }
}

const opening = '<row'

/**
 * The posts whose rows are complete in a text, and where the first incomplete row begins. A dump contains nothing but
 * rows with attributes, which cannot contain `<`: looking for quotes is enough, and many times faster than an XML
 * parser.
 */
function scanPosts(all: string): { readonly posts: readonly PostHead[]; readonly end: number } {
  const posts: PostHead[] = []
  for (let at = 0; ; ) {
    const start = all.indexOf(opening, at)
    // The rest may end in the middle of `<row` or `<posts`.
    if (start < 0) return { posts, end: Math.max(at, all.length - '<posts'.length) }
    const { row, end } = scanRow(all, start + opening.length)
    if (end < 0) return { posts, end: start }
    const post = headOf(row, all.slice(start, end))
    if (post) posts.push(post)
    at = end
  }
}

type Row = Readonly<Record<string, string>>

/** The raw attributes of a row, and where it ends; -1 if the text ends first. */
function scanRow(all: string, from: number): { readonly row: Row; readonly end: number } {
  const row: Record<string, string> = {}
  for (let at = from; at < all.length; ) {
    const next = all[at]
    if (next === '>') return { row, end: at + 1 }
    if (next === '/' || next === ' ' || next === '\n' || next === '\r' || next === '\t') {
      at++
      continue
    }
    const equals = all.indexOf('=', at)
    const quote = equals < 0 ? undefined : all[equals + 1]
    const until = quote === undefined ? -1 : all.indexOf(quote, equals + 2)
    if (until < 0) break
    row[all.slice(at, equals)] = all.slice(equals + 2, until)
    at = until + 1
  }
  return { row, end: -1 }
}

function headOf(row: Row, raw: string): PostHead | null {
  const id = wholeNumber(row.Id)
  const kind = row.PostTypeId === '1' ? 'question' : row.PostTypeId === '2' ? 'answer' : null
  if (id === null || kind === null || row.Body === undefined) return null
  return {
    id,
    kind,
    parentId: wholeNumber(row.ParentId),
    acceptedAnswerId: wholeNumber(row.AcceptedAnswerId),
    score: scoreOf(row),
    tags: parseTags(row.Tags ?? ''),
    bodyChars: lengthOf(row.Body),
    hasCode: row.Body.includes('&lt;code'),
    isClosed: row.ClosedDate !== undefined,
    raw: raw.includes('\n') ? raw.replaceAll('\n', ' ') : raw,
  }
}

function wholeNumber(text: string | undefined): number | null {
  const value = Number(text)
  return text !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : null
}

function scoreOf({ Score }: Row): number {
  const score = Number(Score)
  return Number.isSafeInteger(score) ? score : 0
}

/** `<a><b>` in older dumps, `|a|b|` in newer ones. */
function parseTags(text: string): string[] {
  return decode(text)
    .split(/[<>|]+/)
    .filter((tag) => tag !== '')
}

/** Decodes an attribute. `&amp;` comes last, so that what it escapes is not decoded again. */
function decode(text: string): string {
  if (!text.includes('&')) return text
  const marks = text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&apos;', "'")
  const lines = marks.replaceAll('&#xA;', '\n')
  const plain = lines.includes('&#') ? lines.replace(/&#(?:x([\da-f]+)|(\d+));/gi, asCharacter) : lines
  return plain.replaceAll('&amp;', '&')
}

function asCharacter(whole: string, hex: string | undefined, decimal: string | undefined): string {
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : whole
}

/** The length of a text once decoded, much faster than decoding it. */
function lengthOf(text: string): number {
  let length = text.length
  for (let at = text.indexOf('&'); at >= 0; ) {
    const end = text.indexOf(';', at)
    if (end < 0) break
    length -= end - at
    at = text.indexOf('&', end)
  }
  return length
}
