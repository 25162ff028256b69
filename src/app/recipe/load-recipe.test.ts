import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import type { MapStage, StageContext } from '../../core/stage.ts'
import { loadRecipe } from './load-recipe.ts'

const tasks = "{ id: 'tasks', use: 'sources/task-folder', with: { path: 'examples/tasks' } }"
const rollout = (options: string) => `{ id: 'roll', use: 'rollouts/agent', with: { ${options} } }`
const teacher = "teacher: { model: 'scripted/x' }"

test.each([
  ['() => ({})', 'expected a recipe of plain values, got () => ({}) could not be cloned.'],
  [
    `{ name: 'x', stages: [${tasks}, { use: 'filters/tasks/random', with: { keep: 3, seed: () => 1 } }] }`,
    'expected a recipe of plain values',
  ],
  [`{ name: 'x', stages: [${tasks}, { use: 'filters/tasks/random', with: { keeep: 3 } }] }`, 'key: "keeep"'],
  [`{ name: 'x', stages: [${tasks}, ${rollout("teacher: { modle: 'x' }")}] }`, 'teacher: Unrecognized key: "modle"'],
  [`{ name: 'x', stages: [${tasks}, ${rollout('teacher: 3')}] }`, 'teacher: Invalid input: expected object'],
  [
    `{ name: 'x', stages: [${tasks}, ${rollout(`${teacher}, agent: 'nobody'`)}] }`,
    'stage roll: unknown agent "nobody"',
  ],
  [
    `{ name: 'x', stages: [${tasks}, ${rollout(`${teacher}, sandbox: { name: 'nowhere' }`)}] }`,
    'stage roll: unknown sandbox "nowhere"',
  ],
  [
    `{ name: 'x', stages: [${tasks}, ${rollout(`${teacher}, agent: { name: 'terminus-2', options: { turns: 3 } }`)}] }`,
    'stage roll: agent terminus-2: options: Unrecognized key: "turns"',
  ],
])('a file with %s is refused before anything runs', async (recipe, message) => {
  const file = join(await makeTempDir(), 'recipe.ts')
  await writeFile(file, `export default ${recipe}\n`)
  await expect(loadRecipe(file, {})).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining(message),
  })
})

test('a plug-in path in a stage is relative to the recipe’s folder', async () => {
  const dir = await makeTempDir()
  const options = "agent: './mine.ts', judge: { model: './judge.ts' }, teacher: { model: 'x', engine: './engine.ts' }"
  const write = (name: string, text: string) =>
    writeFile(join(dir, name), `export default { name: 'x', stages: [${tasks}, ${rollout(text)}] }\n`)
  await write('broken.ts', "teacher: null, agent: './none.ts'")
  const missing = { name: 'UserError', message: expect.stringContaining(join(dir, 'none.ts')) }
  await expect(loadRecipe(join(dir, 'broken.ts'), {})).rejects.toMatchObject(missing)
  await write('recipe.ts', options)
  await writeFile(join(dir, 'mine.ts'), "export default { name: 'mine', version: '1', solve: async () => {} }\n")
  const { stages } = await loadRecipe(join(dir, 'recipe.ts'), {})
  const stage = stages[1]?.stage as MapStage<never, unknown>
  expect(await stage.needs?.({} as StageContext)).toMatchObject([
    { kind: 'sandbox', sandbox: { name: 'local' } },
    { kind: 'agent', agent: { name: join(dir, 'mine.ts') } },
    { kind: 'model', model: { model: 'x', engine: join(dir, 'engine.ts') } },
  ])
  // A recipe moved along with its plug-ins is still the same recipe.
  expect(stage.identity).toMatchObject({ agent: { name: './mine.ts' }, judge: { model: './judge.ts' } })
})
