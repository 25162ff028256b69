import { setMaxListeners } from 'node:events'
import { UserError } from '../../core/errors.ts'
import { pluginContext } from '../../plugins/make.ts'
import { type Check, type Finding, runCheck, type Surroundings } from './check.ts'
import { databaseChecks } from './database-checks.ts'
import { machineChecks } from './machine-checks.ts'
import { pluginChecks } from './plugin-checks.ts'

export interface Examination {
  readonly findings: readonly Finding[]
  /** Names of required checks that were not satisfied. */
  readonly absent: readonly string[]
}

/** Checks what this machine and account can run. Starts nothing; an unknown name in `require` is a UserError. */
export async function examine(
  { apiBase, require }: { readonly apiBase: string | null; readonly require: readonly string[] },
  signal: AbortSignal,
): Promise<Examination> {
  const checks = [...machineChecks, ...databaseChecks, ...pluginChecks()]
  const required = require.map((name) => findCheck(name, checks).name)
  setMaxListeners(0, signal)
  const { env, stateDir } = pluginContext()
  const at: Surroundings = { env, stateDir, apiBase, signal }
  const findings = await Promise.all(checks.map((check) => runCheck(check, at)))
  const missing = findings.flatMap(({ name, state }) => (state === 'missing' ? [name] : []))
  return { findings, absent: required.filter((name) => missing.includes(name)) }
}

/** Finds a check by its full name, or by the last part of its name if unique. */
function findCheck(name: string, checks: readonly Check[]): Check {
  const found = checks.filter((check) => check.name === name || check.name.endsWith(`/${name}`))
  if (found.length === 1 && found[0]) return found[0]
  throw new UserError(
    `--require: expected the name of one check, got ${JSON.stringify(name)}, which matches ${found.length}`,
    `known: ${checks.map((check) => check.name).join(', ')}`,
  )
}
