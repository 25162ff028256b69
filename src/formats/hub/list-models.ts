import { z } from 'zod'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { readJson } from '../../lib/parse-json.ts'
import type { HubAccount } from './account.ts'
import { hubFailure } from './failures.ts'

/** More models than this are not looked at. */
const modelsLimit = 10_000
const pageSchema = z.array(z.object({ id: z.string() }))

/** The names of the models of an account or organization, newest first. */
export async function listHubModels(
  organization: string,
  { endpoint, token }: HubAccount,
  fetch: typeof globalThis.fetch,
): Promise<readonly string[]> {
  if (!/^[\w.-]+$/.test(organization))
    throw new UserError(`expected the name of an organization, got ${JSON.stringify(organization)}`, 'such as my-org')
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  const names: string[] = []
  let next: string | null = `${endpoint}/api/models?author=${organization}&sort=createdAt&direction=-1&limit=1000`
  while (next !== null && names.length < modelsLimit) {
    const page: Response = await fetch(next, { headers }).catch((error: unknown) => {
      throw hubFailure(error, organization, token !== null)
    })
    if (!page.ok)
      throw new BoundaryError('model', `the Hub refused to list the models of ${organization}: ${page.status}`)
    names.push(...pageSchema.parse(readJson(await page.text())).map(({ id }) => id))
    next = nextOf(page.headers.get('link'), endpoint)
  }
  return names.slice(0, modelsLimit)
}

/** The next page, which must be on the same server: a token goes with the request. */
function nextOf(link: string | null, endpoint: string): string | null {
  const url = /<([^>]+)>;\s*rel="next"/.exec(link ?? '')?.[1]
  if (url === undefined || !URL.canParse(url, endpoint)) return null
  const next = new URL(url, endpoint)
  return next.origin === new URL(endpoint).origin ? next.href : null
}
