import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { runCommand } from '../../app/flags/command.ts'
import type { AnyStage, StageServices } from '../../core/stage.ts'
import { makeAnyStage } from '../../plugins/make-stage.ts'
import { resolveRecipe } from '../../run/recipe/resolve.ts'
import { runRecipe } from '../../run/recipe/run-recipe.ts'
import explain from './explain.ts'

const scores = [0.25, 0.5, 0.125, 1]
const own: Record<string, AnyStage> = {
  source: {
    kind: 'source',
    gives: 'task',
    async *rows() {
      for (const [nth, score] of scores.entries())
        yield {
          ...{ id: `t${nth}`, name: `t${nth}`, source: 's', instruction: `do ${nth}`, digest: `d${nth}` },
          ...{ archive: new Uint8Array(), lineage: null, signals: { score } },
        }
    },
  },
  sink: { kind: 'exporter', takes: 'task', write: async () => ({ counts: {}, files: [] }) },
}

async function run(stages: readonly object[]): Promise<string> {
  const dir = await makeTempDir()
  const recipe = await resolveRecipe(
    { name: 'test', seed: 1, stages: [{ use: 'source' }, ...stages, { use: 'sink' }] as never },
    async (use, options) => own[use] ?? makeAnyStage(use, options),
  )
  await runRecipe({ recipe, dir, services: {} as StageServices, signal: new AbortController().signal })
  return dir
}

async function explained(...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(explain, ['ot-agent', 'recipe'], argv)
  return printed()
}

test('shows the scores that rows were chosen by, and where the line was drawn', async () => {
  const best = { id: 'best', use: 'filters/tasks/top-by-signal', with: { signal: 'score', keep: 2 } }
  const least = { id: 'least', use: 'filters/tasks/top-by-signal', with: { signal: 'score', keep: 1, lowest: true } }
  const dir = await run([best, least])
  const printed = await explained(dir)
  expect(printed).toMatch(/^scores of +signal +count +min +median +mean +max +kept +threshold$/m)
  expect(printed).toMatch(/^best +score +4 +0\.125 +0\.375 +0\.4688 +1 +2 +>= 0\.5$/m)
  expect(printed).toMatch(/^least +score +2 +0\.5 +0\.75 +0\.75 +1 +1 +<= 0\.5$/m)
  const { scores: found } = JSON.parse(await explained(dir, '--json'))
  expect(found).toMatchObject([
    {
      stage: 'best',
      signal: 'score',
      count: 4,
      missing: 0,
      min: 0.125,
      median: 0.375,
      max: 1,
      kept: 2,
      threshold: 0.5,
    },
    { stage: 'least', lowest: true },
  ])
})

test('says nothing about scores where none were used', async () => {
  const dir = await run([{ use: 'filters/tasks/random', with: { keep: 2 } }])
  expect(await explained(dir)).not.toContain('scores of')
  expect(JSON.parse(await explained(dir, '--json')).scores).toEqual([])
})
