type Variables = Readonly<Record<string, string | undefined>>

const secretName = /KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL/i
/** Names of files that hold secrets are not secrets. */
const fileName = /^(DC_AGENT_SECRET_ENV|SECRET_ENV_PATH|KEYS)$/

/** Variables that may be handed on to a scheduler, which writes them down: those with secret-sounding names are left out. */
export function withoutSecrets(env: Variables): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && (!secretName.test(entry[0]) || fileName.test(entry[0])),
    ),
  )
}

/** The values of variables with secret-sounding names that are long enough to be told from ordinary text. */
export function secretValues(env: Variables): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && entry[1].length >= 8 && secretName.test(entry[0]) && !fileName.test(entry[0]),
    ),
  )
}
