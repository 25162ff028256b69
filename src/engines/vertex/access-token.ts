import { createSign } from 'node:crypto'
import { z } from 'zod'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { execProgram } from '../../lib/exec-program.ts'
import type { HttpClient } from '../../lib/http-client.ts'
import { parseJson } from '../../lib/parse-json.ts'

/** A token and when to stop using it, in milliseconds since 1970. */
export interface AccessToken {
  readonly token: string
  readonly until: number
}

/** Where tokens come from. */
export type TokenSource = (signal?: AbortSignal) => Promise<AccessToken>

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const tokenUri = z.url({ protocol: /^https?$/ }).default('https://oauth2.googleapis.com/token')

const credentialsSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('service_account'),
    client_email: z.string().min(1),
    private_key: z.string().min(1),
    project_id: z.string().optional(),
    token_uri: tokenUri,
  }),
  z.object({
    type: z.literal('authorized_user'),
    client_id: z.string().min(1),
    client_secret: z.string().min(1),
    refresh_token: z.string().min(1),
    quota_project_id: z.string().optional(),
    token_uri: tokenUri,
  }),
])
export type Credentials = z.output<typeof credentialsSchema>

/** Parses a credentials file as Google's programs write it; never reveals its content. */
export function parseCredentials(text: string, path: string): Credentials {
  const parsed = credentialsSchema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UserError(
    `${path}: expected credentials of a service account or of gcloud auth application-default login: ${issue?.path.join('.') || 'the file'} is missing or wrong`,
    'download the key of a service account, or run gcloud auth application-default login',
  )
}

/** Gets tokens for credentials from the address they name. */
export function tokensFor(credentials: Credentials, http: HttpClient, now: () => number = Date.now): TokenSource {
  return async (signal) => {
    const form = new URLSearchParams(
      credentials.type === 'service_account' ? assertionOf(credentials, now()) : refreshOf(credentials),
    )
    const { status, body } = await http.send({
      ...{ method: 'POST', url: credentials.token_uri, body: form.toString() },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      ...{ timeoutMs: 30_000, limitBytes: 1024 * 1024, ...(signal && { signal }) },
    })
    const answer = answerSchema.safeParse(parseJson(body.toString('utf8')))
    if (status >= 300 || !answer.success) {
      const isOver = status >= 500 || status === 429
      const why = faultSchema.safeParse(parseJson(body.toString('utf8'))).data?.error ?? 'no token in its answer'
      throw refused(`${new URL(credentials.token_uri).host} returned no token: ${status} ${why}`, isOver)
    }
    const { access_token: token, expires_in: sec } = answer.data
    return { token, until: now() + Math.max(0, sec - 120) * 1000 }
  }
}

const answerSchema = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  expires_in: z.number().default(3600),
})
const faultSchema = z.object({ error: z.string().regex(/^[\w. -]{1,80}$/) })

/** A JSON Web Token signed with the account's key, valid for an hour. */
function assertionOf(
  { client_email: iss, private_key, token_uri: aud }: Credentials & { type: 'service_account' },
  nowMs: number,
) {
  const iat = Math.floor(nowMs / 1000)
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const signed = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode({ iss, scope, aud, iat, exp: iat + 3600 })}`
  try {
    const signature = createSign('RSA-SHA256').update(signed).sign(private_key, 'base64url')
    return { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: `${signed}.${signature}` }
  } catch {
    throw new UserError('engine vertex: the private_key of the credentials cannot sign', 'download the key again')
  }
}

function refreshOf({ client_id, client_secret, refresh_token }: Credentials & { type: 'authorized_user' }) {
  return { grant_type: 'refresh_token', client_id, client_secret, refresh_token }
}

/** Tokens of the user logged in with gcloud; they are valid for an hour, part of which may have passed. */
export const tokensOfGcloud =
  (gcloud: string): TokenSource =>
  async () => {
    const { code, stdout } = await execProgram([gcloud, 'auth', 'print-access-token'], { timeoutSec: 60 })
    const token = stdout.trim()
    if (code === 0 && /^[\x21-\x7e]+$/.test(token)) return { token, until: Date.now() + 5 * 60_000 }
    throw refused('gcloud auth print-access-token returned no token: run gcloud auth login', false)
  }

function refused(message: string, retryable: boolean): BoundaryError {
  return new BoundaryError('model', message, { code: 'AuthenticationError', retryable })
}

/** Caches a source's token: all calls share one request for it until it expires or is refused. */
export function kept(source: TokenSource, now: () => number = Date.now) {
  let current: AccessToken | null = null
  let asked: Promise<AccessToken> | null = null
  const ask = () => {
    asked ??= source()
      .then((token) => {
        current = token
        return token
      })
      .finally(() => {
        asked = null
      })
    return asked
  }
  return {
    async get(): Promise<string> {
      return (current !== null && current.until > now() ? current : await ask()).token
    },
    drop(token: string): void {
      if (current?.token === token) current = null
    },
  }
}
