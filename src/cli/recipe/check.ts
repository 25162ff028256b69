import { type CheckedRecipe, checkRecipe, type Missing, type StageForecast } from '../../app/recipe/check-recipe.ts'
import type { Expectation } from '../../core/stage.ts'
import { oneLine } from '../../lib/visible.ts'
import { copyable } from '../copyable.ts'
import { note, printJson, printTable } from '../output.ts'
import { recipeOptions } from './options.ts'

/** `ot-agent recipe check`: what a recipe would do and what it lacks, before running anything. */
export default () =>
  recipeOptions()
    .description(
      'Checks that the stages of a recipe fit together, prints the rows into and out of each stage and what it costs, and ' +
        'looks for everything a run needs: files, packs, pipelines, keys, model servers, sandboxes, agents.\n' +
        'Exits with 3 and lists what is missing. Runs and writes nothing.',
    )
    .option('--offline', 'do not use the network: assume that servers, clouds and datasets exist')
    .action(async (file, options) => {
      const { lock, forecast, missing, warnings } = await checkRecipe(file, options)
      if (missing.length > 0) process.exitCode = 3
      if (options.json) return printJson({ ...lock, schema: 'recipe-check/1', forecast, missing, warnings })
      if (forecast) printForecast(lock, forecast)
      for (const warning of warnings) note(`warning: ${warning}`)
      if (missing.length > 0) return printMissing(missing)
      process.stdout.write(`${lock.name} has everything it needs\n`)
    })

function printForecast(lock: CheckedRecipe['lock'], told: readonly StageForecast[]): void {
  printTable(
    ['stage', 'use', 'input', 'output', 'rows in', 'rows out', 'rollouts', 'calls', 'tokens', 'USD', 'hours'],
    lock.stages.map(({ id, use, takes, gives }, i) => [id, use, takes ?? '', gives, ...cells(told[i], takes !== null)]),
  )
  if (told.some(({ expected }) => expected.rows === null))
    process.stdout.write('?: not known before a run; your own source can state its number of rows with expect()\n')
  for (const line of new Set(told.flatMap(({ expected }) => expected.assumes ?? [])))
    process.stdout.write(`assumes: ${oneLine(line)}\n`)
}

function cells(told: StageForecast | undefined, takesRows: boolean): string[] {
  const { rows, rollouts, modelCalls, tokens, costUsd, hours } = told?.expected ?? ({ rows: null } as Expectation)
  // A stage that calls a model costs money even if the price is unknown.
  const unknown = modelCalls === undefined ? undefined : null
  return [
    takesRows ? told?.taken : undefined,
    rows,
    rollouts,
    modelCalls,
    tokens ?? unknown,
    costUsd ?? unknown,
    hours,
  ].map((value) => (value === undefined ? '' : value === null ? '?' : shown(value)))
}

function shown(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(2)
}

/** Prints what a recipe lacks, each item with the command that provides it. */
function printMissing(missing: readonly Missing[]): void {
  const rows = missing.map(({ stages, what, provide }) => [
    stages.join(', '),
    oneLine(what),
    oneLine(copyable(provide)),
  ])
  printTable(['missing for', 'what', 'provided by'], rows)
}
