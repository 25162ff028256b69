import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { readJson } from '../../lib/parse-json.ts'
import type { HubAccount } from './account.ts'
import { hubFailure } from './failures.ts'
import type { RepoType } from './repository.ts'

/** A model or dataset in a Hub listing. */
export interface ListedRepository {
  /** `org/name`. */
  readonly name: string
  readonly isPrivate: boolean
  /** Its last change in the Hub's format; null if unknown. */
  readonly lastModified: string | null
  /** In the last 30 days. */
  readonly downloads: number | null
}

/** Further repositories are ignored. */
const repositoriesLimit = 10_000
const pageSchema = z.array(
  z.object({
    id: z.string(),
    private: z.boolean().nullish(),
    lastModified: z.string().nullish(),
    downloads: z.number().nullish(),
  }),
)
const expanded = ['private', 'lastModified', 'downloads'].map((field) => `&expand=${field}`).join('')

/** The models or datasets of an account or organization that are visible to the token, newest first. */
export async function listRepositories(
  organization: string,
  type: RepoType,
  { endpoint, token }: HubAccount,
  fetch: typeof globalThis.fetch,
): Promise<readonly ListedRepository[]> {
  if (!/^[\w.-]+$/.test(organization))
    throw new UserError(`expected the name of an organization, got ${JSON.stringify(organization)}`, 'such as my-org')
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  const found: ListedRepository[] = []
  let next: string | null =
    `${endpoint}/api/${type}s?author=${organization}&sort=createdAt&direction=-1&limit=1000${expanded}`
  while (next !== null && found.length < repositoriesLimit) {
    const page: Response = await fetch(next, { headers }).catch((error: unknown) => {
      throw hubFailure(error, organization, token !== null)
    })
    if (!page.ok) {
      const refusal = Object.assign(new Error(`no list of its ${type}s`), { statusCode: page.status })
      throw hubFailure(refusal, organization, token !== null)
    }
    for (const { id, private: isPrivate, lastModified, downloads } of pageSchema.parse(readJson(await page.text())))
      found.push({
        name: id,
        isPrivate: isPrivate ?? false,
        lastModified: lastModified ?? null,
        downloads: downloads ?? null,
      })
    next = nextOf(page.headers.get('link'), endpoint)
  }
  return found.slice(0, repositoriesLimit)
}

/** The next page, which must be on the same server, because the token is sent with the request. */
function nextOf(link: string | null, endpoint: string): string | null {
  const url = /<([^>]+)>;\s*rel="next"/.exec(link ?? '')?.[1]
  if (url === undefined || !URL.canParse(url, endpoint)) return null
  const next = new URL(url, endpoint)
  return next.origin === new URL(endpoint).origin ? next.href : null
}
