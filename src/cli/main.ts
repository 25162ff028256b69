import { isAbort, UserError } from '../core/errors.ts'
import { dashed } from '../lib/shell.ts'
import { commands, type Group } from './commands.ts'
import { guardOutput } from './output.ts'

// Whatever reads our output, such as `head`, may be gone; the work continues without it.
let resultIsLost = false
for (const stream of [process.stdout, process.stderr]) {
  guardOutput(stream)
  stream.on('error', (error) => onLost(stream, error))
}
// Node would print the message unescaped. A job that survives its agents' errors listens as well.
process.on('uncaughtException', (error) => {
  if (process.listenerCount('uncaughtException') > 1) return
  report(error)
  process.exit(1)
})
const exitCode = await main(process.argv.slice(2))
process.exitCode = resultIsLost && exitCode === 0 ? 3 : exitCode
// An agent that ignored its signal may still hold timers or sockets; they must not keep this process alive.
setTimeout(() => process.exit(), 5000).unref()

/** Runs one command line and returns its exit code: 0 done, 2 wrong input, 3 infrastructure failure, 130 cancelled. */
async function main(argv: readonly string[]): Promise<number> {
  try {
    await dispatch(argv.map(dashed), commands, ['ot-agent'])
    return Number(process.exitCode ?? 0)
  } catch (error) {
    return report(await explained(error))
  }
}

/**
 * Turns a system error into a user error. If not even our own module for that can be loaded, file descriptors have run
 * out.
 */
async function explained(error: unknown): Promise<unknown> {
  try {
    const { exhausted, forbidden } = await import('../app/disk-errors.ts')
    return await withCopyableHint(forbidden(error) ?? exhausted(error) ?? error)
  } catch {
    const what = error instanceof Error ? error.message : String(error)
    return new UserError(`this machine has run out of file descriptors: ${what}`, 'raise ulimit -n, then try again', 3)
  }
}

/** Rewrites commands in a hint so that the reader can paste them. */
async function withCopyableHint(error: unknown): Promise<unknown> {
  if (!(error instanceof UserError)) return error
  const { copyable } = await import('./copyable.ts')
  return new UserError(error.message, copyable(error.hint), error.exitCode)
}

/** Reports once that stdout cannot be written, for example to a full disk; the work continues regardless. */
function onLost(stream: NodeJS.WriteStream, error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE' || stream === process.stderr || resultIsLost) return
  resultIsLost = true
  process.exitCode = 3
  process.stderr.write(`error: stdout: expected to write the result, but it failed (${error.code ?? error.message})\n`)
  process.stderr.write(
    'hint: free some space, or redirect the output elsewhere; files that the command wrote are kept\n',
  )
}

async function dispatch(argv: readonly string[], group: Group, path: readonly string[]): Promise<void> {
  const [name, ...rest] = argv
  if (name === undefined || name === '--help' || name === '-h') return printHelp(group, path)
  // `help jobs show` is `jobs show --help`.
  if (name === 'help') return dispatch([...rest, '--help'], group, path)
  if (path.length === 1 && ['--version', '-V', 'version'].includes(name)) return printVersion()
  const entry = Object.hasOwn(group, name) ? group[name] : undefined
  if (!entry) throw await unknownCommand(name, group, path)
  // `launch` is a command and also has subcommands.
  const isBelow = 'group' in entry && (!('load' in entry) || Object.hasOwn(entry.group, rest[0] ?? ''))
  if ('load' in entry && !isBelow) {
    const { runCommand } = await import('../app/flags/command.ts')
    return runCommand((await entry.load()).default, [...path, name], rest)
  }
  return 'group' in entry ? dispatch(rest, entry.group, [...path, name]) : undefined
}

function printHelp(group: Group, path: readonly string[]): void {
  const width = Math.max(...Object.keys(group).map((name) => name.length))
  const lines = Object.entries(group).map(([name, entry]) => `  ${name.padEnd(width)}  ${entry.summary}`)
  const about =
    path.length === 1 ? ['Make training data for agentic language models, and show that the data works.', ''] : []
  const usage = [`Usage: ${path.join(' ')} <command> [options]`, '', 'Commands:', ...lines, '']
  process.stdout.write(
    [...about, ...usage, `${['ot-agent', 'help', ...path.slice(1)].join(' ')} <command> explains a command.`, ''].join(
      '\n',
    ),
  )
}

async function printVersion(): Promise<void> {
  const { version } = await import('../lib/version.ts')
  process.stdout.write(`${version()}\n`)
}

async function unknownCommand(name: string, group: Group, path: readonly string[]): Promise<UserError> {
  const { nearest } = await import('../lib/nearest.ts')
  const known = Object.keys(group)
  const near = nearest(name, known)
  return new UserError(
    `${path.join(' ')}: unknown command ${JSON.stringify(name)}`,
    near === null ? `known commands: ${known.join(', ')}` : `did you mean ${[...path, near].join(' ')}?`,
  )
}

function report(error: unknown): number {
  if (error instanceof UserError) {
    process.stderr.write(`error: ${error.message}\nhint: ${error.hint}\n`)
    return error.exitCode
  }
  if (isAbort(error)) {
    process.stderr.write('cancelled\n')
    return 130
  }
  if (error instanceof Error && error.name === 'BoundaryError') {
    process.stderr.write(`failed: ${error.message}\n`)
    return 3
  }
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  return 1
}
