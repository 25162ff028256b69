import { hubAccount } from '../../formats/hub/account.ts'
import { makeHubFetch } from '../../formats/hub/hub-fetch.ts'
import { listRepositories } from '../../formats/hub/list-repositories.ts'

/** Returns a function that lists organizations' models on the Hub each time it is called. */
export function hubModels(organizations: readonly string[], signal: AbortSignal): () => Promise<readonly string[]> {
  const account = hubAccount(process.env)
  const fetch = makeHubFetch(process.env, signal)
  return async () => {
    const found: string[] = []
    for (const organization of organizations) {
      const models = await listRepositories(organization, 'model', account, fetch)
      found.push(...models.map(({ name }) => name))
    }
    return found
  }
}
