import { pathToFileURL } from 'node:url'
import { BoundaryError, UserError } from '../../core/errors.ts'
import type { HubAccount } from './account.ts'
import { CommitConflict, hubFailure, statusOf } from './failures.ts'
import type { DatasetRepository, RepoCommit, RepoFile, RepoType } from './repository.ts'

export interface HubRepositoryAt {
  readonly account: HubAccount
  readonly fetch: typeof fetch
  /** Repositories with more files are refused. */
  readonly filesLimit?: number
}

/** A dataset or model on the Hub through its official client, which is loaded on the first request. */
export function openHubRepository(name: string, type: RepoType, at: HubRepositoryAt): DatasetRepository {
  const { account, filesLimit = 1_000_000 } = at
  const { token, endpoint: hubUrl } = account
  const repo = { type, name }
  const shared = { hubUrl, fetch: at.fetch, ...(token !== null && { accessToken: token }) }
  const asked = async <T>(what: string, work: (client: Client) => Promise<T>): Promise<T> => {
    try {
      return await work(await import('@huggingface/hub'))
    } catch (error) {
      throw hubFailure(error, what, token !== null)
    }
  }
  return {
    name,
    type,
    head: (revision) =>
      asked(revision === null ? name : `${name} at ${revision}`, (client) => headOf(client, repo, revision, shared)),
    list: (commit) =>
      asked(name, (client) =>
        filesOf(client.listFiles({ ...shared, repo, revision: commit, recursive: true }), name, filesLimit),
      ),
    read: (commit, path, fromByte) => asked(`${name}/${path}`, () => readFrom(repo, { commit, path, fromByte }, at)),
    create: (isPrivate) =>
      asked(name, async (client) => {
        needToken(token, name)
        await client
          .createRepo({ ...shared, accessToken: token ?? '', repo, private: isPrivate })
          .catch((error: unknown) => {
            if (statusOf(error) !== 409) throw error
          })
      }),
    commit: (branch, changes) => {
      needToken(token, name)
      return asked(name, (client) => commitTo(client, branch, changes, { ...shared, repo }))
    },
  }
}

type Client = typeof import('@huggingface/hub')
interface Shared {
  readonly hubUrl: string
  readonly fetch: typeof fetch
  readonly accessToken?: string
}

interface Repo {
  readonly type: RepoType
  readonly name: string
}

async function headOf(
  client: Client,
  { type, name }: Repo,
  revision: string | null,
  shared: Shared,
): Promise<string | null> {
  const ask = { ...shared, name, revision: revision ?? 'main', additionalFields: ['sha' as const] }
  try {
    const { sha } = await (type === 'model' ? client.modelInfo(ask) : client.datasetInfo(ask))
    return sha
  } catch (error) {
    // Without a token, missing and private repositories look the same, so the error suggests a token.
    if (statusOf(error) !== 404 || revision !== null) throw error
    return null
  }
}

async function filesOf(
  entries: AsyncIterable<{
    type: string
    path: string
    size: number
    oid?: string
    lfs?: { oid: string; size: number }
  }>,
  name: string,
  limit: number,
): Promise<RepoFile[]> {
  const files: RepoFile[] = []
  let seen = 0
  for await (const { type, path, size, oid, lfs } of entries) {
    // Count folders too, so that a list of nothing but folders also ends.
    if (++seen > limit)
      throw new UserError(
        `${name}: expected at most ${limit} files and folders, found more`,
        'choose only some of its files',
      )
    if (type !== 'file') continue
    files.push({ path, sizeBytes: lfs?.size ?? size, sha256: lfs?.oid ?? null, gitOid: lfs ? null : (oid ?? null) })
  }
  return files
}

interface FilePart {
  readonly commit: string
  readonly path: string
  readonly fromByte: number
}

async function readFrom(
  { type, name }: Repo,
  { commit, path, fromByte }: FilePart,
  { account, fetch }: HubRepositoryAt,
) {
  const place = path.split('/').map(encodeURIComponent).join('/')
  const below = type === 'model' ? name : `datasets/${name}`
  const answer = await fetch(`${account.endpoint}/${below}/resolve/${encodeURIComponent(commit)}/${place}`, {
    headers: {
      ...(account.token !== null && { authorization: `Bearer ${account.token}` }),
      ...(fromByte > 0 && { range: `bytes=${fromByte}-` }),
    },
  })
  if (!answer.ok || answer.body === null)
    throw Object.assign(new Error(`no file for ${path}`), { statusCode: answer.status })
  const body = answer.body as unknown as AsyncIterable<Uint8Array>
  return { fromByte: answer.status === 206 ? fromByte : 0, body }
}

async function commitTo(client: Client, branch: string, changes: RepoCommit, shared: Shared & { repo: Repo }) {
  const { message, parent, add, remove, onProgress } = changes
  const operations = [
    ...add.map(({ path, file }) => ({ operation: 'addOrUpdate' as const, path, content: pathToFileURL(file) })),
    ...remove.map((path) => ({ operation: 'delete' as const, path })),
  ]
  // Use plain storage rather than chunks: existing files are recognized by digest and not sent again.
  const running = client.commitIter({
    ...shared,
    title: message,
    branch,
    parentCommit: parent,
    operations,
    useXet: false,
  })
  try {
    for (;;) {
      const { done, value } = await running.next()
      if (!done && value?.event === 'fileProgress' && value.state === 'uploading')
        onProgress?.(value.path, value.progress)
      if (!done) continue
      if (value === undefined) throw new BoundaryError('store', `${shared.repo.name}: the Hub returned no commit`)
      return { commit: value.commit.oid, url: value.commit.url }
    }
  } catch (error) {
    if (statusOf(error) === 412 || statusOf(error) === 409)
      throw new CommitConflict(`${shared.repo.name} changed in the meantime`)
    throw error
  }
}

/** Writing needs a token; says so before anything is sent. */
export function needToken(token: string | null, name: string): void {
  if (token !== null) return
  throw new UserError(
    `${name}: expected a token to write with, found none`,
    'run hf auth login, or export HF_TOKEN=... with write access',
  )
}
