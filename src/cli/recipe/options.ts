import { Command } from '@commander-js/extra-typings'
import { several, wholeNumber } from '../../app/flags/values.ts'

/** The options shared by every command that reads a recipe. */
export function recipeOptions() {
  return new Command()
    .argument('<file>', 'a recipe, for example recipes/demo.ts')
    .option('--set <path=value>', 'set an option of a stage, STAGE.OPTION=VALUE, or seed=N; repeatable', several)
    .option(
      '--limit <n>',
      'read at most this many rows from each source, for a trial pass through all stages',
      wholeNumber(1),
    )
    .option('-o, --out <dir>', 'where to keep its rows and results (default: runs/NAME)')
    .option('--json', 'print the result as JSON')
}
