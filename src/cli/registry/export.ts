import { Command } from '@commander-js/extra-typings'
import { exportRegistry } from '../../app/registry/transfer.ts'
import { oneLine } from '../../lib/visible.ts'
import { registryEnvOption, registryOption } from './place.ts'

/** `ot-agent registry export`: exports the whole registry as files. */
export default () =>
  new Command()
    .description('Writes the whole registry to a file that `registry import` reads into any database, or as CSV files.')
    .argument('<path>', 'file to write (JSON Lines), or with --csv the directory; it must not exist yet')
    .option('--csv', 'write a directory with a CSV file for each table')
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .action(async (path, { csv, ...place }) => {
      await exportRegistry(place, path, csv ?? false)
      process.stdout.write(`${oneLine(path)}\n`)
    })
