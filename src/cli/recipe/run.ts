import { resolve } from 'node:path'
import { restartInterrupted } from '../../app/flags/model-options.ts'
import { parseShare, passEnvFlag, wholeNumber } from '../../app/flags/values.ts'
import { loadRecipe, warningsOf } from '../../app/recipe/load-recipe.ts'
import { performRecipe, type RecipeOutcome } from '../../app/recipe/perform-recipe.ts'
import { type RehearsalReport, rehearse } from '../../app/recipe/rehearse.ts'
import { UserError } from '../../core/errors.ts'
import { nearPath } from '../../lib/files.ts'
import { oneLine } from '../../lib/visible.ts'
import { note, printJson, printTable } from '../output.ts'
import { printCounts } from './counts-table.ts'
import { followRecipe } from './follow-recipe.ts'
import { noteReplays } from './note-replays.ts'
import { recipeOptions } from './options.ts'
import { whyEmpty } from './why-empty.ts'

/** `ot-agent recipe run`: makes a recipe's dataset, or the part still missing. */
export default () =>
  recipeOptions()
    .description(
      'Runs a recipe stage by stage. Finished work is kept: after a crash, run the same command again to resume.\n' +
        'Changing a stage rebuilds only that stage and the stages below it.',
    )
    .option('--share <i/n>', 'run every n-th shard, starting with i: to split a recipe between processes', parseShare)
    .option('--until <stage>', 'stop after this stage')
    .option(
      '--shard-rows <n>',
      'rows per shard; an interrupted run resumes at a shard. A step that has started keeps its shard size',
      wholeNumber(1),
    )
    .option('--memory-mb <mb>', 'memory limit for stages that need all rows at once', wholeNumber(64))
    .option(
      '--shared-cache <dir>',
      'folder shared with other machines: reuse finished steps from it, and add the steps finished here',
    )
    .option('--no-replay', 'write datasets without first replaying a few of their rows')
    .option(...passEnvFlag)
    .option(...restartInterrupted)
    .option(
      '--rehearse',
      'try every stage on two rows of each source, with fixtures, a stand-in for the teacher and local sandboxes; needs no network and no key',
    )
    .option('-q, --quiet', 'do not print progress')
    .action(async (file, options) => {
      if (options.rehearse) {
        refuseWith(options)
        const dir = (name: string) => resolve(options.out ?? `runs/${name}-rehearsal`)
        const asked = { set: options.set, dir, replay: options.replay }
        return reportRehearsal(
          await followRecipe({ quiet: options.quiet ?? false, continues: false }, (follower) =>
            rehearse(file, asked, follower),
          ),
          options.json ?? false,
        )
      }
      const recipe = await loadRecipe(file, options)
      for (const warning of warningsOf(recipe.lock)) note(`warning: ${warning}`)
      const dir = resolve(options.out ?? `runs/${recipe.lock.name}`)
      const { share, until, shardRows, memoryMb, replay, passEnv, quiet = false } = options
      const trials = { quiet, passEnv, restartInterrupted: options.restartInterrupted }
      const sharedCache = options.sharedCache === undefined ? undefined : resolve(options.sharedCache)
      const run = { recipe, dir, share, until, shardRows, memoryMb, replay, sharedCache }
      report(dir, await followRecipe(trials, (follower) => performRecipe(run, follower)), options.json ?? false)
    })

/** A rehearsal is complete, small and starts from scratch: options that say otherwise make no sense with it. */
function refuseWith(options: Readonly<Record<string, unknown>>): void {
  const given = ['share', 'until', 'limit', 'shardRows', 'sharedCache'].find((name) => options[name] !== undefined)
  if (given === undefined) return
  const flag = `--${given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  throw new UserError(
    `--rehearse: expected no ${flag} with it`,
    'remove one of them: a rehearsal runs every stage on two rows of each source',
  )
}

function report(dir: string, { stages, sinks, waitingAt, cached }: RecipeOutcome, json: boolean): void {
  const empty = waitingAt === null ? whyEmpty(dir, { stages, sinks }) : null
  if (empty !== null) process.exitCode = 3
  if (json) {
    if (empty !== null) note(empty)
    printJson({ schema: 'recipe-run/1', dir, stages, cached, sinks, waitingAt })
    return
  }
  printCounts(stages)
  for (const sink of sinks) process.stdout.write(`${nearPath(sink.dir)}: ${written(sink)}\n`)
  noteReplays(sinks)
  if (empty !== null) note(empty)
  if (waitingAt !== null)
    note(`${waitingAt} is waiting for shards of other processes; run the recipe without --share to finish it`)
}

function written({ rows, stale, counts }: RecipeOutcome['sinks'][number]): string {
  if (rows === 0) return stale ? 'no rows, so the dataset of an earlier run is kept' : 'no rows'
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
}

/**
 * Prints what every stage of a rehearsal took, kept and dropped, and what it had to do without; the exit code is 3 if
 * one broke.
 */
function reportRehearsal(report: RehearsalReport, json: boolean): void {
  const { stages, brokenAt, outputs, dir, recipe } = report
  if (brokenAt !== null) process.exitCode = 3
  if (json) {
    printJson(report)
    return
  }
  printTable(
    ['stage', 'in', 'out', 'dropped', 'tried with'],
    stages.map(({ id, taken, given, drops, substituted }) => [
      id,
      taken === 0 && given > 0 ? '' : String(taken),
      String(given),
      Object.entries(drops)
        .map(([reason, count]) => `${reason} ${count}`)
        .join(', '),
      substituted.map(oneLine).join('; '),
    ]),
  )
  const say = (line: string) => process.stdout.write(`${oneLine(line)}\n`)
  for (const { id, notExercised } of stages) for (const what of notExercised) say(`not exercised: ${id}: ${what}`)
  for (const { id, endedEmpty } of stages)
    if (endedEmpty)
      say(`${id} dropped every row of the rehearsal; the stages below it were tried on rows that bypassed it`)
  for (const { dir: out } of outputs) say(`${out}: a rehearsal; do not train on it`)
  note(
    brokenAt === null
      ? `every stage of ${recipe} ran; details in ${dir}`
      : `${recipe} broke at ${brokenAt}, which produced no rows`,
  )
}
