import { Command } from '@commander-js/extra-typings'
import { writeNewCluster } from '../../../app/launch/new-cluster.ts'
import { programName } from '../../../lib/program-name.ts'
import { printJson } from '../../output.ts'

/** `ot-agent launch cluster init`: adds a cluster by writing its file. */
export default () =>
  new Command()
    .description('Writes a cluster file to start from. A new cluster needs nothing else.')
    .argument('<name>', 'lower-case letters, digits and dashes')
    .option('--out <file>', 'where to write it (default: the folder where launches look for your clusters)')
    .option('--json', 'print the result as JSON')
    .action(async (name, { out, json }) => {
      const file = await writeNewCluster(name, out)
      if (json) return printJson({ schema: 'cluster-init/1', file })
      process.stdout.write(
        `${file}\nedit it, then run: ${programName()} launch cluster check ${out === undefined ? name : file}\n`,
      )
    })
