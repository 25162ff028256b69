import { basename, join } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { UserError } from '../../core/errors.ts'
import { type Conversion, convertTerminalBenchTask, findTerminalBenchTasks } from '../../formats/terminal-bench.ts'
import { exists } from '../../lib/files.ts'
import { note, printJson, printTable } from '../output.ts'

interface Failure {
  readonly source: string
  readonly error: UserError
}

/** `ot-agent tasks convert`: Terminal-Bench tasks become Harbor tasks. */
export default () =>
  new Command()
    .description(
      'Converts Terminal-Bench tasks (task.yaml) to Harbor tasks, each below DIR under its own name.\n' +
        'A task that cannot be converted is reported and leaves nothing behind; the exit code is then 3.',
    )
    .argument('<source>', 'a Terminal-Bench task, or a folder of them')
    .requiredOption('-o, --out <dir>', 'folder to write the Harbor tasks into')
    .option('--json', 'print the result as JSON')
    .action(async (source, options) => {
      const tasks = await findTerminalBenchTasks(source)
      const targets = tasks.map((task) => ({ source: task, dir: join(options.out, basename(task)) }))
      for (const { dir } of targets) await checkFree(dir)
      const { converted, failed } = await convertAll(targets)
      const [first] = failed
      if (first && converted.length === 0) throw first.error
      const failures = failed.map(({ source, error }) => ({ source, reason: error.message }))
      if (options.json) printJson({ converted, failed: failures })
      else printForPeople(converted, failed)
      if (first) process.exitCode = 3
    })

/** Nothing is written when one of many targets is taken. */
async function checkFree(dir: string): Promise<void> {
  if (!(await exists(dir))) return
  throw new UserError(
    `${dir}: expected a path that is free, found something there`,
    'choose another --out, or move it away',
  )
}

async function convertAll(targets: readonly { source: string; dir: string }[]) {
  const converted: Conversion[] = []
  const failed: Failure[] = []
  for (const { source, dir } of targets) {
    try {
      converted.push(await convertTerminalBenchTask(source, dir))
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      failed.push({ source, error })
    }
  }
  return { converted, failed }
}

function printForPeople(converted: readonly Conversion[], failed: readonly Failure[]): void {
  for (const { dir, warnings } of converted) for (const warning of warnings) note(`${dir}: ${warning}`)
  for (const { source, error } of failed) note(`${source}: not converted: ${error.message}`)
  printTable(
    ['source', 'task', 'warnings'],
    converted.map(({ source, dir, warnings }) => [source, dir, String(warnings.length)]),
  )
}
