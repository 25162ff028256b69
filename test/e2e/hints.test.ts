import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { stageServices } from '../../src/app/recipe/services.ts'
import type { TaskRow } from '../../src/core/row.ts'
import { type Dropped, isDropped, type MapStage } from '../../src/core/stage.ts'
import { makeAnyStage } from '../../src/plugins/make-stage.ts'
import { taskRowOf } from '../../src/stages/shared/task-row.ts'
import { clientThat, replies } from '../fakes/told-client.ts'
import { makeTempDir } from '../make-task.ts'
import { withSandboxes } from './kit.ts'

const tasks = resolve('examples/tasks')
const row = (await taskRowOf(join(tasks, 'csv-to-json'), 'examples')) as TaskRow

const items = (...hints: string[]) => JSON.stringify({ items: hints })

async function hint(teacher: object, ...answers: Parameters<typeof clientThat>) {
  const stage = (await makeAnyStage('augment/hints', { scout: { teacher, concurrency: 1 } })) as MapStage<
    TaskRow,
    TaskRow
  >
  const { signal } = new AbortController()
  const model = clientThat(...answers)
  const rows = (async function* () {
    yield row
  })()
  const made: (TaskRow | Dropped)[] = []
  const place = { seed: 1, workDir: await makeTempDir(), log: () => {} }
  for await (const each of stage.run(rows, {
    ...place,
    signal,
    model,
    services: stageServices(signal, { notify: () => {} }),
  }))
    made.push(each)
  return { made, model }
}

withSandboxes('augment/hints', () => {
  test('hints come from what a scout did, and those that give it away are sent back', async () => {
    const { made, model } = await hint(
      { model: 'scripted', engine: 'scripted', options: { tasks } },
      replies(items("Type cat > /tmp/solution/solve.sh <<'END_OF_FILE' and go on")),
      replies(items('Quoted fields may hold commas.', 'Look at the types of the columns.')),
    )
    const [hinted] = made as [TaskRow]
    expect(hinted.instruction.startsWith(row.instruction.trimEnd())).toBe(true)
    expect(hinted.instruction).toContain('Hints:\n\n- Quoted fields may hold commas.\n- Look at')
    expect(hinted).toMatchObject({ name: 'csv-to-json-hints', source: 'examples' })
    expect(hinted.lineage).toMatchObject({ strategy: 'hints', parents: [row.digest], model: 'fake/model' })
    expect(model.asked[0]?.messages.at(-1)?.content).toContain('pwd; ls -la')
    expect(model.asked[1]?.messages.at(-1)?.content).toContain('it gives the way away')
  })

  test('a task its scout did not solve is dropped', async () => {
    const { made, model } = await hint(
      { model: 'clueless', engine: 'scripted', options: { script: 'test/fixtures/stand-in/gives-up.json' } },
      replies(items('x')),
    )
    expect(made.map((each) => isDropped(each) && each.drop)).toEqual(['scout-failed'])
    expect(model.asked).toEqual([])
  })
})
