import { Command } from '@commander-js/extra-typings'
import { makeProvider } from '../plugins.ts'
import { printJson, printTable } from './output.ts'
import { parsedAssignments } from './run/values.ts'

const several = (text: string, before: string[] = []) => [...before, text]

/** `ot-agent clean`: removes what dead owners left, and nothing of a live one. */
export default () =>
  new Command()
    .description('Removes sandboxes, mounts and control groups whose owner is dead. A running job is never touched.')
    .option('-e, --environment <sandbox>', 'kind of sandbox to clean', 'local')
    .option(
      '--ek, --environment-kwarg <key=value>',
      'option of the sandbox, for example socket=/path; repeatable',
      several,
    )
    .option('--dry-run', 'only say what would be removed')
    .option('--json', 'print the result as JSON')
    .action(async (options) => {
      const provider = await makeProvider(
        options.environment,
        parsedAssignments('--ek', options.environmentKwarg ?? []),
      )
      const reaped = await provider.reap({ dryRun: options.dryRun ?? false })
      if (options.json) return printJson({ dryRun: options.dryRun ?? false, reaped })
      if (reaped.length === 0) process.stdout.write('nothing to clean\n')
      else
        printTable(
          ['sandbox', 'job', 'trial', 'what'],
          reaped.map((r) => [r.id, r.owner.job, r.owner.trial, r.what]),
        )
    })
