import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import type { Engine } from '../../core/model.ts'
import { definePlugin, type PluginContext, pathFrom } from '../../core/plugin.ts'
import { vertexClaude, vertexGemini, vertexHost } from '../../formats/vertex.ts'
import { type HttpClient, makeHttpClient } from '../../lib/http-client.ts'
import { findProgram } from '../../lib/programs.ts'
import { findApiKey } from '../shared/client/api-key.ts'
import { type EngineTraits, makeEngine } from '../shared/client/make-engine.ts'
import { serverOptions } from '../shared/client/options.ts'
import {
  type Credentials,
  kept,
  parseCredentials,
  type TokenSource,
  tokensFor,
  tokensOfGcloud,
} from './access-token.ts'

const options = z.strictObject({
  ...serverOptions,
  project: z.string().min(1).optional().describe('project to bill (default: that of the credentials)'),
  location: z.string().min(1).optional().describe('where models run, for example europe-west1 (default: global)'),
  credentials: z.string().min(1).optional().describe('file of credentials (default: GOOGLE_APPLICATION_CREDENTIALS)'),
})
type Options = z.output<typeof options>

/** Gemini and Claude on Google's Vertex AI. */
export default definePlugin({
  name: 'vertex',
  summary: 'Gemini and Claude on Google Vertex AI, with GOOGLE_APPLICATION_CREDENTIALS or gcloud',
  options,
  make(options, context): Engine {
    const { project: asked, location: named, credentials: _, ...rest } = options
    const { env } = context
    const http = makeHttpClient(env)
    const { source, project } = signIn(options, context, http)
    const place = {
      project: asked ?? first(env, 'GOOGLE_CLOUD_PROJECT', 'GCP_PROJECT', 'PROJECT_ID') ?? project ?? missingProject(),
      location: named ?? first(env, 'GOOGLE_CLOUD_LOCATION', 'CLOUD_ML_REGION') ?? 'global',
    }
    const traits: Omit<EngineTraits, 'dialect'> = {
      ...{ name: 'vertex', apiBases: [rest.api_base ?? vertexHost(place.location)], apiKey: null, metricsUrls: [] },
      ...{ ownPrefixes: ['vertex/', 'vertex_ai/', 'google/', 'anthropic/'], maxTokensField: 'max_tokens' },
      ...{ healthcheckIntervalSec: 0, http: withToken(http, source) },
    }
    const google = makeEngine({ ...traits, dialect: vertexGemini(place) }, rest, context)
    const claude = makeEngine({ ...traits, dialect: vertexClaude(place) }, rest, context)
    const engineOf = (model: string | undefined) => (/(^|\/)claude-/.test(model ?? '') ? claude : google)
    return {
      name: 'vertex',
      get endpoint() {
        return engineOf(rest.model).endpoint
      },
      health: (signal) => engineOf(rest.model).health(signal),
      client: (model, account) => engineOf(model).client(model, account),
    }
  },
})

/** The source of tokens: a given token, a credentials file, or the user logged in with gcloud. */
function signIn(
  options: Options,
  context: PluginContext,
  http: HttpClient,
): { readonly source: TokenSource; readonly project: string | undefined } {
  const { env } = context
  const variable = 'CLOUDSDK_AUTH_ACCESS_TOKEN'
  if (options.api_key ?? options.api_key_env ?? env[variable]) {
    const token = findApiKey('vertex', options, env, [variable]) ?? ''
    return { source: async () => ({ token, until: Number.POSITIVE_INFINITY }), project: undefined }
  }
  const found = credentialsOf(options.credentials && pathFrom(context, options.credentials), env)
  if (found)
    return {
      source: tokensFor(found, http),
      project: found.type === 'service_account' ? found.project_id : found.quota_project_id,
    }
  const gcloud = findProgram('gcloud', env.PATH ?? '')
  if (gcloud !== null) return { source: tokensOfGcloud(gcloud), project: undefined }
  throw new UserError(
    'engine vertex: expected credentials of Google Cloud, found none',
    `set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account, ${variable} to a token, or log in with gcloud`,
  )
}

function credentialsOf(named: string | undefined, env: PluginContext['env']): Credentials | null {
  const path = named ?? first(env, 'GOOGLE_APPLICATION_CREDENTIALS', 'GCS_CREDENTIALS_PATH')
  const usual = join(
    env.CLOUDSDK_CONFIG ?? join(env.HOME ?? homedir(), '.config/gcloud'),
    'application_default_credentials.json',
  )
  try {
    return parseCredentials(readFileSync(path ?? usual, 'utf8'), path ?? usual)
  } catch (error) {
    if (error instanceof UserError) throw error
    if (path === undefined) return null
    throw new UserError(`engine vertex: cannot read the credentials ${path}`, 'pass a file that you can read')
  }
}

function missingProject(): never {
  throw new UserError(
    'engine vertex: expected a project to bill, got none',
    'export GOOGLE_CLOUD_PROJECT=..., or set the option project',
  )
}

/**
 * Adds the token to every request, retries once with a new one when it is refused, and masks it if the server repeats
 * it.
 */
function withToken(http: HttpClient, source: TokenSource): HttpClient {
  const tokens = kept(source)
  return {
    async send(call) {
      for (let attempt = 1; ; attempt++) {
        const token = await tokens.get()
        const answer = await http.send({ ...call, headers: { ...call.headers, authorization: `Bearer ${token}` } })
        if (answer.status === 401) tokens.drop(token)
        const next = answer.status === 401 && attempt === 1 ? await tokens.get() : token
        if (next !== token) continue
        return answer.status < 300 ? answer : { ...answer, body: without(answer.body, token) }
      }
    },
  }
}

function without(body: Buffer, token: string): Buffer {
  return body.includes(token) ? Buffer.from(body.toString('utf8').replaceAll(token, '****')) : body
}

function first(env: PluginContext['env'], ...names: readonly string[]): string | undefined {
  return names.map((name) => env[name]).find((value) => value !== undefined && value !== '')
}
