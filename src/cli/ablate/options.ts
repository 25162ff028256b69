import { Command } from '@commander-js/extra-typings'

/** The options shared by every ablation command. */
export function ablateOptions() {
  return new Command()
    .argument('<file>', 'an ablation, for example ablations/example.yaml')
    .option('-o, --out <dir>', 'where to keep its datasets and results (default: runs/NAME)')
    .option('--json', 'print the result as JSON')
}
