import { type Command, CommanderError } from '@commander-js/extra-typings'
import { UserError } from '../../core/errors.ts'

// biome-ignore lint/suspicious/noExplicitAny: commander types its arguments and options per command.
type AnyCommand = Command<any, any, any>

/** The default export of a command file: builds the command with its options, help and action. */
export type MakeCommand = () => AnyCommand
export interface CommandFile {
  readonly default: MakeCommand
}

/** Descriptions wrap at this many columns or more; next to the longest flag of `run`, a terminal of 80 has 33. */
const narrowest = 24

/** Parses the rest of a command line and runs its command; invalid options become UserErrors. */
export async function runCommand(make: MakeCommand, path: readonly string[], argv: readonly string[]): Promise<void> {
  const command = make()
  command
    .name(path.join(' '))
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .configureHelp({ minWidthToWrap: narrowest, ...command.configureHelp() })
    .showSuggestionAfterError(true)
    .hook('preAction', (_, called) => refuseEmptyPaths(called))
  try {
    await command.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode !== 0) throw asUserError(error, path)
  }
}

/** Refuses an empty path: it comes from an unset variable, and would mean the current directory. */
function refuseEmptyPaths(command: AnyCommand): void {
  const isPath = (name: string) => /^(dir|file|paths?)$/.test(name)
  const values = command.opts()
  const given = [
    ...command.options
      .filter(({ flags }) => isPath(/[<[](\w+)/.exec(flags)?.[1] ?? ''))
      .map((option) => [option.long ?? option.flags, values[option.attributeName()]] as const),
    ...command.registeredArguments
      .map((argument, i) => [argument.name(), command.processedArgs[i]] as const)
      .filter(([name]) => isPath(name)),
  ]
  const empty = given.find(([, value]) => value === '' || (Array.isArray(value) && value.includes('')))
  if (empty) throw new UserError(`${empty[0]}: expected a path, got an empty string`, 'is a shell variable unset?')
}

function asUserError(error: CommanderError, path: readonly string[]): UserError {
  const [message = '', suggestion] = error.message.replace(/^error: /, '').split('\n')
  return new UserError(
    message,
    suggestion?.replace(/^\(D(.*)\)$/, 'd$1') ?? `${path.join(' ')} --help lists its options`,
  )
}
