import { expect, test } from 'vitest'
import { listRepositories } from './list-repositories.ts'

const account = { endpoint: 'https://hub.test', token: 'hf_secret' }

function hubWith(pages: Readonly<Record<string, { ids: readonly string[]; next?: string }>>) {
  const asked: string[] = []
  const fetch = async (input: unknown, init?: RequestInit) => {
    const url = new URL(String(input))
    asked.push(`${url.host} ${JSON.stringify(init?.headers)}`)
    const page = pages[url.searchParams.get('cursor') ?? '']
    if (page === undefined) return new Response('{}', { status: 404 })
    const headers = page.next === undefined ? {} : { link: `<${page.next}>; rel="next"` }
    return new Response(JSON.stringify(page.ids.map((id) => ({ id, private: false }))), { headers })
  }
  return { fetch: fetch as typeof globalThis.fetch, asked }
}

test('all pages are read, and the token goes to the Hub only', async () => {
  const { fetch, asked } = hubWith({
    '': { ids: ['org/a', 'org/b'], next: 'https://hub.test/api/models?cursor=2' },
    '2': { ids: ['org/c'], next: 'https://evil.test/api/models?cursor=3' },
    '3': { ids: ['evil/d'] },
  })
  const found = await listRepositories('org', 'model', account, fetch)
  expect(found.map(({ name }) => name)).toEqual(['org/a', 'org/b', 'org/c'])
  expect(asked).toEqual(Array(2).fill('hub.test {"authorization":"Bearer hf_secret"}'))
})

test('a refusal and a name that is none are errors', async () => {
  await expect(listRepositories('org', 'model', account, hubWith({}).fetch)).rejects.toThrow(
    'org: expected it on the Hub, found nothing (404)',
  )
  await expect(listRepositories('../x', 'model', account, hubWith({}).fetch)).rejects.toThrow('name of an organization')
})
