import { createInterface } from 'node:readline/promises'
import { requiredHostVars } from '../../core/env-template.ts'
import { UserError } from '../../core/errors.ts'
import type { JobConfig } from '../../core/job.ts'
import type { JobTask } from '../../run/job/plan.ts'
import { note } from '../output.ts'

/** Tasks may ask for variables of this machine: a person is asked before they are passed on, a script is told. */
export async function askConsent(tasks: readonly JobTask[], config: JobConfig, yes: boolean): Promise<void> {
  const wanted = requiredHostVars(tasks.flatMap(({ task }) => envsOf(task, config)))
  const passed = wanted.map(({ name }) => name).filter((name) => process.env[name] !== undefined)
  if (passed.length === 0 || yes) return
  note(`tasks ask for these variables of this machine: ${passed.join(', ')}`)
  if (!process.stdin.isTTY || !process.stderr.isTTY) return
  const ask = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await ask.question('pass them on? [y/N] ')
  ask.close()
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new UserError(
      'expected a yes to pass variables on, got none',
      '-y answers yes; tasks can be left out with -x',
    )
}

function envsOf(task: JobTask['task'], config: JobConfig): Readonly<Record<string, string>>[] {
  const verifiers = config.verifier.disable ? [] : [task, ...task.steps].map(({ verifier }) => verifier)
  return [
    task.environment.env,
    task.solution.env,
    ...verifiers.flatMap(({ env, environment }) => [env, environment?.env ?? {}]),
  ]
}
