import { UserError } from './errors.ts'

/** One host variable that templates refer to. */
export interface HostVar {
  readonly name: string
  /** Used when the host has no such variable; null when the variable is required. */
  readonly fallback: string | null
}

type Env = Readonly<Record<string, string>>
type HostEnv = Readonly<Record<string, string | undefined>>

/** Fills in values that are wholly `${VAR}` or `${VAR:-default}`; every other value is taken literally. */
export function resolveEnv(env: Env, hostEnv: HostEnv): Record<string, string> {
  const missing: string[] = []
  const resolved = Object.entries(env).map(([key, value]) => {
    const wanted = parseTemplate(value)
    if (!wanted) return [key, value] as const
    const found = (Object.hasOwn(hostEnv, wanted.name) ? hostEnv[wanted.name] : undefined) ?? wanted.fallback
    if (found === null) missing.push(wanted.name)
    return [key, found ?? ''] as const
  })
  if (missing.length > 0) throw missingVariables([...new Set(missing)])
  return Object.fromEntries(resolved)
}

/** The host variables that these maps refer to, each listed once; a single use without a default makes one required. */
export function requiredHostVars(envs: Iterable<Env>): HostVar[] {
  const vars = new Map<string, HostVar>()
  for (const env of envs) {
    for (const value of Object.values(env)) {
      const wanted = parseTemplate(value)
      if (wanted && (!vars.has(wanted.name) || wanted.fallback === null)) vars.set(wanted.name, wanted)
    }
  }
  return [...vars.values()]
}

/** The host variable that a value refers to, or null for a literal. */
export function parseTemplate(value: string): HostVar | null {
  const match = /^\$\{([^}:]+)(?::-(.*))?\}$/.exec(value)
  return match?.[1] === undefined ? null : { name: match[1], fallback: match[2] ?? null }
}

function missingVariables(names: readonly string[]): UserError {
  const plural = names.length === 1 ? 'variable' : 'variables'
  return new UserError(
    `expected the environment ${plural} ${names.join(', ')}, but this machine does not set ${names.length > 1 ? 'them' : 'it'}`,
    `export ${names.map((name) => `${name}=...`).join(' ')}, or write a default: \${${names[0]}:-default}`,
  )
}
