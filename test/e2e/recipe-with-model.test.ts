import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { stageServices } from '../../src/app/recipe/services.ts'
import type { StageEntry } from '../../src/core/recipe.ts'
import { makeAnyStage } from '../../src/plugins/make-stage.ts'
import { countsOf } from '../../src/run/recipe/report.ts'
import { resolveRecipe } from '../../src/run/recipe/resolve.ts'
import { runRecipe } from '../../src/run/recipe/run-recipe.ts'
import { type Behaviour, says, startModelServer } from '../fakes/model-server.ts'
import { writeTask } from '../fakes/tasks.ts'
import { makeTempDir } from '../make-task.ts'

test('stages of a recipe ask the model they name, and a recipe that failed pays for no reply twice', async () => {
  const dir = await makeTempDir()
  for (const name of ['one', 'two', 'three'])
    await writeTask(join(dir, 'tasks'), name, { files: { 'instruction.md': `Write 42 to /answer, ${name}.\n` } })
  const server = await startModelServer()
  onTestFinished(() => server.close())
  const answer: Behaviour = (response, request) => {
    const prompt = String(request.body.messages[0].content)
    const name = /answer, (?:for )?(one|two|three)/.exec(prompt)?.[1]
    if (prompt.startsWith('Below')) says(`Put 42 into /answer, for ${name}.`)(response, request)
    else says(name === 'two' ? 'NO' : 'YES')(response, request)
  }
  const model = { model: 'm', apiBase: `${server.origin}/v1`, options: { max_attempts: 1 } }
  const stages = (concurrency: number): StageEntry[] => [
    { use: 'sources/task-folder', with: { path: join(dir, 'tasks') } },
    { use: 'augment/rewrite', with: { model, concurrency } },
    {
      use: 'maps/classify',
      with: { model, rows: 'task', prompt: 'Clear? {{instruction}}', into: 'clear', keep: 'yes', concurrency },
    },
  ]
  const run = async (concurrency: number) => {
    const recipe = await resolveRecipe({ name: 'asks', stages: stages(concurrency) }, makeAnyStage)
    const { signal } = new AbortController()
    return runRecipe({
      recipe,
      dir: join(dir, 'run'),
      services: stageServices(signal, { notify: () => {} }),
      signal,
      memoryMb: 200,
    })
  }
  const broken: Behaviour = (response) => void response.writeHead(401).end('{"error":{"message":"no such key"}}')
  server.plan(answer, answer, broken)
  await expect(run(1)).rejects.toMatchObject({ boundary: 'model' })
  const asked = server.requests.length
  expect(asked).toBe(3)
  server.plan(answer)
  const { steps } = await run(2)
  // The third rewording, which had no reply, and three questions about the new instructions.
  expect(server.requests.length - asked).toBe(4)
  expect(countsOf(steps).at(-1)).toMatchObject({ use: 'maps/classify', given: 2, drops: { 'classified-no': 1 } })
  await run(8)
  expect(server.requests.length - asked).toBe(4)
})
