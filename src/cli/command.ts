import { type Command, CommanderError } from '@commander-js/extra-typings'
import { UserError } from '../core/errors.ts'

// biome-ignore lint/suspicious/noExplicitAny: commander types its arguments and options per command.
type AnyCommand = Command<any, any, any>

/** What a file of a command exports by default: it builds the command, options, help and action. */
export type MakeCommand = () => AnyCommand
export interface CommandFile {
  readonly default: MakeCommand
}

/** Parses the rest of a command line and runs its command; wrong options become UserErrors. */
export async function runCommand(make: MakeCommand, path: readonly string[], argv: readonly string[]): Promise<void> {
  const command = make()
  command
    .name(path.join(' '))
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .showSuggestionAfterError(true)
  try {
    await command.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode !== 0) throw asUserError(error, path)
  }
}

function asUserError(error: CommanderError, path: readonly string[]): UserError {
  const [message = '', suggestion] = error.message.replace(/^error: /, '').split('\n')
  return new UserError(message, suggestion ?? `${path.join(' ')} --help lists what it takes`)
}
