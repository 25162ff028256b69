import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { asJson, asList, asNumber, asText, asYesNo, type ReplyForm } from '../../stages/shared/asking/forms.ts'
import { rehearsalModel } from './rehearsal-model.ts'

async function replyTo(form: ReplyForm<unknown>, prompt = 'Why?'): Promise<string> {
  const content = form.rules === null ? prompt : `${prompt}\n\n${form.rules}`
  const request = {
    messages: [{ role: 'user', content } as const],
    ...(form.jsonSchema && { jsonSchema: form.jsonSchema }),
  }
  const outcome = await rehearsalModel('any').complete(request)
  return outcome.kind === 'reply' ? outcome.reply.text : ''
}

const person = z.strictObject({
  name: z.string().min(30),
  age: z.int().min(3).max(9),
  kind: z.enum(['a', 'b']),
  tags: z.array(z.string().min(1)).min(2),
  note: z.string().nullable(),
  more: z.strictObject({ isNew: z.boolean() }).optional(),
})

test.each([
  ['text', asText],
  ['yes or no', asYesNo],
  ['a list', asList(3)],
  ['a number', asNumber(2, 5)],
  ['a document', asJson(person)],
])('a reply has the form of %s', async (_, form) => {
  expect(() => (form as ReplyForm<unknown>).read).not.toThrow()
  expect((form as ReplyForm<unknown>).read(await replyTo(form as ReplyForm<unknown>))).toBeDefined()
})

test('a text keeps every word of the question, so that what must stay in it does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ minLength: 1 }), async (prompt) => {
      expect(await replyTo(asText, prompt)).toContain(prompt)
    }),
  )
})
