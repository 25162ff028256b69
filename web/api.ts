import { exportMark } from '../src/core/view-files.ts'
import { answerFromFiles, exportedPath } from './static-api.ts'

/** True if the page is an export, with files instead of a server. */
export const isExport = document.documentElement.hasAttribute(exportMark)

/** An error that the server reports. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string | null,
  ) {
    super(message)
  }
}

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** The address of a resource on the server, below `api/`. */
export function address(names: readonly string[], query: Query = {}): string {
  if (isExport) return exportedPath(names)
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== '') search.append(key, String(each))
    }
  }
  const text = search.toString()
  return `api/${names.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

/** The download address of a trial's file; null in an export, which only has the text of files. */
export function rawAddress(place: readonly string[], path: string): string | null {
  return isExport ? null : address([...place, 'raw'], { path })
}

/** The complete text of a trial's file. */
export async function getText(place: readonly string[], path: string, signal: AbortSignal): Promise<string> {
  const raw = rawAddress(place, path)
  if (raw !== null) return (await fetch(raw, { signal })).text()
  return (await get<{ text: string }>([...place, 'text'], { path }, signal)).text
}

const keyName = 'ot-agent-key'

/** Keeps the key from the printed address for this tab; without it the server starts no runs. */
export function keepKey(key: string): void {
  sessionStorage.setItem(keyName, key)
}

/** Asks about runs; with a body, requests an action. */
export async function askRuns<T>(names: readonly string[], signal: AbortSignal, body?: object): Promise<T> {
  if (isExport) throw new ApiError(404, 'this is not part of the export', null)
  const key = { 'x-ot-agent-key': sessionStorage.getItem(keyName) ?? '' }
  const sent = body && {
    method: 'POST',
    headers: { ...key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  return load(address(['runs', ...names]), signal, sent ?? { headers: key })
}

/** Asks the server, or reads the files of an export. The types are those of the routes. */
export async function get<T>(names: readonly string[], query: Query, signal: AbortSignal): Promise<T> {
  if (isExport) return (await answerFromFiles(names, query, (path) => load(path, signal))) as T
  return load(address(names, query), signal)
}

async function load<T>(path: string, signal: AbortSignal, init: RequestInit = {}): Promise<T> {
  const response = await fetch(path, { ...init, signal })
  const body: unknown = await response.json().catch(() => null)
  if (response.ok) return body as T
  if (isExport) throw new ApiError(response.status, 'this is not part of the export', null)
  const { error, hint } = Object(body) as Readonly<Record<string, unknown>>
  throw new ApiError(response.status, String(error ?? `the server said ${response.status}`), hint ? String(hint) : null)
}
