import { UserError } from '../../core/errors.ts'
import { sleep } from '../../lib/deadline.ts'
import { type HttpAnswer, HttpFailure, makeHttpClient } from '../../lib/http-client.ts'
import { isLoopback } from '../../lib/loopback.ts'
import { parseJson } from '../../lib/parse-json.ts'

export interface GithubAt {
  /** Holds the token (`GITHUB_TOKEN` or `GH_TOKEN`), and GitHub's address (`GITHUB_API_URL`) if not api.github.com. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  readonly notify: (line: string) => void
  /** How to wait; tests skip waiting. */
  readonly pause?: typeof sleep
}

/** An answer from GitHub, after handling rate limits and server errors. */
export interface GithubAnswer {
  readonly status: number
  readonly document: unknown
}

export interface Github {
  /** Requests a path such as `/repos/org/name`, waiting out rate limits. A longer answer gives `too-large`. */
  get(path: string, limitBytes: number): Promise<GithubAnswer | 'too-large'>
}

const mostTries = 8
/** GitHub's limits are hourly, so none lasts longer. */
const longestWaitMs = 3_700_000
const timeoutMs = 60_000

/** GitHub's REST API with a token from the environment, which is sent to no other server. */
export function makeGithub({ env, signal, notify, pause = sleep }: GithubAt): Github {
  const base = baseOf(env.GITHUB_API_URL)
  const http = makeHttpClient(env)
  const headers = {
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${tokenIn(env)}`,
    'user-agent': 'ot-agent',
    'x-github-api-version': '2022-11-28',
  }
  const send = async (url: string, limitBytes: number): Promise<HttpAnswer | HttpFailure> => {
    try {
      return await http.send({ method: 'GET', url, headers, timeoutMs, limitBytes, signal })
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error
      return error
    }
  }
  const get: Github['get'] = async (path, limitBytes) => {
    let url = `${base}${path}`
    let trouble = 'too many redirects'
    for (let nth = 1; nth <= mostTries; nth++) {
      signal.throwIfAborted()
      const answer = await send(url, limitBytes)
      const isLost = answer instanceof HttpFailure
      if (isLost && answer.trouble === 'too-large') return 'too-large'
      const waitMs = isLost ? 1000 * 2 ** nth : waitOf(answer, nth)
      if (!isLost && waitMs === null) {
        const moved = answer.status > 300 && answer.status < 309 ? String(answer.headers.location ?? '') : ''
        // Do not follow a redirect to another server: it would get the token.
        if (!moved.startsWith(`${base}/`)) return readAnswer(answer)
        url = moved
        continue
      }
      const waitSec = Math.ceil((waitMs ?? 0) / 1000)
      const isDown = isLost || answer.status >= 500
      trouble = isLost ? answer.message : isDown ? `status ${answer.status}` : `it asks to wait for ${waitSec} s`
      if (waitSec * 1000 > longestWaitMs || nth === mostTries) break
      notify(isDown ? `GitHub: ${trouble}; retrying in ${waitSec} s` : `GitHub asks to wait for ${waitSec} s`)
      await pause(waitMs ?? 0, signal)
    }
    throw new UserError(
      `GitHub gave no answer to ${path.split('?')[0]}: ${trouble}`,
      'check the network, or try again later: the same command resumes',
      3,
    )
  }
  return { get }
}

function tokenIn(env: GithubAt['env']): string {
  const token = env.GITHUB_TOKEN || env.GH_TOKEN
  if (!token)
    throw new UserError(
      'GITHUB_TOKEN and GH_TOKEN are not set',
      'GitHub requires an account to search code; create a token without any permissions',
      3,
    )
  // Such as the carriage return of a file from Windows.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new UserError(
      'GITHUB_TOKEN or GH_TOKEN contains a space, a line break or another character that tokens never contain',
      'set it again, to the token and nothing else',
    )
  return token
}

function baseOf(given: string | undefined): string {
  const base = (given || 'https://api.github.com').replace(/\/+$/, '')
  const url = URL.canParse(base) ? new URL(base) : null
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))) return base
  throw new UserError(
    'GITHUB_API_URL: expected an https:// address, over which a token can be sent',
    'for example https://api.github.com',
  )
}

function readAnswer({ status, body }: HttpAnswer): GithubAnswer {
  const document = parseJson(body.toString('utf8'))
  if (status === 401)
    throw new UserError('GitHub did not accept the token', 'check GITHUB_TOKEN or GH_TOKEN: it may have expired', 3)
  return { status, document }
}

/** How long to wait after a rate limit or server error; null for any other answer. */
export function waitOf({ status, headers, body }: HttpAnswer, nth: number): number | null {
  if (status >= 500) return 1000 * 2 ** nth
  if (status !== 403 && status !== 429) return null
  const header = (name: string) => (headers[name] === undefined ? null : String(headers[name]))
  const after = header('retry-after')
  if (after !== null && /^\d+$/.test(after)) return Number(after) * 1000
  const reset = header('x-ratelimit-reset')
  if (header('x-ratelimit-remaining') === '0' && reset !== null && /^\d+$/.test(reset)) {
    // Use GitHub's clock, because this machine's may differ.
    const now = Date.parse(header('date') ?? '')
    return Math.max(0, Number(reset) * 1000 - (Number.isNaN(now) ? Date.now() : now)) + 1000
  }
  const message = String(Object(parseJson(body.toString('utf8'))).message ?? '')
  // Without a header: at least a minute, and longer each time.
  return status === 429 || /secondary rate limit|abuse detection/i.test(message) ? 60_000 * 2 ** (nth - 1) : null
}
