import { hubAccount } from '../../formats/hub/account.ts'
import { makeHubFetch } from '../../formats/hub/hub-fetch.ts'
import { listHubModels } from '../../formats/hub/list-models.ts'

/** Looks for the models of organizations on the Hub, each time it is called. */
export function hubModels(organizations: readonly string[], signal: AbortSignal): () => Promise<readonly string[]> {
  const account = hubAccount(process.env)
  const fetch = makeHubFetch(process.env, signal)
  return async () => {
    const found: string[] = []
    for (const organization of organizations) found.push(...(await listHubModels(organization, account, fetch)))
    return found
  }
}
