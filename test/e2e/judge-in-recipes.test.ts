import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stageServices } from '../../src/cli/recipe/services.ts'
import type { TaskRow } from '../../src/core/row.ts'
import type { Stage } from '../../src/core/stage.ts'
import { makeAnyStage } from '../../src/plugins.ts'
import { taskRowOf } from '../../src/stages/task-rows/task-row.ts'
import { judgeSums } from '../../src/store/ledger.ts'
import { runStage } from '../contracts/stage.ts'
import { makeTempDir } from '../make-task.ts'
import { startJudge, verdict, writeJudged } from './judge-kit.ts'
import { scratch, withSandboxes } from './kit.ts'

const { signal } = new AbortController()
const services = stageServices(signal)
/** A reply of 11 tokens in and 3 out costs 14 cents. */
const options = { model_info: { input_cost_per_token: 0.01, output_cost_per_token: 0.01 } }

async function rowsOf(...names: string[]): Promise<TaskRow[]> {
  const dirs = names.map((name) => writeJudged(join(scratch, 'tasks'), name))
  return Promise.all(dirs.map(async (dir) => (await taskRowOf(await dir, 'judged')) as TaskRow))
}

/** All that judges were asked on behalf of the jobs in a folder. */
async function judgedIn(dir: string) {
  const sums = await Promise.all((await readdir(dir)).map((name) => judgeSums(join(dir, name))))
  const add = (key: 'requests' | 'costUsd') => sums.reduce((sum, each) => sum + (each?.[key] ?? 0), 0)
  return { requests: add('requests'), costUsd: Number(add('costUsd').toFixed(6)) }
}

withSandboxes('a judge in a recipe', () => {
  test('is paid for by the stage that verifies tasks: in its books, and out of its budget', {
    timeout: 180_000,
  }, async () => {
    const [one, two, three] = await rowsOf('one', 'two', 'three')
    const server = await startJudge(['m'], verdict(1))
    const judge = { model: 'm', apiBase: server.apiBase, options }
    const workDir = await makeTempDir()
    const said: string[] = []
    const verify = async (budgetUsd: number, rows: (TaskRow | undefined)[]) => {
      const stage = await makeAnyStage('filters/tasks/verified', { judge, budgetUsd, concurrency: 1 })
      const at = { services, workDir, log: (line: string) => void said.push(line) }
      return runStage(stage as Stage<never, TaskRow>, rows, at)
    }
    await expect(verify(0.1, [one, two])).rejects.toMatchObject({
      name: 'UserError',
      message: 'the budget of 0.1 USD is spent after 1 of 2 tasks',
      hint: expect.stringContaining('raise budgetUsd'),
    })
    expect(server.requests).toHaveLength(1)
    // What was paid for is not asked again.
    expect(await verify(0.2, [one, two])).toEqual([one, two])
    expect(server.requests).toHaveLength(2)
    expect(await judgedIn(join(workDir, 'checks'))).toEqual({ requests: 2, costUsd: 0.28 })
    expect(said.at(-1)).toBe('judge: 2 requests, 22 in, 6 out, $0.28')
    // Other tasks of the stage share its budget, whoever runs them.
    await expect(verify(0.28, [three])).rejects.toThrow('the budget of 0.28 USD is spent after 0 of 1 tasks')
    expect(server.requests).toHaveLength(2)
  })
})
