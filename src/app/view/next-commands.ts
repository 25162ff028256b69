import type { Boundary } from '../../core/errors.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { programName } from '../../lib/program-name.ts'
import { shellQuote } from '../../lib/shell.ts'

/** A helpful next command, and what it does. */
export interface NextCommand {
  readonly command: string
  readonly title: string
}

/** What to run next after looking at a trial, most helpful first. */
export function nextCommands(record: TrialRecord, jobDir: string, hasTurns: boolean): readonly NextCommand[] {
  const { end } = record
  const job = shellQuote(jobDir)
  const turns = {
    command: `${programName()} traces show ${shellQuote(`${jobDir}/${record.name}`)}`,
    title: 'what the agent said, did and saw, turn by turn',
  }
  const seen = hasTurns ? [turns] : []
  if (end.kind === 'cancelled') return [{ command: `${programName()} jobs resume ${job}`, title: 'runs it' }]
  if (end.kind === 'failed') {
    const { boundary, code } = end.failure
    const again = {
      command: `${programName()} jobs retry ${job} --only ${shellQuote(code)}`,
      title: 'reruns the trials that failed like this one',
    }
    const look = lookInto(record, boundary)
    // A repaired task is a different task, and a job only runs its own.
    if (boundary === 'task') return look ? [look] : []
    return [...(look ? [look] : []), ...(boundary === 'agent' || boundary === 'model' ? seen : []), again]
  }
  return seen.length > 0 || record.task.path === '' ? seen : [inShell(record)]
}

/** The command that inspects the part that failed. */
function lookInto(record: TrialRecord, boundary: Boundary): NextCommand | null {
  const { agent, environment } = record.config
  const task = shellQuote(record.task.path)
  if (boundary === 'task' || boundary === 'verifier')
    return {
      command: `${programName()} tasks check ${task}${sandboxFlag(record)} --explain`,
      title: `says what is wrong with the task${boundary === 'task' ? '; after fixing it, start a new job' : ''}`,
    }
  if (boundary === 'agent' && agent.importPath !== null)
    return {
      command: `${programName()} agents test ${shellQuote(agent.importPath)} --task ${task}`,
      title: 'tries the agent alone',
    }
  if (boundary === 'sandbox' || boundary === 'model')
    return {
      command: `${programName()} doctor`,
      title:
        boundary === 'model'
          ? 'checks this machine; --api-base URL checks the server'
          : `checks ${environment.type ?? 'sandboxes'} and this machine`,
    }
  return null
}

function inShell(record: TrialRecord): NextCommand {
  const command = `${programName()} tasks shell ${shellQuote(record.task.path)}${sandboxFlag(record)} --tests`
  return { command, title: 'opens the sandbox of the task with its tests in /tests' }
}

function sandboxFlag({ config: { environment } }: TrialRecord): string {
  return environment.type === null || environment.type === 'local' ? '' : ` -e ${shellQuote(environment.type)}`
}
