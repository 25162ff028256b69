import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { runCommand } from '../../app/flags/command.ts'
import { loadRecipe, warningsOf } from '../../app/recipe/load-recipe.ts'
import init from './init.ts'

const run = (...words: string[]) => runCommand(init, ['ot-agent', 'recipe', 'init'], words)

test('writes a recipe that fits together, once', async () => {
  const dir = await makeTempDir()
  catchPrinted()
  await run('first-try', '-p', dir)
  const file = join(dir, 'first-try.ts')
  expect(await readFile(file, 'utf8')).toContain("name: 'first-try'")
  const { lock } = await loadRecipe(file, {})
  expect(lock.stages.map(({ id }) => id)).toEqual(['tasks', 'same', 'benchmarks', 'rollout', 'timeouts', 'dataset'])
  expect(warningsOf(lock)).toEqual([])
  const without = { stages: lock.stages.filter(({ id }) => id !== 'benchmarks') }
  expect(warningsOf(without)).toEqual([expect.stringContaining('nothing keeps benchmark tasks out')])
  expect(warningsOf({ stages: without.stages.filter(({ id }) => id !== 'dataset') })).toEqual([])
  await expect(run('first-try', '-p', dir)).rejects.toThrow('expected a new path')
  await expect(run('../x', '-p', dir)).rejects.toThrow('expected a recipe name')
})
