import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  type Dropped,
  definePlugin,
  htmlToMarkdown,
  pathFrom,
  type RawRow,
  type Source,
  type StageContext,
  UserError,
  z,
} from 'ot-agent'
import { type Answered, AnswerJoin } from './join-answers.ts'
import { openDump } from './open-dump.ts'
import { type Post, type PostHead, readPosts } from './read-posts.ts'

const options = z.strictObject({
  path: z.string().min(1).describe('`Posts.xml` of a Stack Exchange dump, plain or .gz, or the .7z that holds it.'),
  source: z.string().min(1).optional().describe("Name of the source (default: the file's name without its ending)."),
  minScore: z.number().int().default(0).describe('Questions with a lower score are skipped.'),
  minAnswerScore: z.number().int().default(1).describe('The same for answers that were not accepted.'),
  minChars: z.number().int().min(0).default(100).describe('Questions whose HTML is shorter or longer are skipped.'),
  maxChars: z.number().int().min(1).default(30_000),
  tags: z.array(z.string().min(1)).default([]).describe('Only questions with one of these tags; none means all.'),
  code: z.boolean().default(true).describe('Posts without code are skipped.'),
  answersWithoutCode: z.boolean().default(false).describe('Answers without code count all the same.'),
  maxMb: z
    .number()
    .positive()
    .optional()
    .describe('Reads only this many megabytes of the XML, for a first look at a large dump.'),
})
type Options = z.output<typeof options>

/** S2: questions from a Stack Exchange dump, each with its best answers. */
export default definePlugin<Source<RawRow>, typeof options>({
  name: 'posts',
  summary: 'Questions and answers of a Stack Exchange dump (Posts.xml, plain or 7z), read as a stream',
  options,
  make: (asked, context) => {
    const given = { ...asked, path: pathFrom(context, asked.path) }
    return {
      kind: 'source',
      gives: 'raw',
      needs: () => [
        {
          kind: 'file',
          path: given.path,
          what: 'the dump of the site',
          provide:
            'download the archive from the public Stack Exchange dump (archive.org/details/stackexchange) and put it there',
        },
      ],
      rows: (at) => readQuestions(given, at),
    }
  },
})

async function* readQuestions(given: Options, at: StageContext): AsyncGenerator<RawRow | Dropped, void, void> {
  const { path, source = basename(path).replace(/\..*$/, '') } = given
  at.signal.throwIfAborted()
  await checkFile(path)
  const join = new AnswerJoin(joinDir(at.workDir))
  await join.open()
  try {
    const counts = { posts: 0, kept: 0 }
    for await (const post of readPosts(path, upTo(openDump(path, at.signal), given.maxMb, at))) {
      counts.posts++
      if (!isWanted(post, given)) continue
      counts.kept++
      await join.add(post)
    }
    at.log(`${counts.posts} posts read, ${counts.kept} of them questions and answers that may count`)
    for await (const found of join.answered()) {
      at.signal.throwIfAborted()
      yield 'unanswered' in found
        ? { drop: 'no-answer', detail: 'no answer of it counts', id: String(found.unanswered) }
        : toRow(found, source, given)
    }
  } finally {
    await join.close()
  }
}

/** Unique, because two dumps may be read at once. */
let opened = 0
function joinDir(workDir: string): string {
  return join(workDir, `posts-${process.pid}-${opened++}`)
}

function isWanted(post: PostHead, given: Options): boolean {
  const { minScore, minChars, maxChars, tags, code, answersWithoutCode } = given
  if (code && !post.hasCode && !(post.kind === 'answer' && answersWithoutCode)) return false
  if (post.bodyChars > maxChars) return false
  if (post.kind === 'answer') return true
  if (post.isClosed || post.score < minScore || post.bodyChars < minChars) return false
  return tags.length === 0 || post.tags.some((tag) => tags.includes(tag))
}

function toRow(
  { question, answers }: Answered,
  source: string,
  { minAnswerScore, answersWithoutCode, code }: Options,
): RawRow | Dropped {
  const id = String(question.id)
  const isAccepted = (answer: Post) => question.acceptedAnswerId === answer.id
  // Part of a dump lacks answers, and those it has may be the worst.
  if ((answersWithoutCode || !code) && question.acceptedAnswerId !== null && !answers.some(isAccepted))
    return { drop: 'no-answer', detail: 'the accepted answer is not in what was read', id }
  const [first, ...others] = answers.filter((answer) => isAccepted(answer) || answer.score >= minAnswerScore)
  if (!first)
    return { drop: 'no-answer', detail: `no answer was accepted, and the best has a score of ${answers[0].score}`, id }
  const asked = htmlToMarkdown(question.body)
  const fields = {
    title: question.title,
    tags: question.tags,
    score: question.score,
    day: question.day,
    body: asked.text,
    code: asked.code,
    license: question.license,
    answer: toAnswer(first, question),
    otherAnswers: others.map((answer) => toAnswer(answer, question)),
  }
  return { id, source, fields }
}

function toAnswer({ id, score, author, comments, body }: Post, question: Post) {
  const { text, code } = htmlToMarkdown(body)
  const isOwn = author !== null && author === question.author
  return { id, score, accepted: question.acceptedAnswerId === id, isOwn, comments, body: text, code }
}

async function* upTo(
  chunks: AsyncIterable<Buffer>,
  maxMb: number | undefined,
  at: StageContext,
): AsyncGenerator<Buffer, void, void> {
  let bytes = 0
  let told = 0
  for await (const chunk of chunks) {
    at.signal.throwIfAborted()
    yield chunk
    bytes += chunk.length
    if (bytes - told >= 2 ** 30) {
      told = bytes
      at.log(`${Math.round(bytes / 2 ** 20)} MiB of posts read`)
    }
    if (maxMb !== undefined && bytes >= maxMb * 1e6) return
  }
}

async function checkFile(path: string): Promise<void> {
  try {
    if ((await stat(path)).isFile()) return
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    throw new UserError(`${path}: expected a dump of posts, found nothing there`, 'check the path')
  }
  throw new UserError(`${path}: expected a dump of posts, found a folder`, 'name its Posts.xml')
}
