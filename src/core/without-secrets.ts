import { isSecretName } from './redact.ts'

type Variables = Readonly<Record<string, string | undefined>>

/** The place where secrets are kept is not itself secret. */
const places = /^(DC_AGENT_SECRET_ENV|SECRET_ENV_PATH|KEYS|SSH_AUTH_SOCK|XAUTHORITY)$/

function holdsSecret(name: string): boolean {
  return !places.test(name) && isSecretName(name.replace(/AUTHORS?(?![A-Z])/gi, ''))
}

/**
 * Variables that may be passed to a scheduler, which writes them down: those with secret-sounding names are left out.
 */
export function withoutSecrets(env: Variables): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && !holdsSecret(entry[0])),
  )
}

/** The values of variables with secret-sounding names, if long enough to be distinguished from ordinary text. */
export function secretValues(env: Variables): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(env).filter(
      (entry): entry is [string, string] => (entry[1]?.length ?? 0) >= 8 && holdsSecret(entry[0]),
    ),
  )
}
