import { hubAccount } from '../../formats/hub/account.ts'
import { makeHubFetch } from '../../formats/hub/hub-fetch.ts'
import { type ListedRepository, listRepositories } from '../../formats/hub/list-repositories.ts'
import type { RepoType } from '../../formats/hub/repository.ts'

/** What an account or organization has on the Hub, by type, newest first. */
export async function listHub(
  organization: string,
  types: readonly RepoType[],
  signal: AbortSignal,
): Promise<readonly (ListedRepository & { readonly type: RepoType })[]> {
  const account = hubAccount(process.env)
  const fetch = makeHubFetch(process.env, signal)
  const lists = await Promise.all(
    types.map(async (type) => {
      const found = await listRepositories(organization, type, account, fetch)
      return found.map((repository) => ({ type, ...repository }))
    }),
  )
  return lists.flat()
}
