import { expect, test } from 'vitest'
import { someTrace } from '../../../test/recipe-traces.ts'
import type { MapStage } from '../../core/stage.ts'
import type { RecipeTrace } from '../shared/rollout-text/trace-row.ts'
import maskTurns from './mask-turns.ts'

const row = someTrace({
  id: 'row',
  turns: 3,
  conversations: [
    { role: 'user', content: 'do' },
    { role: 'assistant', content: 'one' },
    { role: 'user', content: 'seen' },
    { role: 'assistant', content: 'bad' },
    { role: 'user', content: 'no JSON' },
    { role: 'assistant', content: 'three' },
  ],
  reasoning: [
    { message: 1, content: 'hm' },
    { message: 5, content: 'ah' },
  ],
  turn_marks: [{ message: 3, mark: 'unparsed' }],
})

async function treat(options: object, given: RecipeTrace = row) {
  const stage = maskTurns.make(maskTurns.options.parse(options), { env: {}, stateDir: '/nonexistent' }) as MapStage<
    RecipeTrace,
    RecipeTrace
  >
  async function* rows() {
    yield given
  }
  const at = { seed: 1, signal: new AbortController().signal, workDir: '', log: () => {} }
  const all: object[] = []
  for await (const each of stage.run(rows(), at as never)) all.push(each)
  return all
}

test('a row is cut before its first marked reply', async () => {
  const [cut] = await treat({})
  expect(cut).toMatchObject({ id: 'row', turns: 1, reasoning: [{ message: 1 }], turn_marks: [], train_on: 'all' })
  expect((cut as RecipeTrace).conversations.map(({ content }) => content)).toEqual(['do', 'one'])
  expect(await treat({ marks: ['truncated'] })).toEqual([row])
  const first = { ...row, turn_marks: [{ message: 1, mark: 'truncated' }] }
  expect(await treat({}, first)).toMatchObject([{ drop: 'nothing-before-marked-turn', id: 'row' }])
})

test('a row is dropped, or its marked replies are flagged', async () => {
  expect(await treat({ how: 'drop' })).toMatchObject([{ drop: 'marked-turn', detail: 'message 4 is marked unparsed' }])
  expect(await treat({ how: 'flag' })).toMatchObject([
    { conversations: row.conversations, turn_marks: [...row.turn_marks, { message: 3, mark: 'masked' }] },
  ])
})

test('every other reply becomes the last message of a row of its own, with all that came before', async () => {
  const rows = (await treat({ how: 'expand' })) as RecipeTrace[]
  expect(rows).toMatchObject([
    { id: 'row/message-1', train_on: 'last', turns: 1 },
    { id: 'row/message-5', train_on: 'last', turns: 3 },
  ])
  expect(rows[1]?.conversations).toEqual(row.conversations)
  // Another context's replies are in that context's own row.
  const handed = { ...row, context_messages: 2, turn_marks: [{ message: 1, mark: 'context' }] }
  expect((await treat({ how: 'expand' }, handed)).map((each) => (each as RecipeTrace).id)).toEqual([
    'row/message-3',
    'row/message-5',
  ])
  const none = { ...row, turn_marks: [1, 3, 5].map((message) => ({ message, mark: 'unparsed' })) }
  expect(await treat({ how: 'expand' }, none)).toMatchObject([{ drop: 'marked-turn' }])
})
