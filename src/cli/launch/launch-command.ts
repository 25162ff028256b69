import { Command } from '@commander-js/extra-typings'

/** What every command about a launch takes. */
export function launchCommand() {
  return new Command()
    .argument('[launch]', 'a launch by its name, or the beginning of it (default: the latest)')
    .option('--experiments-dir <dir>', 'where launches are written down', 'experiments')
}
