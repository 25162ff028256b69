import { gitFile, lfsFile, type StoredCommit, type StoredFile, type StoredRepo } from './repo.ts'
import { type HubCall, sendJson } from './server.ts'

const repository = /^\/(?:(?:api\/)?(datasets|models)\/)?([^/]+\/[^/]+?)(?:\.git)?(?:\/(.*))?$/

/** Handles requests about datasets and models: create, describe, list, upload, commit. */
export function answerDatasets(call: HubCall): unknown {
  const { hub, method, url, user, response } = call
  if (url.pathname === '/api/repos/create') return create(call)
  if (url.pathname === '/api/models' || url.pathname === '/api/datasets') return list(call)
  const [, type, id = '', rest = ''] = repository.exec(url.pathname) ?? []
  const repo = hub.repos.get(`${type === 'datasets' ? '' : 'models/'}${decodeURIComponent(id)}`)
  if (!repo || (repo.isPrivate && user === null))
    return sendJson(
      response,
      user === null ? 401 : 404,
      { error: 'Repository not found' },
      { 'x-error-code': 'RepoNotFound' },
    )
  const [verb = '', ...more] = rest.split('/')
  if (method === 'GET' && (verb === '' || verb === 'revision'))
    return info(call, repo, decodeURIComponent(more[0] ?? 'main'))
  if (method === 'GET' && verb === 'tree')
    return tree(call, repo, decodeURIComponent(more[0] ?? 'main'), more.slice(1).join('/'))
  if (method === 'GET' && verb === 'commits') return commits(call, repo, decodeURIComponent(more[0] ?? 'main'))
  if (user === null) return sendJson(response, 401, { error: 'Unauthorized' })
  if (repo.name.startsWith('locked/')) return sendJson(response, 403, { error: 'You have no right to write' })
  if (method === 'POST' && verb === 'preupload') return preupload(call)
  if (method === 'POST' && rest === 'info/lfs/objects/batch') return batch(call, repo)
  if (method === 'POST' && verb === 'commit') return commit(call, repo, decodeURIComponent(more[0] ?? 'main'))
  if (method === 'POST' && verb === 'super-squash') return squash(call, repo, decodeURIComponent(more[0] ?? 'main'))
  sendJson(response, 404, { error: `nothing is known here of ${method} ${url.pathname}` })
}

function create({ hub, user, body, response }: HubCall): unknown {
  if (user === null) return sendJson(response, 401, { error: 'Unauthorized' })
  const { organization, name, visibility, private: isPrivate, type } = JSON.parse(body.toString())
  const id = `${type === 'dataset' ? '' : 'models/'}${organization ?? user}/${name}`
  if (organization === 'forbidden') return sendJson(response, 403, { error: 'You have no right to create there' })
  const url = `${hub.url}/datasets/${id}`
  if (hub.repos.has(id)) return sendJson(response, 409, { error: 'You already created this dataset repo', url })
  hub.repo(id, isPrivate ?? visibility === 'private')
  sendJson(response, 200, { url, name: id, id })
}

/** The models or datasets of an author, in pages; fields not requested with `expand` are left out. */
function list(call: HubCall): void {
  const { hub, url, user } = call
  const isModels = url.pathname === '/api/models'
  const wanted = new Set(url.searchParams.getAll('expand'))
  const about = (repo: StoredRepo) => ({
    private: repo.isPrivate,
    lastModified: '2026-01-01T00:00:00.000Z',
    downloads: 7,
  })
  const all = [...hub.repos.values()]
    .filter(({ name }) => name.startsWith('models/') === isModels)
    .filter(({ isPrivate }) => !isPrivate || user !== null)
    .map((repo) => ({ id: repo.name.replace(/^models\//, ''), fields: Object.entries(about(repo)) }))
    .filter(({ id }) => id.split('/')[0] === url.searchParams.get('author'))
    .map(({ id, fields }) => ({ _id: id, id, ...Object.fromEntries(fields.filter(([name]) => wanted.has(name))) }))
  sendPage(call, all)
}

function commits({ url, response }: HubCall, repo: StoredRepo, branch: string): unknown {
  const history = repo.history(branch)
  if (history.length === 0) return noRevision(response, branch)
  const shown = history.slice(0, Number(url.searchParams.get('limit') ?? 50))
  const entries = shown.map(({ sha, title }) => ({
    id: sha,
    title,
    message: '',
    authors: [],
    date: '2026-01-01T00:00:00.000Z',
  }))
  sendJson(response, 200, entries, { 'x-total-count': String(history.length) })
}

/** Only the head of a branch can be squashed. */
function squash({ body, response }: HubCall, repo: StoredRepo, branch: string): unknown {
  if (!repo.branches.has(branch)) return noRevision(response, branch)
  const { message = 'Super-squash' } = JSON.parse(body.toString() || '{}')
  sendJson(response, 200, { commitId: repo.squash(branch, message).sha })
}

function info({ response }: HubCall, repo: StoredRepo, revision: string): unknown {
  const commit = repo.commit(revision)
  if (!commit) return noRevision(response, revision)
  const siblings = [...commit.files.keys()].map((rfilename) => ({ rfilename }))
  const about = { _id: 'd1', id: repo.name, author: 'me', private: repo.isPrivate, gated: false, disabled: false }
  const counts = {
    downloads: 0,
    likes: 0,
    tags: [],
    createdAt: '2026-01-01T00:00:00.000Z',
    lastModified: '2026-01-01T00:00:00.000Z',
  }
  sendJson(response, 200, { ...about, ...counts, sha: commit.sha, siblings })
}

function noRevision(response: HubCall['response'], revision: string): void {
  sendJson(response, 404, { error: `Invalid rev id: ${revision}` }, { 'x-error-code': 'RevisionNotFound' })
}

function tree(call: HubCall, repo: StoredRepo, revision: string, below: string): unknown {
  const commit = repo.commit(revision)
  if (!commit) return noRevision(call.response, revision)
  sendPage(call, entriesOf(commit, below, call.url.searchParams.get('recursive')?.toLowerCase() === 'true'))
}

/** One page of a list, with a link to the next. */
function sendPage({ hub, url, response }: HubCall, all: readonly object[]): void {
  const from = Number(url.searchParams.get('cursor') ?? 0)
  const next = from + hub.pageSize
  const headers: Record<string, string> = {}
  if (next < all.length) {
    const link = new URL(url)
    link.searchParams.set('cursor', String(next))
    headers.link = `<${link.href}>; rel="next"`
  }
  sendJson(response, 200, all.slice(from, next), headers)
}

function entriesOf({ files }: StoredCommit, below: string, isRecursive: boolean): object[] {
  const entries = new Map<string, object>()
  for (const [path, file] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (below !== '' && !path.startsWith(`${below}/`)) continue
    const parts = path.split('/')
    const depth = below === '' ? 0 : below.split('/').length
    for (let end = depth + 1; end < parts.length; end++) {
      const dir = parts.slice(0, end).join('/')
      if (isRecursive || end === depth + 1)
        entries.set(dir, { type: 'directory', oid: '0'.repeat(40), size: 0, path: dir })
    }
    if (isRecursive || parts.length === depth + 1) entries.set(path, entryOf(path, file))
  }
  return [...entries.values()]
}

function entryOf(path: string, { data, oid, lfs }: StoredFile): object {
  const large = lfs === null ? {} : { lfs: { oid: lfs, size: data.length, pointerSize: 130 } }
  return { type: 'file', oid, size: data.length, path, ...large }
}

/** Tables and binary files go to the storage, according to the Hub's own attributes. */
function preupload({ body, response }: HubCall): void {
  const { files } = JSON.parse(body.toString())
  const modes = files.map(({ path, sample, size }: { path: string; sample: string; size: number }) => {
    const isLarge = path.endsWith('.parquet') || size > 10_000_000 || Buffer.from(sample, 'base64').includes(0)
    return { path, uploadMode: isLarge ? 'lfs' : 'regular', shouldIgnore: false, oid: null }
  })
  sendJson(response, 200, { files: modes })
}

/** Says where to upload each large file; a file that is already there need not be sent. */
function batch({ hub, body, response }: HubCall, repo: StoredRepo): void {
  const { objects } = JSON.parse(body.toString())
  const answers = objects.map(({ oid, size }: { oid: string; size: number }) =>
    repo.objects.has(oid)
      ? { oid, size }
      : {
          oid,
          size,
          actions: { upload: { href: `${hub.url}/storage/${repo.name}/${oid}?signature=s3cret`, header: {} } },
        },
  )
  sendJson(response, 200, { transfer: 'basic', objects: answers })
}

function commit({ hub, body, response }: HubCall, repo: StoredRepo, branch: string): unknown {
  const head = repo.commit(branch)
  if (!head) return noRevision(response, branch)
  const lines = body
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const header = lines.find(({ key }) => key === 'header')?.value
  if (header.parentCommit !== undefined && header.parentCommit !== head.sha)
    return sendJson(response, 412, { error: 'A commit has happened since. Please refresh and try again.' })
  const files = new Map(head.files)
  for (const { key, value } of lines) {
    if (key === 'file') files.set(value.path, gitFile(Buffer.from(value.content, value.encoding)))
    if (key === 'deletedFile' && !files.delete(value.path))
      return sendJson(response, 400, { error: `no ${value.path} to delete` })
    if (key !== 'lfsFile') continue
    const data = repo.objects.get(value.oid)
    if (data?.length !== value.size) return sendJson(response, 400, { error: `${value.path} points to nothing` })
    files.set(value.path, lfsFile(data as Buffer, value.oid))
  }
  const { sha } = repo.add(branch, header.summary, files)
  sendJson(response, 200, {
    success: true,
    commitOid: sha,
    commitUrl: `${hub.url}/datasets/${repo.name}/commit/${sha}`,
    hookOutput: '',
  })
}
