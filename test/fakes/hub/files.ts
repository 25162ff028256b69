import { createHash } from 'node:crypto'
import { type HubCall, sendJson } from './server.ts'

/** Handles file content: uploads to the storage, and reads from it after a redirect, from any byte on. */
export function answerFiles(call: HubCall): unknown {
  const { url, method } = call
  if (!url.pathname.startsWith('/storage/')) return resolveFile(call)
  if (method === 'PUT') return putObject(call)
  return getObject(call)
}

function putObject({ hub, url, body, headers, response }: HubCall): unknown {
  const [, name = '', oid = ''] = /^\/storage\/(.+)\/([0-9a-f]{64})$/.exec(url.pathname) ?? []
  const repo = hub.repos.get(name)
  // The storage checks signatures, not accounts: a token sent to it is a leak.
  if (!repo || url.searchParams.get('signature') !== 's3cret' || headers.authorization !== undefined)
    return sendJson(response, 403, { error: 'SignatureDoesNotMatch' })
  if (createHash('sha256').update(body).digest('hex') !== oid)
    return sendJson(response, 400, { error: 'the content is not what its digest says' })
  hub.sent.push(oid)
  repo.objects.set(oid, body)
  response.writeHead(200, { etag: `"${oid}"` }).end()
}

/** Large files are stored elsewhere; small ones come from a cache on the same host. */
function resolveFile({ hub, url, user, method, response }: HubCall): unknown {
  const [, type, name = '', revision = '', rest = ''] =
    /^\/(datasets\/)?([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(url.pathname) ?? []
  const repo = hub.repos.get(`${type === undefined ? 'models/' : ''}${name}`)
  if (!repo || (repo.isPrivate && user === null))
    return sendJson(
      response,
      user === null ? 401 : 404,
      { error: 'Repository not found' },
      { 'x-error-code': 'RepoNotFound' },
    )
  const commit = repo.commit(decodeURIComponent(revision))
  if (!commit) return sendJson(response, 404, { error: 'no such revision' }, { 'x-error-code': 'RevisionNotFound' })
  const path = decodeURIComponent(rest)
  const file = commit.files.get(path)
  if (!file)
    return sendJson(
      response,
      404,
      { error: 'Entry not found' },
      { 'x-error-code': 'EntryNotFound', 'x-repo-commit': commit.sha },
    )
  const etag = `"${file.lfs ?? file.oid}"`
  const about = { 'x-repo-commit': commit.sha, 'x-linked-size': String(file.data.length), 'x-linked-etag': etag, etag }
  const cached = `/storage/cache/${repo.name}/${commit.sha}/${encodeURIComponent(path)}?signature=s3cret`
  response.writeHead(file.lfs === null ? 307 : 302, { ...about, location: `${hub.url}${cached}` })
  response.end(method === 'HEAD' ? undefined : 'Found. Redirecting')
}

function getObject({ hub, url, headers, method, response }: HubCall): unknown {
  const [, name = '', sha = '', path = ''] =
    /^\/storage\/cache\/((?:models\/)?[^/]+\/[^/]+)\/([^/]+)\/(.+)$/.exec(url.pathname) ?? []
  const file = hub.repos.get(name)?.commit(sha)?.files.get(decodeURIComponent(path))
  if (!file || url.searchParams.get('signature') !== 's3cret') return sendJson(response, 403, { error: 'AccessDenied' })
  const [, first = '0', last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? []
  const from = Number(first)
  const to = Math.min(last ? Number(last) + 1 : file.data.length, file.data.length)
  const some = file.data.subarray(from, to)
  const etag = `"${file.lfs ?? file.oid}"`
  const range = headers.range === undefined ? {} : { 'content-range': `bytes ${from}-${to - 1}/${file.data.length}` }
  const about = {
    etag,
    'x-repo-commit': sha,
    'content-length': String(some.length),
    'accept-ranges': 'bytes',
    ...range,
  }
  response.writeHead(headers.range === undefined ? 200 : 206, about)
  if (method === 'HEAD') return response.end()
  const [cut] = hub.cutAfterBytes
  if (cut === undefined || cut >= some.length) return response.end(some)
  hub.cutAfterBytes.shift()
  response.write(some.subarray(0, cut), () => response.destroy())
}
