import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stageServices } from '../../src/app/recipe/services.ts'
import type { TaskRow } from '../../src/core/row.ts'
import type { MapStage } from '../../src/core/stage.ts'
import { makeAnyStage } from '../../src/plugins/make-stage.ts'
import { taskRowOf } from '../../src/stages/shared/task-row.ts'
import { runStage } from '../contracts/stage.ts'
import { type Behaviour, says } from '../fakes/model-server.ts'
import { recordedReply } from '../fakes/real-replies.ts'
import { writeTask } from '../fakes/tasks.ts'
import { makeTempDir } from '../make-task.ts'
import { ot, startJudge } from './judge-kit.ts'
import { scratch, withSandboxes } from './kit.ts'

const answer = '/srv/work/answer.txt'
const test42 = `[ "$(cat ${answer})" = 42 ] && reward=1 || reward=0\necho $reward > /logs/verifier/reward.txt`
const solve = `mkdir -p /srv/work\necho 42 > ${answer}`
const write = (name: string, instruction: string, folder = 'opinions') =>
  writeTask(join(scratch, folder), name, { solve, test: test42, files: { 'instruction.md': instruction } })
const fair = `Write six times seven to ${answer}. Make the folder.\n`
const unfair = `Write the number of days of a week to ${answer}. Make the folder.\n`

/** A solver that follows the instruction and a reviewer that looks at its reward, at one address. */
const model: Behaviour = (response, request) => {
  const { messages } = request.body as { messages: { content: string }[] }
  const [{ content = '' } = {}] = messages
  const isWeek = content.includes('days of a week')
  const scored = isWeek ? 'reward: 0' : 'reward: 1'
  const quotes = [
    { part: 'instruction', text: isWeek ? 'days of a week' : 'six times seven' },
    { part: 'tests', text: '= 42 ]' },
    { part: 'attempts', text: scored },
  ]
  // It is wrong about every task marked with this word, so the reviewer's error is known.
  const errs = content.includes('misread')
  const review = { reason: isWeek ? 'The tests want 42.' : 'Both are 42.', quotes, agree: isWeek === errs }
  const keystrokes = `mkdir -p /srv/work; echo ${isWeek ? 7 : 42} > ${answer}\n`
  const turn = { analysis: '', plan: '', commands: [{ keystrokes, duration: 0.1 }], task_complete: messages.length > 1 }
  says(JSON.stringify(content.includes('You review a task') ? review : turn))(response, request)
}

withSandboxes('a second opinion', () => {
  test('rejects a task whose instruction and tests disagree, and shows where', async () => {
    const server = await startJudge(['m'], model)
    const dir = await write('unfair', unfair)
    const prices = 'model_info={"input_cost_per_token":0.01,"output_cost_per_token":0.01}'
    const words = ['--second-opinion', 'm', '--opinion-api-base', server.apiBase, '--opinion-engine-kwarg', prices]
    const { code, stdout, stderr } = await ot('tasks', 'check', dir, '--repeats', '1', '--explain', ...words)
    expect({ code, stderr }).toMatchObject({ code: 3 })
    expect(stdout).toContain('opinion: the second opinion disagrees: The tests want 42.')
    expect(stdout).toContain('| instruction.md:1: days of a week')
    expect(stdout).toContain('| tests/test.sh:2: = 42 ]')
    expect(stderr).toMatch(/^judge, solver and reviewer: 4 requests, 56 tokens, 0\.5600 USD$/m)
  })

  test('decides nothing when the solver never replies as asked, and asks no reviewer', async () => {
    const server = await startJudge(['m'], says(recordedReply('terminalTurn').text))
    const dir = await write('fair', fair, 'unanswered')
    const words = ['--second-opinion', 'm', '--opinion-api-base', server.apiBase]
    const { code, stdout, stderr } = await ot('tasks', 'check', dir, '--repeats', '1', ...words)
    expect({ code, stderr }).toMatchObject({ code: 3 })
    expect(stdout).toContain('the solver’s model never gave a valid reply')
    expect(stderr).toMatch(/^judge, solver and reviewer: 10 requests/m)
  })

  test('decides in a recipe which tasks continue, and is recorded in the spend log', async () => {
    const server = await startJudge(['m'], model)
    const dirs = [await write('fair', fair), await write('unfair', unfair)]
    const rows = await Promise.all(dirs.map((dir) => taskRowOf(dir, 'opinions') as Promise<TaskRow>))
    const solver = { model: 'm', apiBase: server.apiBase }
    const stage = await makeAnyStage('filters/tasks/verified', { secondOpinion: { solver, tries: 2 } })
    const said: string[] = []
    const services = stageServices(new AbortController().signal, { notify: () => {} })
    const at = { services, workDir: await makeTempDir(), log: (line: string) => void said.push(line) }
    expect(await runStage(stage as MapStage<never, TaskRow>, rows, at)).toEqual([
      rows[0],
      { drop: 'check-opinion', id: rows[1]?.id, detail: 'the second opinion disagrees: The tests want 42.' },
    ])
    // For each task: two attempts of three turns, and one review.
    expect(said.at(-1)).toMatch(/^judge: 14 requests/)
  })

  test('gates a whole recipe: what a reviewer of known error misses passes, what it rejects is listed with its reason', async () => {
    const server = await startJudge(['m'], model)
    const marked = (text: string) => text.replace('Make', 'Here the reviewer will misread it. Make')
    await write('fair', fair, 'gate')
    await write('fair-misread', marked(fair), 'gate')
    await write('unfair', unfair, 'gate')
    await write('unfair-misread', marked(unfair), 'gate')
    const recipe = {
      name: 'gated',
      stages: [
        { id: 'tasks', use: 'sources/task-folder', with: { path: join(scratch, 'gate') } },
        {
          id: 'verified',
          use: 'filters/tasks/verified',
          with: { concurrency: 2, secondOpinion: { solver: { model: 'm', apiBase: server.apiBase } } },
        },
        { id: 'prompts', use: 'exporters/rl', with: { validation: 0, trainers: ['trl'] } },
      ],
    }
    const file = join(scratch, 'gated.json')
    await writeFile(file, JSON.stringify(recipe))
    const out = join(scratch, 'gated')
    const { code, stdout, stderr } = await ot('recipe', 'run', file, '-o', out, '--json')
    expect({ code, stderr }).toMatchObject({ code: 0 })
    const { stages } = JSON.parse(stdout) as { stages: { id: string }[] }
    const verified = { taken: 4, given: 2, drops: { 'check-opinion': 2 } }
    expect(stages.find(({ id }) => id === 'verified')).toMatchObject(verified)
    const told = await ot('recipe', 'explain', out, '--dropped', 'verified')
    expect(told.stdout).toMatch(/check-opinion/)
    expect(told.stdout).toContain('fair-misread')
    expect(told.stdout).toContain('the second opinion disagrees: The tests want 42.')
    expect(told.stdout).not.toContain('unfair-misread')
  })
})

test.each([
  [['--opinion-tries', '2'], '--opinion-tries: expected --second-opinion with it'],
  [['--second-opinion', 'nowhere'], '--second-opinion nowhere: expected a model of openai/, anthropic/ or gemini/'],
])('%j is the user’s mistake, in two lines', async (words, message) => {
  const { code, stderr } = await ot('tasks', 'check', 'examples/tasks/csv-to-json', ...words)
  expect(stderr).toContain(message)
  expect({ code, lines: stderr.trim().split('\n').length }).toEqual({ code: 2, lines: 2 })
})
