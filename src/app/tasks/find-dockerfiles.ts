import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import {
  type FoundFile,
  fileText,
  mostResults,
  type RepositoryFacts,
  repositoryFacts,
  searchDockerfiles,
} from '../../formats/github/code-search.ts'
import { type Github, type GithubAt, makeGithub } from '../../formats/github/github-api.ts'
import { isMissing, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { type JsonLines, openJsonLines, readJsonLines } from '../../lib/jsonl.ts'
import { acquireOwner } from '../../store/job-owner.ts'
import { explainDisk } from '../disk-errors.ts'

/** Licenses that allow using a Dockerfile in a dataset. */
export const usualLicenses = [
  ...['MIT', 'MIT-0', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'ISC', 'Unlicense', 'CC0-1.0'],
] as const

export interface FindRequest {
  /** Each is a separate search. */
  readonly keywords: readonly string[]
  /** Dockerfiles as JSON lines, the input of `makers/environment`. Earlier finds are kept. */
  readonly out: string
  /** Files per keyword (default: 20). */
  readonly limit?: number | undefined
  /** Allowed licenses of the repository, as SPDX ids (default: the usual permissive ones). */
  readonly licenses?: readonly string[] | undefined
  /** Larger files are skipped (default: 20,000). */
  readonly maxBytes?: number | undefined
}

export interface FoundDockerfiles {
  readonly out: string
  readonly files: number
  readonly repositories: number
  /** Why files were skipped, with counts. */
  readonly skipped: Readonly<Record<string, number>>
}

const fileLine = z.object({
  kind: z.literal('file'),
  keyword: z.string(),
  ...{ repo: z.string(), path: z.string(), sha: z.string(), license: z.string(), description: z.string() },
  stars: z.number(),
  text: z.string(),
})
const journalLine = z.discriminatedUnion('kind', [
  fileLine,
  z.object({
    kind: z.literal('skip'),
    ...{ keyword: z.string(), repo: z.string(), sha: z.string(), why: z.string(), options: z.string().optional() },
  }),
  z.object({ kind: z.literal('done'), keyword: z.string(), options: z.string().optional() }),
  z.object({ kind: z.literal('wrote'), digest: z.string() }),
])
type JournalLine = z.output<typeof journalLine>
type FileLine = Extract<JournalLine, { kind: 'file' }>
type SkipLine = Extract<JournalLine, { kind: 'skip' }>

/**
 * Searches GitHub for Dockerfiles that may be used. Everything learned is saved at once in a journal next to the file,
 * so the same request resumes and never requests a file twice. The file itself is written whole.
 */
export async function findDockerfiles(request: FindRequest, at: GithubAt): Promise<FoundDockerfiles> {
  if (request.keywords.length === 0) throw new UserError('expected words to search for, got none', 'pass at least one')
  const out = resolve(request.out)
  const github = makeGithub(at)
  return explainDisk(out, async () => {
    const place = `${out}.search`
    const journal = `${place}/journal.jsonl`
    await refuseForeign(out, await readJournal(journal))
    await mkdir(place, { recursive: true })
    const release = await acquireOwner(place)
    const lines = await openJsonLines(journal)
    try {
      const search = new Search(github, request, { known: await readJournal(journal), lines, notify: at.notify })
      for (const keyword of new Set(request.keywords)) await search.keyword(keyword)
      return await writeFound(out, await readJournal(journal), lines)
    } finally {
      await lines.close()
      await release()
    }
  })
}

interface SearchState {
  readonly known: JournalLine[]
  readonly lines: JsonLines
  readonly notify: GithubAt['notify']
}

class Search {
  /** Keys of files already handled; those skipped because of their repository are only known for that repository. */
  private readonly seen: Set<string>
  /** Under other options, skipped files are considered again. */
  private readonly options: string
  private readonly repositories = new Map<string, RepositoryFacts | null>()

  constructor(
    private readonly github: Github,
    private readonly request: FindRequest,
    private readonly state: SearchState,
  ) {
    const { licenses = usualLicenses, maxBytes = 20_000 } = request
    this.options = JSON.stringify([[...licenses].sort(), maxBytes])
    this.seen = new Set(state.known.flatMap((line) => (this.counts(line) && 'sha' in line ? [keyOf(line)] : [])))
  }

  async keyword(keyword: string): Promise<void> {
    const { limit = 20 } = this.request
    const own = this.state.known.filter((line) => 'keyword' in line && line.keyword === keyword)
    let files = own.filter(({ kind }) => kind === 'file').length
    if (files >= limit || own.some((line) => line.kind === 'done' && this.counts(line))) return
    const found = searchDockerfiles(this.github, keyword)
    while (files < limit) {
      const next = await found.next()
      if (next.done) {
        const { total, complete } = next.value
        if (!complete) this.state.notify(incomplete(keyword, total))
        // Results that GitHub had no time for can be found another day; those beyond its limit never can.
        if (complete || total >= mostResults) await this.note({ kind: 'done', keyword, options: this.options })
        return
      }
      const { repo, sha } = next.value
      if (this.seen.has(sha) || this.seen.has(inRepository(repo, sha))) continue
      const line = await this.look(keyword, next.value)
      this.seen.add(keyOf(line))
      if (line.kind === 'file') files++
      // The name of a private repository is never written to disk.
      await this.note(line.kind === 'skip' && line.why === 'private' ? { ...line, repo: '' } : line)
    }
  }

  /** Whether a journal line is valid under the options of this search. */
  private counts(line: JournalLine): boolean {
    return line.kind === 'file' || ('options' in line && line.options === this.options)
  }

  private async look(keyword: string, file: FoundFile): Promise<FileLine | SkipLine> {
    const { licenses = usualLicenses, maxBytes = 20_000 } = this.request
    const { repo, path, sha } = file
    const skip = (why: string): SkipLine => ({ kind: 'skip', keyword, repo, sha, why, options: this.options })
    const known = this.repositories.get(repo)
    const facts = known === undefined ? await repositoryFacts(this.github, repo) : known
    this.repositories.set(repo, facts)
    if (facts === null) return skip('gone')
    // The token may see what is private to its owner.
    if (!facts.isPublic) return skip('private')
    if (facts.license === null || !licenses.includes(facts.license)) return skip('license')
    const read = await fileText(this.github, file, maxBytes)
    if ('skip' in read) return skip(read.skip)
    const { license, description, stars } = facts
    return { kind: 'file', keyword, repo, path, sha, license, description, stars, text: read.text }
  }

  private async note(line: JournalLine): Promise<void> {
    this.state.lines.append(line)
    await this.state.lines.flush()
  }
}

/**
 * The key under which a file is not considered again: its content if that decided, otherwise its content in this
 * repository.
 */
function keyOf(line: FileLine | SkipLine): string {
  const byContent = line.kind === 'file' || line.why === 'too-large' || line.why === 'not-text'
  return byContent ? line.sha : inRepository(line.repo, line.sha)
}

function inRepository(repo: string, sha: string): string {
  return `${repo}\0${sha}`
}

function incomplete(keyword: string, total: number): string {
  return total > mostResults
    ? `${keyword}: GitHub shows only ${mostResults} of ${total} results; use other words to find more`
    : `${keyword}: GitHub timed out, and its results are incomplete`
}

async function readJournal(path: string): Promise<JournalLine[]> {
  const found: JournalLine[] = []
  try {
    // A line cut short by a crash is ignored.
    for await (const line of readJsonLines(path)) {
      const parsed = journalLine.safeParse(line)
      if (parsed.success) found.push(parsed.data)
    }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  return found
}

/** Refuses to replace a file this command did not write: a file created or edited manually is in no journal. */
async function refuseForeign(out: string, journal: readonly JournalLine[]): Promise<void> {
  const text = await readTextIfExists(out)
  if (text === null || text === render(filesOf(journal))) return
  const digest = digestOf(text)
  if (journal.some((line) => line.kind === 'wrote' && line.digest === digest)) return
  throw new UserError(
    `${out}: expected a file that this command wrote, found one that it did not write or that has changed since`,
    'choose another file, or move this one elsewhere',
  )
}

async function writeFound(out: string, journal: readonly JournalLine[], lines: JsonLines): Promise<FoundDockerfiles> {
  const files = filesOf(journal)
  const text = render(files)
  lines.append({ kind: 'wrote', digest: digestOf(text) } satisfies JournalLine)
  await lines.flush()
  await writeAtomic(out, text)
  const judged = new Map<string, FileLine | SkipLine>()
  for (const line of journal) if ('sha' in line) judged.set(inRepository(line.repo, line.sha), line)
  const skipped: Record<string, number> = {}
  for (const line of judged.values()) if (line.kind === 'skip') skipped[line.why] = (skipped[line.why] ?? 0) + 1
  return { out, files: files.length, repositories: new Set(files.map(({ repo }) => repo)).size, skipped }
}

function filesOf(journal: readonly JournalLine[]): readonly FileLine[] {
  const bySha = new Map(journal.flatMap((line) => (line.kind === 'file' ? [[line.sha, line] as const] : [])))
  const order = ({ repo, path, sha }: FoundFile) => `${repo}\0${path}\0${sha}`
  return [...bySha.values()].sort((a, b) => (order(a) < order(b) ? -1 : 1))
}

function render(files: readonly FileLine[]): string {
  return files.map(({ kind: _, keyword: __, ...file }) => `${JSON.stringify(file)}\n`).join('')
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
