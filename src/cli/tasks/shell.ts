import { Command } from '@commander-js/extra-typings'
import { passEnvFlag, several } from '../../app/flags/values.ts'
import { parsedAssignments } from '../../app/job/assignments.ts'
import { openShell } from '../../app/tasks/open-shell.ts'
import { UserError } from '../../core/errors.ts'
import type { Terminal } from '../../core/sandbox.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, pastGuard } from '../output.ts'
import { confirmAtTerminal } from '../run/confirm.ts'

/** `ot-agent tasks shell`: opens a task's sandbox for its author. */
export default () =>
  new Command()
    .description(
      'Starts the sandbox of a task as a trial would, and opens a terminal in it as the user that agents run as.\n' +
        'The sandbox is removed when the shell ends. The exit code is that of the shell.',
    )
    .argument('<path>', 'a task')
    .option('--solve', 'run the solution of the task first')
    .option('--tests', 'copy the tests of the task to /tests; bash /tests/test.sh runs them')
    .option('-u, --user <name>', 'user to open the terminal as, for example root')
    .option('-e, --environment <sandbox>', 'kind of sandbox', 'local')
    .option('--ek, --environment-kwarg <key=value>', 'option of the sandbox; repeatable', several)
    .option(...passEnvFlag)
    .action(async (path, { solve = false, tests = false, user, passEnv = [], environment, environmentKwarg = [] }) => {
      if (!process.stdin.isTTY || !process.stdout.isTTY)
        throw new UserError(
          'tasks shell: expected a terminal, got a file or a pipe',
          'run tasks without a terminal with ot-agent run',
        )
      const { columns: cols, rows } = process.stdout
      const interrupt = interruptSignal()
      const { signal } = interrupt
      const sandbox = { name: environment, options: parsedAssignments('--ek', environmentKwarg) }
      const term = process.env.TERM ?? 'xterm'
      const asked = { task: path, sandbox, passEnv, solve, tests, user, term, cols, rows }
      const notify = (line: string) => note(oneLine(line))
      try {
        process.exitCode = await openShell(asked, { signal, confirm: confirmAtTerminal(), notify, use: connect })
      } finally {
        interrupt.stop()
      }
    })

/** Connects this process's terminal to one in a sandbox until the latter ends. */
async function connect(terminal: Terminal): Promise<number> {
  const { stdin, stdout } = process
  const onInput = (data: Buffer) => terminal.write(data)
  const onResize = () => terminal.resize(stdout.columns, stdout.rows)
  // As in any terminal, our terminal interprets what programs inside print.
  const write = pastGuard(stdout)
  const stopOutput = terminal.onData((chunk) => void write(chunk))
  stdin.setRawMode(true)
  stdin.on('data', onInput)
  stdout.on('resize', onResize)
  try {
    return await terminal.exited
  } finally {
    stdin.off('data', onInput)
    stdout.off('resize', onResize)
    stopOutput()
    stdin.setRawMode(false)
    stdin.pause()
  }
}
