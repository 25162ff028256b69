import { Command } from '@commander-js/extra-typings'

/** The options shared by every command about a launch. */
export function launchCommand() {
  return new Command()
    .argument('[launch]', 'name of the launch, or the start of it (default: the latest)')
    .option('--experiments-dir <dir>', 'directory that launches are recorded in', 'experiments')
}
