import { Command } from '@commander-js/extra-typings'

/** What every command of an ablation takes. */
export function ablateOptions() {
  return new Command()
    .argument('<file>', 'an ablation, for example ablations/example.yaml')
    .option('-o, --out <dir>', 'where to keep its datasets and results (default: runs/NAME)')
    .option('--json', 'print the result as JSON')
}
