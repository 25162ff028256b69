import { expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../test/contracts/stage.ts'
import { clientThat, replies } from '../../../test/fakes/told-client.ts'
import type { ModelRequest } from '../../core/model.ts'
import type { RawRow, TaskRow } from '../../core/row.ts'
import chat from './chat.ts'
import classify from './classify.ts'
import explode from './explode.ts'
import score from './score.ts'
import structured from './structured.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const row = (id: string, text: string): RawRow => ({ id, source: 'test', fields: { text } })
const rows = [row('1', 'ls -l'), row('2', 'a poem'), { id: '3', source: 'test', fields: {} }]
const task = { id: 't', name: 'n', source: 's', instruction: 'List files', signals: { old: 1 } } as unknown as TaskRow

/** Answers depend only on the question, so that the order of questions does not matter. */
const told = (answer: (text: string) => string) =>
  clientThat((request: ModelRequest, options) => replies(answer(request.messages[0]?.content ?? ''))(request, options))

const options = { prompt: 'About: {{text}}', into: 'said' }
const make = <T>(
  plugin: { options: { parse(given: object): T }; make(options: T, at: typeof context): unknown },
  more = {},
) => plugin.make(plugin.options.parse({ ...options, ...more }), context) as never

stageLaws('maps/chat', { make: async () => make(chat), rows, model: told((text) => `heard ${text}`) })
stageLaws('maps/explode', { make: async () => make(explode), rows, model: told(() => '{"items":["x","y"]}') })

test('the reply of a chat becomes a field, and a row without the prompt’s field is dropped', async () => {
  expect(await runStage(make(chat), rows, { model: told((text) => text.toUpperCase()) })).toEqual([
    { ...rows[0], fields: { text: 'ls -l', said: 'ABOUT: LS -L' } },
    { ...rows[1], fields: { text: 'a poem', said: 'ABOUT: A POEM' } },
    { drop: 'missing-field', detail: expect.stringContaining('text'), id: '3' },
  ])
})

test('a classifier keeps one answer’s rows and says why the others went', async () => {
  const model = told((text) => (text.includes('ls') ? 'YES' : 'NO'))
  expect(await runStage(make(classify, { keep: 'yes' }), rows.slice(0, 2), { model })).toEqual([
    { ...rows[0], fields: { text: 'ls -l', said: true } },
    { drop: 'classified-no', id: '2' },
  ])
  const given = { prompt: '{{instruction}}, {{old}}?', rows: 'task', into: 'clear' }
  expect(await runStage(make(classify, given), [task], { model: told(() => 'YES') })).toEqual([
    { ...task, signals: { old: 1, clear: 1 } },
  ])
})

test('a ready rubric stands before what is scored, and fits one scale only', async () => {
  const model = told((text) =>
    JSON.stringify({ reason: 'so', score: /Agent interaction[\s\S]*\n\nAbout: ls -l/.test(text) ? 80 : 1 }),
  )
  const [scored] = await runStage(make(score, { rubric: 'ask-llm' }), rows.slice(0, 1), { model })
  expect(scored).toMatchObject({ fields: { said: 80 } })
  expect(score.options.safeParse({ ...options, rubric: 'ask-llm', max: 10 }).success).toBe(false)
})

test('a score drops what is too low; of three replies the middle one counts', async () => {
  const replied = [70, 20, 90, 10, 30, 95].map((n) => replies(JSON.stringify({ reason: 'so', score: n })))
  const given = { repeats: 3, atLeast: 50, concurrency: 1 }
  expect(await runStage(make(score, given), rows.slice(0, 2), { model: clientThat(...replied) })).toEqual([
    { ...rows[0], fields: { text: 'ls -l', said: 70 } },
    { drop: 'score-too-low', detail: '30, expected at least 50', id: '2' },
  ])
  const onTasks = { rows: 'task', prompt: '{{instruction}}' }
  expect(await runStage(make(score, onTasks), [task], { model: clientThat(...replied) })).toMatchObject([
    { signals: { old: 1, said: 70 } },
  ])
})

test('a list explodes into rows of their own', async () => {
  const model = told(() => '{"items":["x","y"]}')
  expect(await runStage(make(explode), rows.slice(0, 1), { model })).toEqual([
    { id: '1-1', source: 'test', fields: { text: 'ls -l', said: 'x' } },
    { id: '1-2', source: 'test', fields: { text: 'ls -l', said: 'y' } },
  ])
})

test('named values come as one field, and a reply without one of them is asked for again', async () => {
  const shape = { topic: 'text', hard: 'flag', tools: 'texts' }
  const whole = { topic: 'files', hard: false, tools: ['ls'] }
  const model = clientThat(replies('{"topic": "files"}'), replies(JSON.stringify(whole)))
  expect(await runStage(make(structured, { shape }), rows.slice(0, 1), { model })).toMatchObject([
    { fields: { said: whole } },
  ])
  expect(model.asked).toHaveLength(2)
})

test('how many are asked at once, and what it may cost, does not change what a map is', () => {
  const one = make(chat, { concurrency: 1, maxCostUsd: 1 }) as { identity: unknown }
  const other = make(chat, { concurrency: 64 }) as { identity: unknown }
  expect(one.identity).toEqual(other.identity)
  expect((make(chat, { system: 'Be brief' }) as { identity: unknown }).identity).not.toEqual(one.identity)
})

test('a map without a model is the user’s mistake', async () => {
  await expect(runStage(make(chat), rows)).rejects.toMatchObject({ name: 'UserError' })
})
