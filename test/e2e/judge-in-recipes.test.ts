import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rehearse } from '../../src/app/recipe/rehearse.ts'
import { stageServices } from '../../src/app/recipe/services.ts'
import type { StageEntry } from '../../src/core/recipe.ts'
import type { TaskRow } from '../../src/core/row.ts'
import { type Dropped, isDropped, type MapStage } from '../../src/core/stage.ts'
import { makeAnyStage } from '../../src/plugins/make-stage.ts'
import { countsOf } from '../../src/run/recipe/report.ts'
import { resolveRecipe } from '../../src/run/recipe/resolve.ts'
import { runRecipe } from '../../src/run/recipe/run-recipe.ts'
import { taskRowOf } from '../../src/stages/shared/task-row.ts'
import { judgeSums } from '../../src/store/ledger.ts'
import { runStage } from '../contracts/stage.ts'
import { clientThat, replies } from '../fakes/told-client.ts'
import { makeTempDir } from '../make-task.ts'
import { startJudge, verdict, writeJudged } from './judge-kit.ts'
import { scratch, withSandboxes } from './kit.ts'

const givesUp = 'test/fixtures/stand-in/gives-up.json'

const { signal } = new AbortController()
const services = stageServices(signal, { notify: () => {} })
/** Makes a reply of 11 tokens in and 3 out cost 14 cents. */
const options = { model_info: { input_cost_per_token: 0.01, output_cost_per_token: 0.01 } }

async function rowsOf(...names: string[]): Promise<TaskRow[]> {
  const dirs = names.map((name) => writeJudged(join(scratch, 'tasks'), name))
  return Promise.all(dirs.map(async (dir) => (await taskRowOf(await dir, 'judged')) as TaskRow))
}

/** The total of judge requests and costs for the jobs in a folder. */
async function judgedIn(dir: string) {
  const sums = await Promise.all((await readdir(dir)).map((name) => judgeSums(join(dir, name))))
  const add = (key: 'requests' | 'costUsd') => sums.reduce((sum, each) => sum + (each?.[key] ?? 0), 0)
  return { requests: add('requests'), costUsd: Number(add('costUsd').toFixed(6)) }
}

withSandboxes('a judge in a recipe', () => {
  test('is paid for by the stage that verifies tasks: in its books, and out of its budget', async () => {
    const [one, two, three] = await rowsOf('one', 'two', 'three')
    const server = await startJudge(['m'], verdict(1))
    const judge = { model: 'm', apiBase: server.apiBase, options }
    const workDir = await makeTempDir()
    const said: string[] = []
    const verify = async (budgetUsd: number, rows: (TaskRow | undefined)[]) => {
      const stage = await makeAnyStage('filters/tasks/verified', { judge, budgetUsd, concurrency: 1 })
      const at = { services, workDir, log: (line: string) => void said.push(line) }
      return runStage(stage as MapStage<never, TaskRow>, rows, at)
    }
    await expect(verify(0.1, [one, two])).rejects.toMatchObject({
      name: 'UserError',
      message: 'the budget of 0.1 USD was used up after 1 of 2 tasks',
      hint: expect.stringContaining('raise budgetUsd'),
    })
    expect(server.requests).toHaveLength(1)
    // A paid judgment is not requested again.
    expect(await verify(0.2, [one, two])).toEqual([one, two])
    expect(server.requests).toHaveLength(2)
    expect(await judgedIn(join(workDir, 'checks'))).toEqual({ requests: 2, costUsd: 0.28 })
    expect(said.at(-1)).toBe('judge: 2 requests, 22 in, 6 out, $0.28')
    // Other tasks of the stage share its budget, whoever runs them.
    await expect(verify(0.28, [three])).rejects.toThrow('the budget of 0.28 USD was used up after 0 of 1 tasks')
    expect(server.requests).toHaveLength(2)
  })

  test('scores the rollouts of every stage that names one, each on its own account', async () => {
    const root = join(scratch, 'rolled')
    await writeJudged(root, 'rolled')
    const server = await startJudge(['first', 'second', 'third'], verdict(0.5))
    const by = (model: string) => ({ judge: { model, apiBase: server.apiBase, options }, concurrency: 1 })
    const able = { model: 'able', engine: 'scripted', options: { tasks: root } }
    const teachers = [{ model: 'clueless', engine: 'scripted', options: { script: givesUp } }, able]
    const run = async (dir: string, stages: StageEntry[]) => {
      const source = { use: 'sources/task-folder', with: { path: root } }
      const recipe = await resolveRecipe({ name: 'judged', stages: [source, ...stages] }, makeAnyStage)
      return runRecipe({ recipe, dir: join(scratch, dir), services, signal, memoryMb: 200 })
    }
    const { steps } = await run('judged-run', [
      { use: 'rollouts/select-teacher', with: { teachers, tasks: 1, ...by('first') } },
      {
        use: 'rollouts/pass-rate',
        with: { teacher: null, agent: 'oracle', attempts: 1, passReward: 0.5, ...by('second') },
      },
      { use: 'filters/tasks/signal-range', with: { signal: 'pass-rate', least: 1 } },
      { use: 'rollouts/agent', with: { teacher: { from: 'select-teacher' }, ...by('third') } },
      { use: 'filters/rollouts/min-reward', with: { least: 0.5 } },
    ])
    expect(countsOf(steps).at(-1)).toMatchObject({ use: 'filters/rollouts/min-reward', given: 1, drops: {} })
    expect(server.requests.map(({ body }) => body.model)).toEqual(['first', 'second', 'third'])
    for (const stage of ['select-teacher', 'pass-rate', 'agent']) {
      const jobs = join(scratch, 'judged-run', 'work', stage, 'jobs')
      expect(await judgedIn(jobs), stage).toEqual({ requests: 1, costUsd: 0.14 })
    }
    for (const [use, more] of [
      ['rollouts/select-teacher', { teachers }],
      ['rollouts/pass-rate', { teacher: null, agent: 'oracle' }],
      ['rollouts/agent', { teacher: null, agent: 'oracle' }],
    ] as const)
      await expect(run('unjudged-run', [{ use, with: more }]), use).rejects.toMatchObject({
        ...{ message: expect.stringContaining('judged by a model'), hint: expect.stringContaining('`judge`') },
      })
  })

  test('is replaced in a rehearsal by a comparison with the reference, which the report says', async () => {
    const root = join(scratch, 'rehearsed')
    const rubric = (reference: string) => ({
      'tests/judge.json': JSON.stringify({ schema: 'judge/1', criteria: [{ name: 'kind', text: 'Kind.' }], reference }),
    })
    const instruction = { 'instruction.md': 'Write something kind to /answer.\n' }
    await writeJudged(root, 'right', { files: { ...instruction, ...rubric('a kind\nword') } })
    await writeJudged(root, 'wrong', { files: { ...instruction, ...rubric('another word') } })
    const judge = { model: 'openai/no-such' }
    const stages = (more: object) => [
      { use: 'sources/task-folder', with: { path: root } },
      { use: 'filters/tasks/verified', with: { sandbox: 'daytona', ...more } },
      { use: 'rollouts/agent', with: { teacher: { model: 'openai/no-such' }, sandbox: 'daytona', ...more } },
      { use: 'exporters/sharegpt', with: { validation: 0 } },
    ]
    const rehearsed = async (name: string, more: object) => {
      const file = join(scratch, `${name}.ts`)
      await writeFile(file, `export default ${JSON.stringify({ name, stages: stages(more) })}\n`)
      const follower = { signal, trials: { notify: () => {} } }
      return rehearse(file, { dir: () => join(scratch, name) }, follower)
    }
    const report = await rehearsed('judged-rehearsal', { judge })
    const [, verified, rollout] = report.stages
    expect(verified).toMatchObject({ taken: 2, given: 1, drops: { 'check-oracle': 1 } })
    expect(rollout).toMatchObject({ taken: 1, given: 1 })
    for (const stage of [verified, rollout])
      expect(stage?.substituted).toContain('a comparison with the reference for the judge openai/no-such')
    expect(report.brokenAt).toBeNull()
    await expect(rehearsed('unjudged-rehearsal', {})).rejects.toThrow('judged by a model')
  })

  test('says whether a scout solved its task, so that there is something to hint at', async () => {
    const root = join(scratch, 'scouted')
    const row = (await taskRowOf(await writeJudged(root, 'scouted'), 'judged')) as TaskRow
    const server = await startJudge(['strict', 'mild'], verdict(0.5), verdict(1))
    const hint = async (model: string) => {
      const teacher = { model: 'able', engine: 'scripted', options: { tasks: root } }
      const scout = { teacher, concurrency: 1, judge: { model, apiBase: server.apiBase } }
      const stage = (await makeAnyStage('augment/hints', { scout })) as MapStage<never, TaskRow>
      const asked = clientThat(replies(JSON.stringify({ items: ['Kind words are short.'] })))
      return (await runStage(stage, [row], { services, model: asked })) as (TaskRow | Dropped)[]
    }
    expect((await hint('strict')).map((made) => isDropped(made) && made.drop)).toEqual(['scout-failed'])
    expect(await hint('mild')).toMatchObject([
      { name: 'scouted-hints', instruction: expect.stringContaining('Kind words') },
    ])
  })
})
