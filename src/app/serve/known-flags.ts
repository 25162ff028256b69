import type { VllmCommand } from '../../formats/vllm-command.ts'
import { execProgram } from '../../lib/exec-program.ts'
import type { Notify } from '../job/tasks-request.ts'

/** Leaves out options that this version of the server does not have; what a person added themselves is never left out. */
export async function withoutUnknownFlags(command: VllmCommand, notify: Notify): Promise<VllmCommand> {
  const { argv, settable } = command
  const [program = ''] = argv
  if (settable.length === 0) return command
  const help = await execProgram([program, 'serve', '--help=all'], { timeoutSec: 180 })
  const known = new Set(help.stdout.match(/--[a-z][a-z0-9-]*/g) ?? [])
  // A server that explains nothing is asked for everything.
  if (!known.has('--host') && !known.has('--port')) return command
  const unknown = settable.filter((flag) => !known.has(flag))
  for (const flag of unknown) notify(`this server has no ${flag}; it is left out`)
  return { ...command, argv: dropFlags(argv, new Set(unknown)) }
}

/** Words without the given flags and their values. */
export function dropFlags(argv: readonly string[], flags: ReadonlySet<string>): string[] {
  return argv.filter((word, i) => {
    if (flags.has(word)) return false
    const before = argv[i - 1]
    return !(before !== undefined && flags.has(before) && !word.startsWith('--'))
  })
}
