import { UserError } from '../../core/errors.ts'
import { hubAccount } from '../../formats/hub/account.ts'
import { makeHubFetch } from '../../formats/hub/hub-fetch.ts'
import { needToken } from '../../formats/hub/hub-repository.ts'
import type { RepoType } from '../../formats/hub/repository.ts'
import { countCommits, squashHistory } from '../../formats/hub/squash.ts'
import { parseTarget } from '../../formats/hub/target.ts'

export interface SquashRequest {
  /** `org/name`. */
  readonly repository: string
  readonly type: RepoType
  readonly branch: string
  readonly message?: string | undefined
  /** Only reports, changes nothing. */
  readonly dryRun: boolean
}

export interface Squashed {
  readonly repository: string
  readonly branch: string
  /** How many commits the branch had. */
  readonly commits: number
  /** The branch's single commit after squashing; null if nothing was changed. */
  readonly commit: string | null
}

/** Squashes a branch's history into one commit, after `confirm` accepts the number of commits to be lost. */
export async function squashOnHub(
  { repository, type, branch, message, dryRun }: SquashRequest,
  control: { readonly signal: AbortSignal; readonly confirm: (commits: number) => Promise<void> },
): Promise<Squashed> {
  const target = parseTarget(repository, type)
  if (target.kind === 'folder')
    throw new UserError(
      `${repository}: expected a repository of the Hub, got a folder`,
      'pass org/name: a folder has no history',
    )
  const name = target.repo
  const at = { account: hubAccount(process.env), fetch: makeHubFetch(process.env, control.signal) }
  if (!dryRun) needToken(at.account.token, name)
  const commits = await countCommits({ name, type, branch }, at)
  const done = { repository: name, branch, commits }
  if (dryRun || commits <= 1) return { ...done, commit: null }
  await control.confirm(commits)
  const commit = await squashHistory({ name, type, branch }, message ?? `Squash ${commits} commits`, at)
  return { ...done, commit }
}
