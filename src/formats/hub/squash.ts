import { z } from 'zod'
import { BoundaryError } from '../../core/errors.ts'
import { readJson } from '../../lib/parse-json.ts'
import { hubFailure } from './failures.ts'
import type { HubRepositoryAt } from './hub-repository.ts'
import type { RepoType } from './repository.ts'

/** A branch of a Hub repository. */
export interface HubBranch {
  readonly name: string
  readonly type: RepoType
  readonly branch: string
}

const answerSchema = z.object({ commitId: z.string() })

/** How many commits a branch has. */
export async function countCommits({ name, type, branch }: HubBranch, at: HubRepositoryAt): Promise<number> {
  const { answer } = await asked({ name, type, path: `commits/${encodeURIComponent(branch)}?limit=1` }, at)
  const count = Number(answer.headers.get('x-total-count') ?? Number.NaN)
  if (Number.isInteger(count)) return count
  throw new BoundaryError('store', `${name}: the Hub did not say how many commits ${branch} has`)
}

/** Squashes all commits of a branch into one, keeping its files. Returns the new commit. This cannot be undone. */
export async function squashHistory(
  { name, type, branch }: HubBranch,
  message: string,
  at: HubRepositoryAt,
): Promise<string> {
  const { text } = await asked(
    { name, type, path: `super-squash/${encodeURIComponent(branch)}`, body: { message } },
    at,
  )
  const answer = answerSchema.safeParse(readJson(text))
  if (answer.success) return answer.data.commitId
  throw new BoundaryError('store', `${name}: the Hub returned no commit`)
}

interface Request {
  readonly name: string
  readonly type: RepoType
  readonly path: string
  /** A request with a body is a POST. */
  readonly body?: object
}

async function asked({ name, type, path, body }: Request, { account, fetch }: HubRepositoryAt) {
  const { token, endpoint } = account
  try {
    const answer = await fetch(`${endpoint}/api/${type}s/${name}/${path}`, {
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw Object.assign(new Error(text), { statusCode: answer.status })
    return { answer, text }
  } catch (error) {
    throw hubFailure(error, name, token !== null)
  }
}
