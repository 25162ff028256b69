import { dashed } from '../../lib/shell.ts'
import type { TasksRequest } from '../job/tasks-request.ts'
import { runCommand } from './command.ts'
import { jobRequestOf } from './job-request.ts'
import { runOptions } from './run-options.ts'

/** The request described by arguments of `ot-agent run`. Unknown arguments are refused. */
export async function parseRunWords(words: readonly string[]): Promise<TasksRequest> {
  let request: TasksRequest = {}
  const command = runOptions().action((options) => {
    request = jobRequestOf(options)
  })
  await runCommand(() => command, ['ot-agent', 'run'], words.map(dashed))
  return request
}
