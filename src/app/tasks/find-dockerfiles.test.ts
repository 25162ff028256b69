import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findDockerfile } from '../../../data/perturbed-docker/environment/find-dockerfile.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { findDockerfiles } from './find-dockerfiles.ts'

const token = 'ghp_planted0123456789'
const dockerfile = 'FROM debian:12\nRUN apt-get update\nRUN apt-get install -y pandas\n'

interface Repository {
  readonly license: string | null
  readonly isPrivate?: boolean
  readonly text?: string
  /** Equal contents have the same hash everywhere. */
  readonly sha?: string
}

/** A server that behaves as GitHub documents. `first` may answer instead, for example with a rate limit. */
async function github(
  repositories: Readonly<Record<string, Repository>>,
  first: (asked: string, response: ServerResponse, nth: number) => boolean = () => false,
) {
  const names = Object.keys(repositories)
  const asked: string[] = []
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    asked.push(`${url.pathname}${url.searchParams.get('page') ?? ''}`)
    if (request.headers.authorization !== `Bearer ${token}`) return send(response, 401, { message: 'Bad credentials' })
    if (first(url.pathname, response, asked.length)) return
    if (url.pathname === '/search/code') {
      const [page, size] = [Number(url.searchParams.get('page')), Number(url.searchParams.get('per_page'))]
      if ((page - 1) * size >= 1000)
        return send(response, 422, { message: 'Only the first 1000 search results are available' })
      const items = names.slice((page - 1) * size, page * size).map((name, i) => ({
        ...{ name: 'Dockerfile', path: 'Dockerfile', sha: repositories[name]?.sha ?? shaOf((page - 1) * size + i) },
        repository: { full_name: name },
      }))
      return send(response, 200, { total_count: names.length, incomplete_results: false, items })
    }
    const [, , org, name, , , sha = ''] = url.pathname.split('/')
    const repository = repositories[`${org}/${name}`]
    if (!repository) return send(response, 404, { message: 'Not Found' })
    if (sha === '') {
      const { license, isPrivate = false } = repository
      const facts = { private: isPrivate, description: 'data frames', stargazers_count: 7 }
      return send(response, 200, { ...facts, license: license && { spdx_id: license } })
    }
    const content = Buffer.from(repository.text ?? dockerfile).toString('base64')
    send(response, 200, { content, encoding: 'base64', size: content.length })
  }
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const env = { GITHUB_TOKEN: token, GITHUB_API_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  return { env, asked }
}

function shaOf(nth: number): string {
  return nth.toString(16).padStart(40, '0')
}

function send(response: ServerResponse, status: number, document: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(document))
}

async function setUp(env: Record<string, string>) {
  const dir = await makeTempDir()
  const [waits, notes]: [number[], string[]] = [[], []]
  const controller = new AbortController()
  const at = {
    ...{ env, signal: controller.signal },
    notify: (line: string) => void notes.push(line),
    pause: async (ms: number) => void waits.push(ms),
  }
  const out = join(dir, 'found.jsonl')
  const read = () =>
    readFileSync(out, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  return { dir, out, at, waits, notes, controller, read }
}

test('what may be used is written as the maker of environments takes it, and nothing else', async () => {
  const { env } = await github({
    'org/frames': { license: 'MIT' },
    'org/gpl': { license: 'GPL-3.0' },
    'org/none': { license: null },
    'org/secret': { license: 'MIT', isPrivate: true },
    'org/large': { license: 'MIT', text: `${dockerfile}# ${'x'.repeat(30_000)}` },
    'org/binary': { license: 'Apache-2.0', text: 'FROM x\0' },
  })
  const { dir, out, at, read } = await setUp(env)
  const found = await findDockerfiles({ keywords: ['pandas'], out }, at)
  expect(found).toMatchObject({ files: 1, repositories: 1 })
  expect(found.skipped).toEqual({ license: 2, private: 1, 'too-large': 1, 'not-text': 1 })
  expect(read()).toEqual([
    {
      ...{ repo: 'org/frames', path: 'Dockerfile', sha: shaOf(0), license: 'MIT', description: 'data frames' },
      ...{ stars: 7, text: dockerfile },
    },
  ])
  expect(findDockerfile('pandas', read())?.repo).toBe('org/frames')
  const written = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const { parentPath, name } of written) expect(readFileSync(join(parentPath, name), 'utf8')).not.toContain(token)
})

test('limits of both kinds are waited for, and a server that is down is asked again', async () => {
  const { env } = await github({ 'org/a': { license: 'MIT' } }, (_, response, nth) => {
    const now = Math.floor(Date.now() / 1000)
    const spent = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now + 40) }
    if (nth === 1) send(response, 403, { message: 'API rate limit exceeded' }, spent)
    if (nth === 2) send(response, 429, { message: 'secondary rate limit' }, { 'retry-after': '90' })
    if (nth === 3) send(response, 403, { message: 'You have exceeded a secondary rate limit' })
    if (nth === 4) send(response, 502, { message: 'Bad gateway' })
    return nth <= 4
  })
  const { out, at, waits, notes } = await setUp(env)
  expect(await findDockerfiles({ keywords: ['pandas'], out }, at)).toMatchObject({ files: 1 })
  const [primary = 0, ...others] = waits
  expect(primary).toBeGreaterThan(30_000)
  expect(others).toEqual([90_000, 240_000, 16_000])
  expect(notes).toContain('GitHub asks to wait for 90 s')
  expect(notes.at(-1)).toBe('GitHub: status 502; retrying in 16 s')
})

test('a limit that does not end, and a token that is not accepted, end the search', async () => {
  const { env } = await github({}, (_, response) => {
    send(response, 429, { message: 'secondary rate limit' }, { 'retry-after': '999999' })
    return true
  })
  const { out, at, waits } = await setUp(env)
  await expect(findDockerfiles({ keywords: ['x'], out }, at)).rejects.toMatchObject({
    ...{ name: 'UserError', exitCode: 3, hint: expect.stringContaining('try again later') },
    message: 'GitHub gave no answer to /search/code: it asks to wait for 999999 s',
  })
  expect(waits).toEqual([])
  const wrong = { ...at, env: { ...env, GITHUB_TOKEN: 'ghp_other' } }
  const refused = await findDockerfiles({ keywords: ['x'], out }, wrong).catch((error: unknown) => error)
  expect(refused).toMatchObject({ name: 'UserError', message: 'GitHub did not accept the token' })
  expect(JSON.stringify(refused)).not.toContain('ghp_other')
})

test('pages are followed to the 1,000 results that GitHub shows, and what is missing is said', async () => {
  const names = Array.from({ length: 1200 }, (_, i) => [`org/r${i}`, { license: 'GPL-3.0' }])
  const { env, asked } = await github(Object.fromEntries(names))
  const { out, at, notes } = await setUp(env)
  const { files, skipped } = await findDockerfiles({ keywords: ['x'], out }, at)
  expect({ files, skipped }).toEqual({ files: 0, skipped: { license: 1000 } })
  expect(asked.filter((path) => path.startsWith('/search')).at(-1)).toBe('/search/code10')
  expect(notes.at(-1)).toBe('x: GitHub shows only 1000 of 1200 results; use other words to find more')
})

test('a search that GitHub did not finish is asked for again, said to be incomplete, and repeated another day', async () => {
  let isWhole = false
  const { env, asked } = await github({ 'org/a': { license: 'MIT' } }, (path, response) => {
    if (isWhole || path !== '/search/code') return false
    send(response, 200, { total_count: 0, incomplete_results: true, items: [] })
    return true
  })
  const { out, at, notes } = await setUp(env)
  expect(await findDockerfiles({ keywords: ['x'], out }, at)).toMatchObject({ files: 0 })
  expect(asked).toHaveLength(3)
  expect(notes).toEqual(['x: GitHub timed out, and its results are incomplete'])
  isWhole = true
  expect(await findDockerfiles({ keywords: ['x'], out }, at)).toMatchObject({ files: 1 })
})

test('the same request resumes, fetches no file twice, and adds results of other keywords', async () => {
  const names = Array.from({ length: 5 }, (_, i) => [`org/r${i}`, { license: 'MIT', text: `${dockerfile}# ${i}\n` }])
  let stopAt = 3
  const started = await setUp({})
  const { env, asked } = await github(Object.fromEntries(names), (path) => {
    if (path.includes('/blobs/') && --stopAt === 0) started.controller.abort()
    return false
  })
  const { out } = started
  await expect(findDockerfiles({ keywords: ['x'], out }, { ...started.at, env })).rejects.toThrow(/abort/i)
  expect(readdirSync(started.dir)).toEqual(['found.jsonl.search'])
  const again = { ...started.at, env, signal: new AbortController().signal }
  const before = new Set(asked.filter((path) => path.includes('/blobs/')).slice(0, 2))
  asked.length = 0
  expect(await findDockerfiles({ keywords: ['x'], out }, again)).toMatchObject({ files: 5 })
  expect(asked.filter((path) => before.has(path))).toEqual([])
  asked.length = 0
  expect(await findDockerfiles({ keywords: ['x'], out }, again)).toMatchObject({ files: 5 })
  expect(asked).toEqual([])
  expect(await findDockerfiles({ keywords: ['y'], out }, again)).toMatchObject({ files: 5 })
  expect(asked.filter((path) => path.includes('/blobs/'))).toEqual([])
  expect(started.read()).toHaveLength(5)
})

test('a file created or edited manually, and a directory, are refused before any request', async () => {
  const { env, asked } = await github({ 'org/a': { license: 'MIT' } })
  const { dir, out, at } = await setUp(env)
  const request = { keywords: ['x'], out }
  writeFileSync(out, '{"repo":"mine"}\n')
  const foreign = { name: 'UserError', message: expect.stringContaining('expected a file that this command wrote') }
  await expect(findDockerfiles(request, at)).rejects.toMatchObject(foreign)
  expect(readFileSync(out, 'utf8')).toBe('{"repo":"mine"}\n')
  expect(readdirSync(dir)).toEqual(['found.jsonl'])
  writeFileSync(out, '')
  await findDockerfiles(request, at)
  const written = readFileSync(out, 'utf8')
  asked.length = 0
  for (const changed of [written.replace('data frames', 'my words'), '']) {
    writeFileSync(out, changed)
    await expect(findDockerfiles({ ...request, keywords: ['y'] }, at)).rejects.toMatchObject(foreign)
    expect(readFileSync(out, 'utf8')).toBe(changed)
  }
  const place = join(dir, 'place')
  mkdirSync(place)
  await expect(findDockerfiles({ ...request, out: place }, at)).rejects.toMatchObject({
    ...{ name: 'UserError', message: expect.stringContaining('expected a file, found a directory') },
  })
  expect(asked).toEqual([])
})

test('what a search wrote is still its own after another one that was stopped', async () => {
  let stops = false
  const { dir: _, out, at, controller, read } = await setUp({})
  const { env } = await github({ 'org/a': { license: 'MIT' }, 'org/b': { license: 'ISC' } }, (path) => {
    if (stops && path === '/repos/org/b') controller.abort()
    return false
  })
  const request = { keywords: ['x'], out, limit: 1 }
  const again = { ...at, env, signal: new AbortController().signal }
  await findDockerfiles(request, again)
  stops = true
  await expect(findDockerfiles({ ...request, limit: 2 }, { ...at, env })).rejects.toThrow(/abort/i)
  stops = false
  expect(await findDockerfiles({ ...request, limit: 2 }, again)).toMatchObject({ files: 2 })
  expect(read()).toHaveLength(2)
})

test('a Dockerfile that one repository does not allow is taken from one that does', async () => {
  const { env } = await github({
    'org/gpl': { license: 'GPL-3.0', sha: shaOf(7) },
    'org/mit': { license: 'MIT', sha: shaOf(7) },
    'org/also': { license: 'MIT', sha: shaOf(7) },
  })
  const { out, at, read } = await setUp(env)
  expect(await findDockerfiles({ keywords: ['x'], out }, at)).toMatchObject({ files: 1, skipped: { license: 1 } })
  expect(read()).toMatchObject([{ repo: 'org/mit', license: 'MIT' }])
})

test('other licenses and a larger size are searched for again, the same ones are not', async () => {
  const { env, asked } = await github({
    'org/mit': { license: 'MIT' },
    'org/gpl': { license: 'GPL-3.0' },
    'org/large': { license: 'MIT', text: `${dockerfile}# ${'x'.repeat(30_000)}` },
  })
  const { out, at } = await setUp(env)
  const find = (more: object) => findDockerfiles({ keywords: ['x'], out, ...more }, at)
  expect(await find({})).toMatchObject({ files: 1, skipped: { license: 1, 'too-large': 1 } })
  expect(await find({ licenses: ['GPL-3.0'] })).toMatchObject({ files: 2 })
  expect((await find({ maxBytes: 40_000 })).files).toBe(3)
  asked.length = 0
  expect(await find({ maxBytes: 40_000 })).toMatchObject({ files: 3, skipped: {} })
  expect(asked).toEqual([])
})

test('the names of private repositories are written nowhere', async () => {
  const { env } = await github({
    'org/hidden': { license: 'MIT', isPrivate: true, sha: shaOf(7) },
    'org/open': { license: 'MIT', sha: shaOf(7) },
  })
  const { dir, out, at } = await setUp(env)
  expect(await findDockerfiles({ keywords: ['x'], out }, at)).toMatchObject({ files: 1, skipped: { private: 1 } })
  const written = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  expect(written.map(({ name }) => name).sort()).toEqual(['found.jsonl', 'journal.jsonl'])
  for (const { parentPath, name } of written)
    expect(readFileSync(join(parentPath, name), 'utf8'), name).not.toContain('hidden')
})
