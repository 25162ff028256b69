import { join } from 'node:path'
import { messageOf, UserError } from '../../core/errors.ts'
import { codeOf, exists } from '../../lib/files.ts'
import { defaultStateDir } from '../../lib/process-identity.ts'
import type { Database } from '../../registry/database.ts'
import { isUrl, openRegistry } from '../../registry/open.ts'

/** Where the registry is. */
export interface RegistryPlace {
  /** A file, or the URL of a PostgreSQL database without a password. */
  readonly registry?: string | undefined
  /** The name of an environment variable that holds a file or a URL. */
  readonly registryEnv?: string | undefined
}

type Env = Readonly<Record<string, string | undefined>>

/** The variable that holds a file or URL if neither is given. */
const registryVariable = 'OT_AGENT_REGISTRY'

/** The registry's file or URL: as given, from `OT_AGENT_REGISTRY`, or `registry.db` in the state directory. */
export function registryAddress({ registry, registryEnv }: RegistryPlace, env: Env = process.env): string {
  if (registry !== undefined && registryEnv !== undefined)
    throw new UserError('expected --registry or --registry-env, got both', 'use only one of them')
  if (registry !== undefined) return withoutPassword(registry)
  const name = registryEnv ?? registryVariable
  const value = env[name]?.trim()
  if (value) {
    refuseOtherUrl(name, value)
    return value
  }
  if (registryEnv !== undefined)
    throw new UserError(
      `${registryEnv}: expected an environment variable with a URL or a file, got none`,
      `export ${registryEnv}=postgres://USER:PASSWORD@HOST:5432/DATABASE`,
      3,
    )
  return join(defaultStateDir(env), 'registry.db')
}

/** Refuses a password in an argument, because every user of the machine can read process arguments. */
function withoutPassword(address: string): string {
  if (address.trim() === '')
    throw new UserError('--registry: expected a file or a URL, got an empty string', 'pass one, or remove --registry')
  const url = URL.canParse(address) ? new URL(address) : null
  if (isUrl(address) && url === null) throw new UserError('--registry: expected a URL, got a malformed one', 'check it')
  refuseOtherUrl('--registry', address)
  if (isUrl(address) && (url?.password || url?.searchParams.has('password')))
    throw new UserError(
      '--registry: expected a URL without a password, which other users of this machine could see',
      'put the URL into an environment variable and pass its name with --registry-env',
    )
  return address
}

/**
 * Refuses URLs of other databases: taken as a file path, one would be created as directories with the password in their
 * names.
 */
function refuseOtherUrl(from: string, address: string): void {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(address) ?? []
  if (scheme === undefined || isUrl(address)) return
  throw new UserError(
    `${from}: expected a file or postgres://..., got a URL that begins with ${scheme}://`,
    'registries are files or PostgreSQL databases',
  )
}

/**
 * Runs work with the registry, closes it, and explains database errors. With `existing`, a missing file is an error.
 */
export async function withRegistry<T>(
  place: RegistryPlace,
  work: (database: Database) => Promise<T>,
  { existing = false } = {},
): Promise<T> {
  const address = registryAddress(place)
  if (existing && !isUrl(address) && !(await exists(address)))
    throw new UserError(`${address}: expected a registry, found nothing there`, 'ot-agent registry ingest creates one')
  try {
    await using database = await openRegistry(address)
    return await work(database)
  } catch (error) {
    throw explain(error)
  }
}

function explain(error: unknown): unknown {
  const code = codeOf(error)
  if (code === '42501')
    return new UserError(
      `the registry: the account lacks permission: ${messageOf(error)}`,
      'use an account that owns the tables, or that has the role service_role',
    )
  if (/^(SQLITE_FULL|53100|ENOSPC)$/.test(code ?? ''))
    return new UserError('the registry: the disk is full', 'free some space and run the same command again')
  if (/^(SQLITE_READONLY|EACCES|EROFS)/.test(code ?? ''))
    return new UserError(`the registry cannot be written: ${messageOf(error)}`, 'choose another file with --registry')
  return error
}
