import { UserError } from '../../core/errors.ts'
import { hubAccount } from './account.ts'
import { hubFailure } from './failures.ts'
import { makeHubFetch } from './hub-fetch.ts'

/** Checks with the Hub, before long work, that the account may write to a dataset. */
export async function checkWriter(
  repo: string,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<void> {
  const { token, endpoint } = hubAccount(env)
  if (token === null)
    throw new UserError(
      `--target-repo ${repo}: expected a token to write with, found none`,
      'hf auth login or export HF_TOKEN=..., or add --no-upload',
    )
  try {
    const { whoAmI } = await import('@huggingface/hub')
    await whoAmI({ accessToken: token, hubUrl: endpoint, fetch: makeHubFetch(env, signal) })
  } catch (error) {
    throw hubFailure(error, repo, true)
  }
}
