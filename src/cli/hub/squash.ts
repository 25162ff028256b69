import { Command } from '@commander-js/extra-typings'
import { squashOnHub } from '../../app/hub/squash.ts'
import { UserError } from '../../core/errors.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { askAtTerminal } from '../run/confirm.ts'

/** `ot-agent hub squash`: removes the history of a repository. */
export default () =>
  new Command()
    .description(
      'Removes the history of a dataset or model on the Hugging Face Hub: all commits of a branch become one. Its files stay ' +
        'as they are.\n' +
        'Older revisions can no longer be read, and this cannot be undone. The token comes from HF_TOKEN or hf auth login.',
    )
    .argument('<dataset>', 'org/name')
    .option('--model', 'treat the repository as a model, not a dataset')
    .option('--revision <branch>', 'branch whose history to remove', 'main')
    .option('-m, --message <text>', 'message of the remaining commit')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--dry-run', 'print how many commits would be removed, and change nothing')
    .option('--json', 'print the result as JSON')
    .action(async (repository, { model, revision: branch, message, yes = false, dryRun = false, json }) => {
      const interrupt = interruptSignal()
      try {
        const done = await squashOnHub(
          { repository, type: model ? 'model' : 'dataset', branch, message, dryRun },
          { signal: interrupt.signal, confirm: (commits) => confirm({ repository, branch, commits, yes }) },
        )
        if (json) return printJson({ schema: 'hub-squash/1', dryRun, ...done })
        const where = `of ${done.repository} (${branch})`
        if (done.commits <= 1) note(`${branch} of ${done.repository} has one commit: there is no history to remove`)
        else if (done.commit === null) process.stdout.write(`would squash ${done.commits} commits ${where}\n`)
        else process.stdout.write(`squashed ${done.commits} commits ${where} to ${done.commit.slice(0, 12)}\n`)
      } finally {
        interrupt.stop()
      }
    })

interface Asked {
  readonly repository: string
  readonly branch: string
  readonly commits: number
  readonly yes: boolean
}

async function confirm({ repository, branch, commits, yes }: Asked): Promise<void> {
  if (yes) return
  note(`${repository} (${branch}): ${commits} commits become one; older revisions are lost for good`)
  const answer = await askAtTerminal('remove its history? [y/N] ')
  if (answer === null)
    throw new UserError('expected confirmation to remove history, but there is no terminal to ask on', 'add --yes')
  if (!answer) throw new UserError('expected confirmation to remove history, got none', 'nothing was changed')
}
