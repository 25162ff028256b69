import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, UserError } from '../../core/errors.ts'
import { isMissing } from '../../lib/files.ts'

/** The Hub's address, and who is asking. */
export interface HubAccount {
  /** Null: only public data can be read. */
  readonly token: string | null
  readonly endpoint: string
}

type Env = Readonly<Record<string, string | undefined>>

/** Variables that may hold a token; the first one set wins. */
const hubTokenVariables = ['HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN', 'HUGGINGFACE_TOKEN', 'HF_API_TOKEN'] as const

/** Reads token and address from the environment; the token may also be in the file where `hf auth login` stores it. */
export function hubAccount(env: Env): HubAccount {
  const { token, place } = findHubToken(env)
  if (token !== null && !/^hf_\S+$/.test(token))
    throw new UserError(
      `${place}: expected a token that starts with hf_, got another text`,
      'create one in the settings of your account',
    )
  return { token, endpoint: endpointOf(env.HF_ENDPOINT?.trim() || 'https://huggingface.co') }
}

/** The token and the variable or file it comes from. A variable takes precedence over the file. */
export function findHubToken(env: Env): { readonly token: string | null; readonly place: string } {
  const variable = hubTokenVariables.find((name) => env[name]?.trim())
  if (variable !== undefined) return { token: env[variable]?.trim() ?? null, place: variable }
  const place = storedTokenFile(env)
  return { token: place === null ? null : readStored(place), place: place ?? '' }
}

/** Where `hf auth login` stores a token; null without a home directory. */
function storedTokenFile(env: Env): string | null {
  if (env.HF_TOKEN_PATH) return env.HF_TOKEN_PATH
  if (env.HF_HOME) return join(env.HF_HOME, 'token')
  const cache = env.XDG_CACHE_HOME || (env.HOME ? join(env.HOME, '.cache') : null)
  return cache === null ? null : join(cache, 'huggingface', 'token')
}

function readStored(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null
  } catch (error) {
    if (isMissing(error)) return null
    throw new UserError(`${path}: expected a token of the Hub, got ${messageOf(error)}`, 'or export HF_TOKEN=...')
  }
}

function endpointOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, '')
  throw new UserError(
    `HF_ENDPOINT: expected an address such as https://huggingface.co, got ${JSON.stringify(text.slice(0, 100))}`,
    'unset it to reach the Hub itself',
  )
}
