import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../test/contracts/stage.ts'
import { clientThat, replies } from '../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { someTrace } from '../../../test/recipe-traces.ts'
import type { ModelRequest } from '../../core/model.ts'
import type { MapStage } from '../../core/stage.ts'
import classify from '../maps/classify.ts'
import reanswer from '../maps/reanswer.ts'
import truncateTurns from '../maps/truncate-turns.ts'
import type { RecipeTrace } from '../shared/rollout-text/trace-row.ts'
import importedTraces from './imported-traces.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const messages = ['Count.', 'One.', 'And then?', 'Two.', 'And then?', 'Three.'].map((content, i) => ({
  role: i % 2 === 0 ? 'user' : 'assistant',
  content,
}))

async function rows(): Promise<string> {
  const path = join(await makeTempDir(), 'rows.jsonl')
  await writeFile(path, `${JSON.stringify({ id: 'r', messages, reward: 1 })}\nnonsense\n`)
  return path
}
const source = async (more = {}) =>
  importedTraces.make(importedTraces.options.parse({ path: await rows(), ...more }), context)

stageLaws('sources/imported-traces', { make: source, rows: [] })

test('an imported row is a trace with a name of its own, and a bad line a dropped row', async () => {
  const given = await runStage(await source({ source: 'mine', agent: 'someone', model: 'some-model' }), [])
  expect(given).toMatchObject([
    {
      id: 'mine/rows.jsonl#1/main/episode-2',
      source: 'mine',
      agent: 'someone',
      model: 'some-model',
      turns: 3,
      reward: 1,
    },
    { drop: 'unreadable-line', id: 'mine/rows.jsonl#2' },
  ])
})

const traces = async () => (await runStage(await source(), [])).filter((row) => 'conversations' in row)
const contents = (row: unknown) => (row as RecipeTrace).conversations.map(({ content }) => content)
const model = clientThat((request: ModelRequest, options) =>
  replies(`after ${request.messages.length}`)(request, options),
)
const again = (turns: string) =>
  reanswer.make(reanswer.options.parse({ turns }), context) as MapStage<never, RecipeTrace>

stageLaws('maps/reanswer', { make: async () => again('each'), rows: [someTrace()], model })

test('truncation keeps the first turns and takes the reward back', async () => {
  const cut = (most: number) => truncateTurns.make({ most }, context) as MapStage<never, RecipeTrace>
  const [row] = await runStage(cut(2), await traces())
  expect(contents(row)).toEqual(['Count.', 'One.', 'And then?', 'Two.'])
  expect(row).toMatchObject({ turns: 2, reward: null, result: null, exit: 'turns' })
  expect(await runStage(cut(3), await traces())).toEqual(await traces())
})

test('a model answers the first, the last or each turn again, and sees what came before', async () => {
  const given = await traces()
  const [first] = await runStage(again('first'), given, { model })
  expect(contents(first)).toEqual(['Count.', 'after 1'])
  expect(first).toMatchObject({ train_on: 'all', reward: null, turns: 1 })
  const [last] = await runStage(again('last'), given, { model })
  expect(contents(last)).toEqual([...messages.slice(0, 5).map(({ content }) => content), 'after 5'])
  expect(last).toMatchObject({ train_on: 'last', turns: 3 })
  const each = await runStage(again('each'), given, { model })
  expect(each.map((row) => contents(row).at(-1))).toEqual(['after 1', 'after 3', 'after 5'])
  expect(new Set(each.map((row) => (row as RecipeTrace).id)).size).toBe(3)
})

test('a judge keeps the traces it says yes to', async () => {
  const judge = (answer: string) => clientThat(replies(answer))
  const asked = { rows: 'trace', prompt: 'Solved?\n{{conversation}}', into: 'solved', keep: 'yes' }
  const stage = classify.make(classify.options.parse(asked), context) as MapStage<never, RecipeTrace>
  expect(await runStage(stage, await traces(), { model: judge('YES') })).toMatchObject([{ signals: { solved: 1 } }])
  expect(await runStage(stage, await traces(), { model: judge('NO') })).toMatchObject([{ drop: 'classified-no' }])
})
