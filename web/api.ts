/** What the server says is wrong. */
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

/** The address of something on the server, below `api/`. */
export function address(names: readonly string[], query: Query = {}): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== '') search.append(key, String(each))
    }
  }
  const text = search.toString()
  return `api/${names.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

/** Asks the server. The types are those of the routes. */
export async function get<T>(names: readonly string[], query: Query, signal: AbortSignal): Promise<T> {
  const response = await fetch(address(names, query), { signal })
  const body: unknown = await response.json().catch(() => null)
  if (response.ok) return body as T
  const { error, hint } = Object(body) as Readonly<Record<string, unknown>>
  throw new ApiError(response.status, String(error ?? `the server said ${response.status}`), hint ? String(hint) : null)
}
