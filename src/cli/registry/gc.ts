import { Command } from '@commander-js/extra-typings'
import { wholeNumber } from '../../app/flags/values.ts'
import { cleanRegistry } from '../../app/registry/query.ts'
import { printJson } from '../output.ts'
import { registryEnvOption, registryOption } from './place.ts'

/** `ot-agent registry gc`: removes what no result needs. */
export default () =>
  new Command()
    .description(
      'Removes what no result needs: runs whose ingestion never finished, trials that a later one replaced, and tasks that ' +
        'nothing refers to.',
    )
    .option('--older-than-days <n>', 'keep entries younger than this', wholeNumber(0), 30)
    .option('--dry-run', 'only count, and remove nothing')
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option('--json', 'print the result as JSON')
    .action(async ({ olderThanDays, dryRun = false, json, ...place }) => {
      const garbage = await cleanRegistry(place, olderThanDays, dryRun)
      if (json) return printJson({ schema: 'registry-gc/1', dryRun, ...garbage })
      const { abandonedRuns, supersededTrials, unusedTasks } = garbage
      const verb = dryRun ? 'would be removed' : 'removed'
      process.stdout.write(`${verb}: ${abandonedRuns} runs, ${supersededTrials} trials, ${unusedTasks} tasks\n`)
    })
