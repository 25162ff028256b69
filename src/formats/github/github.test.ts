import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { fileText, repositoryFacts, searchDockerfiles } from './code-search.ts'
import { type Github, makeGithub, waitOf } from './github-api.ts'

/** Real answers from GitHub: test/fixtures/github/README.md. */
const published = (name: string) => JSON.parse(readFileSync(`test/fixtures/github/${name}.json`, 'utf8'))
const recorded = published('recorded')

/** A GitHub that gives the same answer to everything. */
const saying = (document: unknown, status = 200): Github => ({ get: async () => ({ status, document }) })

async function all(github: Github, keyword = 'x') {
  const found = searchDockerfiles(github, keyword)
  const files: unknown[] = []
  for (;;) {
    const next = await found.next()
    if (next.done) return { files, ...next.value }
    files.push(next.value)
  }
}

describe("answers of GitHub's own description and recordings", () => {
  test('a page of a search of code', async () => {
    const page = published('code-search')
    expect(page.items.length).toBeGreaterThan(0)
    // The search found no Dockerfiles; turn one of its files into one.
    expect(await all(saying(page))).toEqual({ files: [], total: page.total_count, complete: true })
    const [first] = page.items
    const found = await all(saying({ ...page, items: [{ ...first, name: 'Dockerfile', path: 'docker/Dockerfile' }] }))
    expect(found.files).toEqual([{ repo: 'jquery/jquery', path: 'docker/Dockerfile', sha: first.sha }])
  })

  test('repositories, with a license and without one', async () => {
    expect(await repositoryFacts(saying(published('repository')), 'octocat/Hello-World')).toEqual({
      ...{ isPublic: true, description: 'This your first repo!', stars: 80, license: 'MIT' },
    })
    const { status, response } = recorded['get-repository']
    expect(await repositoryFacts(saying(response, status), 'octokit-fixture-org/hello-world')).toEqual({
      ...{ isPublic: true, description: '', stars: 0, license: null },
    })
  })

  test('the content of a file', async () => {
    const file = { repo: 'octocat/example', path: 'Dockerfile', sha: published('blob').sha }
    expect(await fileText(saying(published('blob')), file, 100)).toEqual({ text: 'Content of the blob' })
    expect(await fileText(saying(published('blob')), file, 10)).toEqual({ skip: 'too-large' })
    const binary = { ...published('blob'), content: Buffer.from([0xff, 0xfe]).toString('base64') }
    expect(await fileText(saying(binary), file, 100)).toEqual({ skip: 'not-text' })
  })

  test('no answer that was recorded is a limit, and a search that is refused says why', async () => {
    for (const { status, headers, response } of Object.values<(typeof recorded)[string]>(recorded))
      expect(waitOf({ status, headers, body: Buffer.from(JSON.stringify(response)) }, 1)).toBeNull()
    const { status, response } = recorded.errors
    await expect(all(saying(response, status))).rejects.toMatchObject({
      name: 'UserError',
      message: 'GitHub cannot search for "x": Validation Failed',
    })
    expect(await all(saying(recorded['search-issues'].response))).toEqual({ files: [], total: 2, complete: true })
  })
})

test('limits are waited for as GitHub documents them', () => {
  const answer = (status: number, headers: Record<string, string>, message = '') => ({
    ...{ status, headers, body: Buffer.from(JSON.stringify({ message })) },
  })
  const { headers } = recorded['search-issues']
  // The recorded headers with no requests left: a minute by GitHub's own clock.
  expect(waitOf(answer(403, { ...headers, 'x-ratelimit-remaining': '0' }), 1)).toBe(61_000)
  expect(waitOf(answer(429, { 'retry-after': '7' }), 1)).toBe(7000)
  expect(waitOf(answer(403, {}, 'You have exceeded a secondary rate limit.'), 1)).toBe(60_000)
  expect(waitOf(answer(403, {}, 'You have exceeded a secondary rate limit.'), 3)).toBe(240_000)
  expect(waitOf(answer(403, headers, 'Resource not accessible by personal access token'), 1)).toBeNull()
  expect(waitOf(answer(404, {}), 1)).toBeNull()
  expect(waitOf(answer(502, {}), 1)).toBe(2000)
})

test('words that would be another search, and a token without a safe way, are refused', async () => {
  for (const keyword of ['', ' ', 'a"b', 'a\nb', 'x'.repeat(101)])
    await expect(all(saying({}), keyword), keyword).rejects.toThrow('expected a word')
  const at = { signal: new AbortController().signal, notify: () => {} }
  expect(() => makeGithub({ ...at, env: {} })).toThrow('GITHUB_TOKEN and GH_TOKEN are not set')
  const env = { GH_TOKEN: 'ghp_secret', GITHUB_API_URL: 'http://example.org' }
  expect(() => makeGithub({ ...at, env })).toThrow('expected an https:// address')
})

test('a server that is not there is asked again aloud, and the error names the trouble', async () => {
  const [waits, notes]: [number[], string[]] = [[], []]
  const github = makeGithub({
    // Nothing listens there.
    ...{ env: { GITHUB_TOKEN: 'ghp_secret', GITHUB_API_URL: 'http://127.0.0.1:1' } },
    ...{ signal: new AbortController().signal, notify: (line) => void notes.push(line) },
    pause: async (ms) => void waits.push(ms),
  })
  await expect(github.get('/repos/org/name', 1000)).rejects.toMatchObject({
    ...{ name: 'UserError', exitCode: 3, hint: expect.stringContaining('check the network') },
    message: expect.stringMatching(/^GitHub gave no answer to \/repos\/org\/name: .*ECONNREFUSED/),
  })
  expect(waits).toHaveLength(7)
  expect(notes).toHaveLength(7)
  expect(notes[0]).toMatch(/^GitHub: .*ECONNREFUSED.*; retrying in 2 s$/)
})

test('a token that no request can carry is refused without printing it', () => {
  const at = { signal: new AbortController().signal, notify: () => {} }
  for (const token of ['ghp_secret\r', 'ghp_secret\n', 'ghp_ secret', 'ghp_secret\u00e9']) {
    let refused: unknown
    try {
      makeGithub({ ...at, env: { GITHUB_TOKEN: token } })
    } catch (error) {
      refused = error
    }
    expect(refused, JSON.stringify(token)).toMatchObject({ name: 'UserError' })
    expect(`${String(refused)} ${Object(refused).hint}`).not.toContain('secret')
  }
})
