import { requiredHostVars } from '../../core/env-template.ts'
import { UserError } from '../../core/errors.ts'
import type { Task } from '../../core/task.ts'

/** Which variables of this machine the user allows tasks to use. */
export interface Consent {
  /** Variables named for this run. */
  readonly passEnv?: readonly string[] | undefined
  /** Allows everything that tasks ask for. */
  readonly yes?: boolean | undefined
  /** Whether verifiers run, whose variables then need consent too (default: true). */
  readonly verifies?: boolean
}

/** Asks the user whether tasks may use these variables; absent if there is no user to ask. */
export type Confirm = (variables: string) => Promise<boolean>

/**
 * Asks for consent to variables of this machine, which tasks may name with a default that hides that they are missing.
 * Only those the user named for this run are passed; for others an interactive user is asked and a script is refused.
 */
export async function askConsent(tasks: readonly Task[], consent: Consent, confirm?: Confirm): Promise<void> {
  const others = unnamedVars(tasks, consent)
  if (others.length === 0) return
  if (!confirm) throw notNamed(others)
  if (!(await confirm(listed(others))))
    throw new UserError(
      'expected confirmation to pass environment variables to tasks, got none',
      '--pass-env NAME passes one without asking; -x skips tasks',
    )
}

/** Why one task among many may not get the variables it asks for, if there is no user to ask; null if it may. */
export function unnamedRefusal(task: Task, consent: Consent): string | null {
  const others = unnamedVars([task], consent)
  if (others.length === 0) return null
  const { message, hint } = notNamed(others)
  return `${message}; ${hint}`
}

/** Variables set on this machine that tasks ask for and the user has not named. */
function unnamedVars(tasks: readonly Task[], { passEnv = [], yes = false, verifies = true }: Consent): string[] {
  if (yes) return []
  const wanted = requiredHostVars(tasks.flatMap((task) => envsOf(task, verifies)))
  return wanted.map(({ name }) => name).filter((name) => process.env[name] !== undefined && !passEnv.includes(name))
}

function notNamed(others: readonly string[]): UserError {
  const flags = others.slice(0, 10).map((name) => `--pass-env ${name}`)
  return new UserError(
    `tasks ask for environment variables of this machine that this run does not allow: ${listed(others)}`,
    `${flags.join(' ')} passes them to the tasks; unset them to run without them`,
  )
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, 10).join(', ')}${names.length > 10 ? ` and ${names.length - 10} more` : ''}`
}

function envsOf(task: Task, verifies: boolean): Readonly<Record<string, string>>[] {
  const verifiers = verifies ? [task, ...task.steps].map(({ verifier }) => verifier) : []
  return [
    task.environment.env,
    task.solution.env,
    ...verifiers.flatMap(({ env, environment }) => [env, environment?.env ?? {}]),
  ]
}
