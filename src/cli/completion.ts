import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Argument, Command } from '@commander-js/extra-typings'
import { explainDisk } from '../app/disk-errors.ts'
import { writeAtomic } from '../lib/files.ts'
import type { Group } from './command-table.ts'
import { renderCompletion, type Shell, shells } from './completion/scripts.ts'
import { completionTree } from './completion/tree.ts'
import { note } from './output.ts'

/** `ot-agent completion`: Tab completion of commands, options and their values. */
export const makeCompletion = (commands: Group) =>
  new Command()
    .description(
      'Prints a script that lets the Tab key of a shell complete commands, options and their choices.\n' +
        'With --install, writes it where the shell looks for it, and changes none of your files.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .option('--install', 'install the script for this account instead of printing it')
    .action(async (shell, { install = false }) => {
      const script = renderCompletion(shell, await completionTree(commands))
      if (!install) return void process.stdout.write(script)
      const file = fileFor(shell)
      await explainDisk(file, async () => {
        await mkdir(dirname(file), { recursive: true })
        await writeAtomic(file, script)
      })
      process.stdout.write(`${file}\n`)
      note(nextStep(shell, file))
    })

/** Where a shell looks for a user's completions. */
function fileFor(shell: Shell): string {
  const { XDG_DATA_HOME, XDG_CONFIG_HOME } = process.env
  const data = XDG_DATA_HOME || join(homedir(), '.local/share')
  if (shell === 'bash') return join(data, 'bash-completion/completions/ot-agent')
  if (shell === 'zsh') return join(data, 'zsh/site-functions/_ot-agent')
  return join(XDG_CONFIG_HOME || join(homedir(), '.config'), 'fish/completions/ot-agent.fish')
}

function nextStep(shell: Shell, file: string): string {
  if (shell === 'bash') return `open a new shell; without the package bash-completion, add to ~/.bashrc: . ${file}`
  if (shell === 'zsh') return `add to ~/.zshrc, before compinit: fpath=(${dirname(file)} $fpath)`
  return 'open a new shell'
}
