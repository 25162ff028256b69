import { join, relative, resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { whyNot } from '../app/engine/try-engine.ts'
import { wholeNumber } from '../app/flags/values.ts'
import { loadRecipe } from '../app/recipe/load-recipe.ts'
import { performRecipe, type RecipeOutcome } from '../app/recipe/perform-recipe.ts'
import { packageRoot } from '../lib/package-root.ts'
import { programName } from '../lib/program-name.ts'
import { note, printJson } from './output.ts'
import { printCounts } from './recipe/counts-table.ts'
import { followRecipe } from './recipe/follow-recipe.ts'
import { noteReplays } from './recipe/note-replays.ts'

interface ModelAsked {
  readonly model?: string | undefined
  readonly apiBase?: string | undefined
  readonly apiKeyEnv?: string | undefined
}

/** `ot-agent demo`: the whole workflow in miniature, from three pipelines to a dataset to train on. */
export default () =>
  new Command()
    .description(
      'Makes a small dataset from start to finish: takes tasks from three pipelines, mixes, filters and checks them, runs ' +
        'them in local sandboxes, filters the traces and exports them. Then a small model that comes with this package tries ' +
        'new tasks, and gets some of them wrong.\n' +
        'Needs no network and no account. A second run reuses finished steps.',
    )
    .option('-o, --out <dir>', 'where to keep its rows and results', 'runs/demo')
    .option('--limit <n>', 'maximum number of tasks from each pipeline', wholeNumber(1))
    .option('--model <name>', 'use a real model as the teacher instead of the stand-in')
    .option('--api-base <url>', 'address of its server')
    .option('--api-key-env <name>', 'environment variable with its API key')
    .option('--json', 'print the result as JSON')
    .option('-q, --quiet', 'do not print progress')
    .action(async ({ out, json, limit, quiet = false, ...asked }) => {
      const dir = resolve(out)
      const recipe = await loadRecipe(join(packageRoot, 'recipes/demo.ts'), { set: settingsFor(asked), limit })
      if (!quiet) note(describeTeacher(asked))
      const started = performance.now()
      const outcome = await followRecipe({ quiet }, (follower) => performRecipe({ recipe, dir }, follower))
      const { stages, cached, sinks } = outcome
      if (!json) printSummary(outcome, (performance.now() - started) / 1000)
      const student = await runStudent({ dir: join(dir, 'student'), limit, quiet, json, asked })
      if (json) return printJson({ schema: 'recipe-run/1', dir, stages, cached, sinks, student })
      if (!quiet) note(whatNext(relative('', dir) || '.', student !== null && 'stages' in student))
    })

const student = 'composer-6m'

interface StudentRun {
  readonly dir: string
  readonly limit: number | undefined
  readonly quiet: boolean
  readonly json: true | undefined
  readonly asked: ModelAsked
}

/** The part that uses this package's own small model; null if the user named another model. */
async function runStudent({ dir, limit, quiet, json, asked }: StudentRun) {
  if (asked.model !== undefined || asked.apiBase !== undefined) return null
  const skipped = await whyNot('llama', student)
  if (skipped !== null) {
    note(`\nThe student ${student} cannot run here, so only the stand-in ran: ${skipped}`)
    return { skipped }
  }
  if (!quiet) {
    const what = 'a real model of 5.8 million parameters that runs in this process, and some of its replies are wrong'
    note(`\nNow the student ${student} tries new tasks, and so does the stand-in. The student is ${what}.\n`)
  }
  const recipe = await loadRecipe(join(packageRoot, 'recipes/demo/student.ts'), { limit })
  const started = performance.now()
  const outcome = await followRecipe({ quiet }, (follower) => performRecipe({ recipe, dir }, follower))
  if (!json) printSummary(outcome, (performance.now() - started) / 1000)
  const { stages, cached, sinks } = outcome
  return { dir, stages, cached, sinks }
}

/** A real model replaces the stand-in wherever the recipe calls one. */
function settingsFor({ model, apiBase, apiKeyEnv }: ModelAsked): readonly string[] {
  if (model === undefined && apiBase === undefined) return []
  const settings = JSON.stringify({ model: model ?? 'default', apiBase, apiKeyEnv })
  return [`rollout.teacher=${settings}`, `length.model=${settings}`]
}

function describeTeacher({ model, apiBase }: ModelAsked): string {
  if (model !== undefined || apiBase !== undefined)
    return `The teacher is ${model ?? 'the model'}${apiBase ? ` at ${apiBase}` : ''}.\n`
  return 'The teacher is a stand-in, not a model: it plays back each task’s own solution. Pass --api-base and --model to use a real model.\n'
}

function printSummary({ stages, steps, cached, sinks }: RecipeOutcome, seconds: number): void {
  printCounts(stages)
  process.stdout.write('\n')
  for (const { dir, counts, files } of sinks) {
    process.stdout.write(`${counts.train ?? 0} traces for training and ${counts.validation ?? 0} for validation:\n`)
    for (const file of files) process.stdout.write(`  ${relative('', join(dir, file))}\n`)
  }
  noteReplays(sinks)
  const reused = cached.length > 0 ? `; reused ${cached.length} of ${steps.length} steps from an earlier run` : ''
  process.stdout.write(`${Math.round(seconds)} s${reused}\n`)
}

function whatNext(dir: string, hasStudent: boolean): string {
  const withStudent = [
    [`eval compare ${dir}/student/work/*/jobs/*`, 'compare the stand-in and the student on the same tasks'],
    [`view ${dir}`, 'see every turn of every trial in a browser'],
  ] as const
  const steps = [
    ...(hasStudent ? withStudent : []),
    [`recipe explain ${dir}`, 'print these counts again'],
    [`recipe lineage ROW -o ${dir}`, 'follow a row of the dataset back to its source'],
    [
      `recipe check ${relative('', join(packageRoot, 'recipes/demo.ts'))}`,
      'see what a recipe would do before you run it',
    ],
    ['demo --api-base URL --model NAME', 'run the demo with a real model'],
  ] as const
  const width = Math.max(...steps.map(([command]) => command.length))
  const lines = steps.map(([command, why]) => `  ${programName()} ${command.padEnd(width)}   ${why}`)
  return ['', 'What to try next:', ...lines].join('\n')
}
