import { hubAccount } from './account.ts'
import { openFolderRepository } from './folder-repository.ts'
import { makeHubFetch, type Patience } from './hub-fetch.ts'
import { openHubRepository } from './hub-repository.ts'
import type { DatasetRepository, RepoType } from './repository.ts'
import { type HubTarget, parseTarget } from './target.ts'

export interface HubSurroundings {
  /** Holds the token, the endpoint and the proxies. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  readonly patience?: Patience
}

/** Opens a dataset or model by name, `org/name` or `file:PATH`; makes no request yet. */
export function openRepository(
  target: HubTarget | string,
  { env, signal, patience }: HubSurroundings,
  type: RepoType = 'dataset',
): DatasetRepository {
  const parsed = typeof target === 'string' ? parseTarget(target, type) : target
  if (parsed.kind === 'folder') return openFolderRepository(parsed.path, type)
  const at = { account: hubAccount(env), fetch: makeHubFetch(env, signal, patience) }
  return openHubRepository(parsed.repo, type, at)
}
