import { resolve } from 'node:path'
import { InvalidArgumentError } from '@commander-js/extra-typings'
import { countsOf } from '../../run/recipe/report.ts'
import { type RecipeEvent, type RecipeOutcome, runRecipe } from '../../run/recipe/run-recipe.ts'
import { explainDisk } from '../disk-errors.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, oneLine, printJson, wholeNumber } from '../output.ts'
import { printCounts } from './counts-table.ts'
import { loadRecipe } from './load-recipe.ts'
import { recipeOptions } from './options.ts'
import { stageServices } from './services.ts'

/** `ot-agent recipe run`: makes the dataset of a recipe, or what is missing of it. */
export default () =>
  recipeOptions()
    .description(
      'Runs a recipe stage by stage. What is there already is not made again: the same command after a crash goes on, and a changed stage\n' +
        'makes only what stands below it anew.',
    )
    .option('--share <i/n>', 'make every n-th shard, beginning with i: for several processes on one recipe', share)
    .option('--shard-rows <n>', 'rows of a shard, the unit of resuming', wholeNumber(1))
    .option('--memory-mb <mb>', 'memory for whole-set stages', wholeNumber(64))
    .option('-q, --quiet', 'no progress')
    .action(async (file, options) => {
      const recipe = await loadRecipe(file, options)
      const dir = resolve(options.out ?? `runs/${recipe.lock.name}`)
      const interrupt = interruptSignal()
      try {
        const outcome = await explainDisk(dir, () =>
          runRecipe({
            recipe,
            dir,
            services: stageServices(interrupt.signal),
            signal: interrupt.signal,
            share: options.share,
            shardRows: options.shardRows,
            memoryMb: options.memoryMb,
            onEvent: (event) => options.quiet || tell(event),
          }),
        )
        report(dir, outcome, options.json ?? false)
      } finally {
        interrupt.stop()
      }
    })

function share(text: string): { index: number; of: number } {
  const [, index, of] = /^(\d+)\/(\d+)$/.exec(text) ?? []
  if (of === undefined || Number(of) < 1 || Number(index) >= Number(of))
    throw new InvalidArgumentError(`expected i/n with i from 0 to n - 1, got ${JSON.stringify(text)}`)
  return { index: Number(index), of: Number(of) }
}

function tell(event: RecipeEvent): void {
  if (event.kind === 'step-start') note(`${event.stages.join(' + ')} ...`)
  if (event.kind === 'shard-end') note(`  shard ${event.index}: ${event.rows} rows`)
  if (event.kind === 'step-end') note(`  ${event.rows} rows${event.cached ? ', from an earlier run' : ''}`)
  if (event.kind === 'log') note(`  ${event.stage}: ${oneLine(event.line)}`)
}

function report(dir: string, { steps, sinks, waitingAt, cached }: RecipeOutcome, json: boolean): void {
  const stages = countsOf(steps)
  if (json) {
    printJson({ schema: 'recipe-run/1', dir, stages, cached, sinks, waitingAt })
    return
  }
  printCounts(stages)
  for (const { dir: out, counts } of sinks)
    process.stdout.write(
      `${out}: ${Object.entries(counts)
        .map(([name, count]) => `${name} ${count}`)
        .join(', ')}\n`,
    )
  if (waitingAt !== null)
    note(`${waitingAt} waits for shards of other processes; run the recipe without --share to finish it`)
}
