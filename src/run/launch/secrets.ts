import { stat } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { UserError } from '../../core/errors.ts'
import { secretValues } from '../../core/without-secrets.ts'
import { readTextIfExists } from '../../lib/files.ts'

type Variables = Readonly<Record<string, string | undefined>>

/** The variables that may name the file of keys; use the first one, the others are from older set-ups. */
const fileVariables = ['DC_AGENT_SECRET_ENV', 'SECRET_ENV_PATH', 'KEYS'] as const

/** The file of keys that jobs read, or null when none is named. */
export function secretsFileOf(env: Variables): string | null {
  return fileVariables.map((name) => env[name]).find((path) => path !== undefined && path !== '') ?? null
}

/** Refuses a file of keys that is missing or that others may read. */
export async function checkSecretsFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => null)
  if (!found?.isFile())
    throw new UserError(
      `expected the file of keys ${path}, found none`,
      'create it, or change DC_AGENT_SECRET_ENV, which points to it',
    )
  if ((found.mode & 0o077) !== 0)
    throw new UserError(
      `${path}: expected a file that only its owner can read, got mode ${(found.mode & 0o777).toString(8)}`,
      `chmod 600 ${path}`,
    )
}

/**
 * Everything that must never be written to disk or logs: the keys of this process and of the file, each with its name.
 */
export async function knownSecrets(env: Variables, file: string | null): Promise<ReadonlyMap<string, string>> {
  const text = file === null ? null : await readTextIfExists(file).catch(() => null)
  const inFile = Object.entries(text === null ? {} : parseEnv(text)).filter(([, value]) => (value?.length ?? 0) >= 8)
  return new Map([...secretValues(env), ...inFile.map(([name, value]): [string, string] => [name, value ?? ''])])
}

/** Refuses to write a text that contains a key. */
export function refuseSecrets(texts: Readonly<Record<string, string>>, secrets: ReadonlyMap<string, string>): void {
  for (const [where, text] of Object.entries(texts))
    for (const [name, value] of secrets)
      if (text.includes(value))
        throw new UserError(
          `${where}: expected no secrets, but it would contain the value of ${name}`,
          'remove it: jobs read keys from the file in DC_AGENT_SECRET_ENV',
        )
}
