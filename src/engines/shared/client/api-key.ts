import { resolveEnv } from '../../../core/env-template.ts'
import { UserError } from '../../../core/errors.ts'
import type { ServerOptions } from './options.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Finds an engine's key before anything starts: in the variable the options name, otherwise in the first of `variables`
 * that is set; an empty list means that no key is needed.
 */
export function findApiKey(
  engine: string,
  options: ServerOptions,
  env: Env,
  variables: readonly string[],
): string | null {
  if (options.api_key) return checked(engine, resolveEnv({ key: options.api_key }, env).key ?? '')
  const names = options.api_key_env === undefined ? variables : [options.api_key_env]
  const [name] = names
  if (name === undefined) return null
  const key = names.map((candidate) => env[candidate]?.trim() ?? '').find((value) => value !== '')
  if (key !== undefined) return checked(engine, key)
  throw new UserError(
    `engine ${engine}: expected a key in the environment variable ${name}, found nothing`,
    `export ${name}=..., or set another variable with the engine's option api_key_env`,
  )
}

function checked(engine: string, key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new UserError(
    `engine ${engine}: expected a key of printable characters without spaces, got something else`,
    'copy the key again; it is not shown here for security',
  )
}
