import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { clientThat, replies } from '../../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import type { ModelClient } from '../../../core/model.ts'
import { isDropped } from '../../../core/stage.ts'
import { MissingField } from '../../../lib/template.ts'
import { ask, lineageOf } from './ask.ts'
import { askEach } from './ask-each.ts'
import { asJson, asList, asNumber, asYesNo, commonest } from './forms.ts'

const place = async (model: ModelClient | null) => ({
  model,
  workDir: await makeTempDir(),
  signal: new AbortController().signal,
})

describe('ask', () => {
  test('gives the reply, what was asked by its digest, the model and the cost', async () => {
    const answer = await ask({ prompt: 'Say hello' }, await place(clientThat(replies(' hello \n'))))
    expect(answer).toMatchObject({ value: 'hello', agreement: 1, model: 'fake/model', costUsd: 0.25 })
    if (!isDropped(answer))
      expect(lineageOf(answer)).toEqual({ promptDigest: answer.promptDigest, model: 'fake/model' })
  })

  test('the same question of a later run is not asked again; another prompt, model or repeat is', async () => {
    const model = clientThat(replies('a'), replies('b'), replies('c'))
    const at = await place(model)
    expect(await ask({ prompt: 'x' }, at)).toMatchObject({ value: 'a' })
    expect(await ask({ prompt: 'x' }, at)).toMatchObject({ value: 'a' })
    expect(model.asked).toHaveLength(1)
    expect(await ask({ prompt: 'y' }, at)).toMatchObject({ value: 'b' })
    expect(await ask({ prompt: 'x', repeats: 2 }, at)).toMatchObject({ values: ['a', 'c'] })
    const other = { ...clientThat(replies('d')), model: 'fake/other' }
    expect(await ask({ prompt: 'x' }, { ...at, model: other })).toMatchObject({ value: 'd', model: 'fake/other' })
  })

  test('equal questions at the same time are asked once', async () => {
    const model = clientThat(async (request, options) => {
      await new Promise((done) => setTimeout(done, 5))
      return replies('one')(request, options)
    })
    const at = await place(model)
    const answers = await Promise.all([1, 2, 3].map(() => ask({ prompt: 'same' }, at)))
    expect(answers.map((answer) => !isDropped(answer) && answer.value)).toEqual(['one', 'one', 'one'])
    expect(model.asked).toHaveLength(1)
  })

  test('a reply on disk that is broken is asked for again', async () => {
    const model = clientThat(replies('first'), replies('second'))
    const at = await place(model)
    await ask({ prompt: 'x' }, at)
    const [folder = ''] = readdirSync(join(at.workDir, 'replies'))
    const [file = ''] = readdirSync(join(at.workDir, 'replies', folder))
    writeFileSync(join(at.workDir, 'replies', folder, file), '{"schema":"reply/1","te')
    expect(await ask({ prompt: 'x' }, at)).toMatchObject({ value: 'second' })
  })

  test('a reply of the wrong form is asked for again with what was wrong, and dropped when that does not help', async () => {
    const form = asJson(z.strictObject({ n: z.number() }))
    const model = clientThat(replies('seven'), replies('{"n": "7"}'), replies('Here:\n```json\n{"n": 7}\n```'))
    expect(await ask({ prompt: 'How many?', form }, await place(model))).toMatchObject({
      value: { n: 7 },
      costUsd: 0.75,
    })
    expect(model.asked[2]?.messages.at(-1)?.content).toMatch(/cannot be used.*\/n/)
    expect(model.asked[0]?.jsonSchema?.schema).toMatchObject({ required: ['n'], additionalProperties: false })
    const stubborn = clientThat(replies('never'))
    expect(await ask({ prompt: 'How many?', form, tries: 2, id: 'r' }, await place(stubborn))).toMatchObject({
      drop: 'bad-reply',
      id: 'r',
    })
    expect(stubborn.asked).toHaveLength(2)
  })

  test.each([
    ['reply-cut', replies('half of', { finish: 'length' })],
    ['reply-filtered', replies('', { finish: 'content-filter' })],
    ['context-exceeded', () => ({ kind: 'context-exceeded', message: 'too long' }) as const],
  ])('%s is the reason a row is dropped', async (drop, answer) => {
    expect(await ask({ prompt: 'x' }, await place(clientThat(answer)))).toMatchObject({ drop })
  })

  test('a reply that was cut off is not used, and the reason names the limit', async () => {
    const cut = () => clientThat(replies('7 7 7', { finish: 'length' }))
    const limited = cut()
    expect(await ask({ prompt: 'x', maxOutputTokens: 3 }, await place(limited))).toEqual({
      drop: 'reply-cut',
      detail: 'the reply was cut off after 5 characters, at maxOutputTokens, 3; it ends "7 7 7"',
    })
    expect(limited.asked[0]?.maxOutputTokens).toBe(3)
    const open = cut()
    expect(await ask({ prompt: 'x' }, await place(open))).toMatchObject({ detail: /limit of request_params or of the/ })
    expect(open.asked[0]).not.toHaveProperty('maxOutputTokens')
  })

  test('a spent budget is no fault of the row, and nothing is kept of it', async () => {
    const model = clientThat(() => ({ kind: 'budget-exceeded', budget: '1 USD' }), replies('paid'))
    const at = await place(model)
    await expect(ask({ prompt: 'x' }, at)).rejects.toMatchObject({ boundary: 'model', message: /1 USD is spent/ })
    expect(await ask({ prompt: 'x' }, at)).toMatchObject({ value: 'paid' })
  })

  test('without a model it is the user’s mistake', async () => {
    await expect(ask({ prompt: 'x' }, await place(null))).rejects.toMatchObject({ name: 'UserError' })
  })

  test('repeats settle on what most say, and too little agreement drops the answer', async () => {
    const votes = () => clientThat(replies('YES'), replies('NO'), replies('I think so.\n**Yes**'))
    expect(await ask({ prompt: 'Is it?', form: asYesNo, repeats: 3 }, await place(votes()))).toMatchObject({
      value: true,
      agreement: 2 / 3,
    })
    const strict = { prompt: 'Is it?', form: asYesNo, repeats: 3, minAgreement: 0.9 }
    expect(await ask(strict, await place(votes()))).toMatchObject({ drop: 'no-agreement', detail: /67 %/ })
  })
})

describe('forms', () => {
  test.each([
    ['Yes.', true],
    ['no', false],
    ['No, wait.\nYES', true],
    ['The answer depends\n\n- NO', false],
  ])('%j is %j', (text, expected) => {
    expect(asYesNo.read(text)).toBe(expected)
  })

  test('neither yes nor no, an empty list and a score out of bounds are bad replies', () => {
    expect(() => asYesNo.read('Perhaps')).toThrow(/YES or NO/)
    expect(() => asList(2).read('{"items": []}')).toThrow(/JSON of the schema/)
    expect(() => asList(2).read('{"items": ["a", "b", "c"]}')).toThrow(/items/)
    expect(() => asNumber(1, 10).read('{"reason": "", "score": 11}')).toThrow(/score/)
  })

  test('of several scores the middle one counts', () => {
    expect(asNumber(1, 100).settle?.([85, 10, 80])).toEqual({ value: 80, agreement: 2 / 3 })
    expect(asNumber(1, 100).settle?.([40, 60])).toEqual({ value: 50, agreement: 0 })
    expect(commonest([{ a: 1, b: 2 }, 'x', { b: 2, a: 1 }])).toEqual({ value: { a: 1, b: 2 }, agreement: 2 / 3 })
  })
})

describe('askEach', () => {
  const rows = ['a', 'b', 'c', 'd'].map((id) => ({ id }))
  const gather = async <T>(stream: AsyncIterable<T>) => {
    const all: T[] = []
    for await (const each of stream) all.push(each)
    return all
  }

  test('asks about several rows at once, gives them in order, and drops a row with its reason', async () => {
    let sawOther = () => {}
    const other = new Promise<void>((done) => {
      sawOther = done
    })
    const model = clientThat(async (request, options) => {
      const about = request.messages[0]?.content ?? ''
      // The first is answered only after the second has been asked.
      if (about === 'a') await other
      else sawOther()
      return replies(about === 'b' ? '' : about.toUpperCase())(request, options)
    })
    const prompt = ({ id }: { id: string }) => {
      if (id === 'c') throw new MissingField('text')
      return id
    }
    const lines: string[] = []
    const at = { ...(await place(model)), log: (line: string) => lines.push(line) }
    const asked = await gather(askEach(rows, { prompt, concurrency: 3, tries: 1 }, at))
    expect(asked.map((each) => (isDropped(each) ? `${each.drop} ${each.id}` : each.answer.value))).toEqual([
      'A',
      'bad-reply b',
      'missing-field c',
      'D',
    ])
    expect(lines).toEqual([expect.stringMatching(/3 calls, 39 tokens, 0\.7500 USD/)])
  })

  test('stops at its own budget, and goes on from there with a larger one', async () => {
    const model = clientThat(replies('ok'))
    const at = await place(model)
    const prompt = ({ id }: { id: string }) => id
    await expect(gather(askEach(rows, { prompt, maxCalls: 2, concurrency: 1 }, at))).rejects.toThrow(
      /2 calls is used up/,
    )
    await expect(gather(askEach(rows, { prompt, maxCostUsd: 0.5, concurrency: 1 }, at))).rejects.toThrow(/0.5 USD/)
    expect(model.asked).toHaveLength(2)
    expect(await gather(askEach(rows, { prompt, maxCalls: 4 }, at))).toHaveLength(4)
    expect(model.asked).toHaveLength(4)
  })
})
