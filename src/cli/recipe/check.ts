import { resolve } from 'node:path'
import type { Expectation } from '../../core/stage.ts'
import { forecast, type StageForecast } from '../../run/recipe/expect.ts'
import { oneLine, printJson, printTable } from '../output.ts'
import { loadRecipe } from './load-recipe.ts'
import { recipeOptions } from './options.ts'
import { stageServices } from './services.ts'

/** `ot-agent recipe check`: what a recipe would do, before anything runs. */
export default () =>
  recipeOptions()
    .description(
      'Checks that the stages of a recipe fit together and tells what each takes, gives and costs. Runs and writes nothing.',
    )
    .action(async (file, options) => {
      const { lock, stages } = await loadRecipe(file, options)
      const signal = new AbortController().signal
      const told = await forecast(stages, lock.limit, ({ id }) => ({
        seed: lock.seed,
        signal,
        workDir: resolve(options.out ?? `runs/${lock.name}`, 'work', id),
        model: null,
        sandboxes: null,
        services: stageServices(signal),
        log: () => {},
      }))
      if (options.json) return printJson({ ...lock, schema: 'recipe-check/1', forecast: told })
      printTable(
        ['stage', 'use', 'takes', 'gives', 'rows in', 'rows out', 'rollouts', 'calls', 'tokens', 'USD', 'hours'],
        lock.stages.map(({ id, use, takes, gives }, i) => [
          id,
          use,
          takes ?? '',
          gives,
          ...cells(told[i], takes !== null),
        ]),
      )
      for (const line of new Set(told.flatMap(({ expected }) => expected.assumes ?? [])))
        process.stdout.write(`assumes: ${oneLine(line)}\n`)
    })

function cells(told: StageForecast | undefined, takesRows: boolean): string[] {
  const { rows, rollouts, modelCalls, tokens, costUsd, hours } = told?.expected ?? ({ rows: null } as Expectation)
  // Whoever asks a model pays for it, even where nobody can say how much.
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
