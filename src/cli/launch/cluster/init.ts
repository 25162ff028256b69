import { Command } from '@commander-js/extra-typings'
import { writeNewCluster } from '../../../app/launch/new-cluster.ts'
import { programName } from '../../../lib/program-name.ts'
import { printJson } from '../../output.ts'

/** `ot-agent launch cluster init`: one file adds a cluster. */
export default () =>
  new Command()
    .description('Writes a file of facts about a cluster to start from. One file is all there is to add.')
    .argument('<name>', 'lower-case letters, digits and dashes')
    .option('--out <file>', 'where to write it (default: the folder in which launches look for your clusters)')
    .option('--json', 'print the result as JSON')
    .action(async (name, { out, json }) => {
      const file = await writeNewCluster(name, out)
      if (json) return printJson({ schema: 'cluster-init/1', file })
      process.stdout.write(
        `${file}\nedit it, then: ${programName()} launch cluster check ${out === undefined ? name : file}\n`,
      )
    })
