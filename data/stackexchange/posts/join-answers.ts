import { appendFile, mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Post, type PostHead, parsePost } from './read-posts.ts'

/** A question with its best answers: the accepted one first, then by score. */
export interface Answered {
  readonly question: Post
  readonly answers: readonly [Post, ...Post[]]
}

const keptAnswers = 3

const idsPerDrawer = 16_384
const heldBytes = 16 * 2 ** 20

/**
 * Joins questions with their answers, however far apart they are. Posts wait on disk in drawers by question number, and
 * the drawers are opened one at a time at the end: apart from one bit per question, memory depends neither on the size
 * of the dump nor on its number of questions.
 */
export class AnswerJoin {
  readonly #dir: string
  readonly #wanted = new BitSet()
  readonly #held = new Map<number, string[]>()
  readonly #drawers = new Set<number>()
  #bytes = 0

  constructor(dir: string) {
    this.#dir = dir
  }

  async open(): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true })
    await mkdir(this.#dir, { recursive: true })
  }

  /** An answer is only joined if its question came before it: dumps are ordered by post number. */
  async add(post: PostHead): Promise<void> {
    if (post.kind === 'question') this.#wanted.add(post.id)
    else if (post.parentId === null || !this.#wanted.has(post.parentId)) return
    const drawer = Math.floor((post.parentId ?? post.id) / idsPerDrawer)
    const line = `${post.id}\t${post.parentId ?? ''}\t${post.score}\t${post.acceptedAnswerId ?? ''}\t${post.raw}\n`
    const lines = this.#held.get(drawer)
    if (lines) lines.push(line)
    else this.#held.set(drawer, [line])
    this.#bytes += line.length
    if (this.#bytes > heldBytes) await this.#flush()
  }

  /** Every question that has an answer, ordered by question number; the others only as their number. */
  async *answered(): AsyncGenerator<Answered | { readonly unanswered: number }, void, void> {
    await this.#flush()
    for (const drawer of [...this.#drawers].sort((a, b) => a - b)) {
      const lines = (await readFile(this.#path(drawer), 'utf8')).split('\n')
      yield* joinPosts(lines.filter((line) => line !== '').map(parseWaiting))
      await rm(this.#path(drawer))
    }
  }

  async close(): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true })
  }

  async #flush(): Promise<void> {
    for (const [drawer, lines] of this.#held) {
      await appendFile(this.#path(drawer), lines.join(''))
      this.#drawers.add(drawer)
    }
    this.#held.clear()
    this.#bytes = 0
  }

  #path(drawer: number): string {
    return join(this.#dir, `${drawer}.tsv`)
  }
}

/** What must be known about a waiting post; its text is parsed when needed. Questions have no parent. */
type Waiting = Pick<PostHead, 'id' | 'parentId' | 'score' | 'acceptedAnswerId' | 'raw'>

function parseWaiting(line: string): Waiting {
  const [, id, parent, score, accepted] = /^(\d+)\t(\d*)\t(-?[\d.]+)\t(\d*)\t/.exec(line) ?? []
  const number = (text: string | undefined) => (text === '' ? null : Number(text))
  const raw = line.slice(line.indexOf('<row'))
  return { id: Number(id), parentId: number(parent), score: Number(score), acceptedAnswerId: number(accepted), raw }
}

function* joinPosts(posts: readonly Waiting[]): Generator<Answered | { readonly unanswered: number }, void, void> {
  const answers = new Map<number, Waiting[]>()
  const questions = posts.filter(({ parentId }) => parentId === null)
  for (const post of posts)
    if (post.parentId !== null) answers.set(post.parentId, [...(answers.get(post.parentId) ?? []), post])
  for (const { id, raw, acceptedAnswerId } of questions.sort((a, b) => a.id - b.id)) {
    const rank = ({ id, score }: Waiting) => (id === acceptedAnswerId ? Number.POSITIVE_INFINITY : score)
    const [best, ...others] = (answers.get(id) ?? []).sort((a, b) => (rank(a) === rank(b) ? 0 : rank(b) - rank(a)))
    if (best === undefined) yield { unanswered: id }
    else {
      const rest = others.slice(0, keptAnswers - 1).map((post) => parsePost(post.raw))
      yield { question: parsePost(raw), answers: [parsePost(best.raw), ...rest] }
    }
  }
}

/** A set of integers, one bit each, in pages that are only allocated where needed. */
class BitSet {
  readonly #pages = new Map<number, Uint32Array>()

  add(value: number): void {
    const page = Math.floor(value / pageBits)
    let words = this.#pages.get(page)
    if (!words) {
      words = new Uint32Array(pageBits / 32)
      this.#pages.set(page, words)
    }
    const bit = value % pageBits
    words[bit >>> 5] = (words[bit >>> 5] ?? 0) | (1 << (bit & 31))
  }

  has(value: number): boolean {
    const bit = value % pageBits
    const word = this.#pages.get(Math.floor(value / pageBits))?.[bit >>> 5] ?? 0
    return (word & (1 << (bit & 31))) !== 0
  }
}

const pageBits = 1 << 16
