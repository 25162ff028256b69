import { UserError } from '../../core/errors.ts'

/** Who asks the Hub, and where it is. */
export interface HubAccount {
  /** Null: only what is public can be read. */
  readonly token: string | null
  readonly endpoint: string
}

type Env = Readonly<Record<string, string | undefined>>

/** The variables a token may be in, the first that is set wins. */
export const hubTokenVariables = ['HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN', 'HUGGINGFACE_TOKEN', 'HF_API_TOKEN'] as const

/** Reads token and address from the environment, the only place a token may come from. */
export function hubAccount(env: Env): HubAccount {
  const variable = hubTokenVariables.find((name) => env[name]?.trim())
  const token = variable === undefined ? null : (env[variable]?.trim() ?? null)
  if (token !== null && !/^hf_\S+$/.test(token))
    throw new UserError(
      `${variable}: expected a token that starts with hf_, got another text`,
      'make one in the settings of your account',
    )
  return { token, endpoint: endpointOf(env.HF_ENDPOINT?.trim() || 'https://huggingface.co') }
}

function endpointOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, '')
  throw new UserError(
    `HF_ENDPOINT: expected an address such as https://huggingface.co, got ${JSON.stringify(text.slice(0, 100))}`,
    'unset it to reach the Hub itself',
  )
}
