import { z } from 'zod'
import { BoundaryError, UserError } from '../../core/errors.ts'
import type { Github } from './github-api.ts'

/** A file found by a code search. */
export interface FoundFile {
  /** `org/name`. */
  readonly repo: string
  readonly path: string
  /** The hash of its content: equal contents have the same one everywhere. */
  readonly sha: string
}

export interface RepositoryFacts {
  readonly isPublic: boolean
  readonly description: string
  readonly stars: number
  /** Its SPDX id; null if GitHub knows of none. */
  readonly license: string | null
}

const repoName = z.string().regex(/^[\w.-]+\/[\w.-]+$/)
const sha = z.string().regex(/^[0-9a-f]{40,64}$/)
const item = z.object({ name: z.string(), path: z.string(), sha, repository: z.object({ full_name: repoName }) })
const searchPage = z.object({
  total_count: z.number(),
  incomplete_results: z.boolean(),
  items: z.array(z.unknown()),
})
const repository = z.object({
  private: z.boolean(),
  description: z.string().nullish(),
  stargazers_count: z.number().default(0),
  license: z.object({ spdx_id: z.string().nullish() }).nullish(),
})
const blob = z.object({ content: z.string(), encoding: z.enum(['base64', 'utf-8']), size: z.number() })

/** GitHub's limit on the results of a search. */
export const mostResults = 1000
const perPage = 100
const answerBytes = 20 << 20
/** How often a page that GitHub marks as incomplete is requested. */
const incompleteTries = 3

export interface SearchOutcome {
  /** The total according to GitHub. */
  readonly total: number
  /** Whether GitHub searched everything and returned all of it. */
  readonly complete: boolean
}

/** Searches code for Dockerfiles containing a word, page by page. */
export async function* searchDockerfiles(github: Github, keyword: string): AsyncGenerator<FoundFile, SearchOutcome> {
  if (!/^[^"\p{Cc}]{1,100}$/u.test(keyword) || keyword.trim() === '')
    throw new UserError(
      `${JSON.stringify(keyword.slice(0, 100))}: expected a word or a few without quotes`,
      'for example: pandas',
    )
  let complete = true
  for (let page = 1; ; page++) {
    const found = await pageOf(github, keyword, page)
    if (found === null) return { total: mostResults, complete: false }
    if (found.incomplete_results) complete = false
    for (const each of found.items) {
      const parsed = item.safeParse(each)
      if (!parsed.success || parsed.data.name !== 'Dockerfile') continue
      yield { repo: parsed.data.repository.full_name, path: parsed.data.path, sha: parsed.data.sha }
    }
    const seen = page * perPage
    if (seen >= Math.min(found.total_count, mostResults) || found.items.length === 0)
      return { total: found.total_count, complete: complete && found.total_count <= mostResults }
  }
}

/** One page; null beyond the last one that GitHub returns. */
async function pageOf(github: Github, keyword: string, page: number): Promise<z.output<typeof searchPage> | null> {
  const query = encodeURIComponent(`"${keyword}" filename:Dockerfile`)
  const path = `/search/code?q=${query}&per_page=${perPage}&page=${page}`
  for (let nth = 1; ; nth++) {
    const answer = await github.get(path, answerBytes)
    if (answer !== 'too-large' && answer.status === 422) {
      const message = String(Object(answer.document).message ?? '')
      if (/only the first \d+ search results/i.test(message)) return null
      throw new UserError(
        `GitHub cannot search for ${JSON.stringify(keyword)}: ${message.slice(0, 200)}`,
        'try other words',
      )
    }
    const parsed = answer === 'too-large' ? null : searchPage.safeParse(answer.document)
    if (!parsed?.success) throw unexpected('a search', answer)
    if (!parsed.data.incomplete_results || nth >= incompleteTries) return parsed.data
  }
}

/** What GitHub knows about a repository; null if it does not exist, or is not visible to this account. */
export async function repositoryFacts(github: Github, repo: string): Promise<RepositoryFacts | null> {
  const answer = await github.get(`/repos/${repo}`, answerBytes)
  if (answer !== 'too-large' && [403, 404, 451].includes(answer.status)) return null
  const parsed = answer === 'too-large' ? null : repository.safeParse(answer.document)
  if (!parsed?.success) throw unexpected(`the repository ${repo}`, answer)
  const { description, stargazers_count: stars, license } = parsed.data
  const spdx = license?.spdx_id ?? null
  return {
    isPublic: !parsed.data.private,
    description: description ?? '',
    stars,
    license: spdx === 'NOASSERTION' ? null : spdx,
  }
}

/** A file's text, or why there is none. */
export async function fileText(
  github: Github,
  { repo, sha: of }: FoundFile,
  maxBytes: number,
): Promise<{ readonly text: string } | { readonly skip: 'too-large' | 'not-text' | 'gone' }> {
  // Base64 with occasional line breaks, inside JSON.
  const answer = await github.get(`/repos/${repo}/git/blobs/${of}`, maxBytes * 2 + 10_000)
  if (answer === 'too-large') return { skip: 'too-large' }
  if ([403, 404, 451].includes(answer.status)) return { skip: 'gone' }
  const parsed = blob.safeParse(answer.document)
  if (!parsed.success) throw unexpected(`a file of ${repo}`, answer)
  const bytes = Buffer.from(parsed.data.content, parsed.data.encoding === 'base64' ? 'base64' : 'utf8')
  if (bytes.length > maxBytes) return { skip: 'too-large' }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? { skip: 'not-text' } : { text }
  } catch {
    return { skip: 'not-text' }
  }
}

function unexpected(what: string, answer: Awaited<ReturnType<Github['get']>>): BoundaryError {
  const got = answer === 'too-large' ? 'a very long one' : `status ${answer.status}`
  return new BoundaryError('store', `GitHub: expected an answer about ${what}, got ${got}`)
}
