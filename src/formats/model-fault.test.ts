import fc from 'fast-check'
import { expect, test } from 'vitest'
import { judgeFault, readFault } from './model-fault.ts'
import { learnQuirk } from './model-quirks.ts'

test.each([
  ['{"error":{"message":"no","type":"t","code":"c","param":"p"}}', { message: 'no', labels: ['t', 'c'], param: 'p' }],
  ['{"object":"error","message":"no","code":400}', { message: 'no' }],
  ['[{"error":{"message":"no","status":"INVALID_ARGUMENT"}}]', { message: 'no', labels: ['INVALID_ARGUMENT'] }],
  ['{"error":"no"}', { message: 'no' }],
  ['{"detail":"no"}', { message: 'no' }],
  [
    '{"detail":[{"loc":["body","messages"],"msg":"missing","input":{"secret":"payload"}}]}',
    { message: 'body.messages: missing' },
  ],
  ['<html><style>x{}</style><body><h1>502</h1>Bad\n\nGateway</body></html>', { message: '502 Bad Gateway' }],
  ['', { message: 'nothing more' }],
])('%s is understood', (text, fault) => {
  expect(readFault(418, text)).toMatchObject({ status: 418, ...fault })
})

test('whatever a server says becomes one short line without keys', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), fc.integer({ min: 300, max: 599 }), (text, status) => {
      const { message } = readFault(status, text)
      expect(message.length).toBeLessThanOrEqual(300)
      expect(message).not.toMatch(/[\n\r]/)
      expect(judgeFault(readFault(status, text)).kind).toBeTypeOf('string')
    }),
  )
  expect(
    readFault(401, '{"error":{"message":"Incorrect API key provided: sk-abcdef1234567890xyz."}}').message,
  ).not.toContain('abcdef')
})

const quirks = { maxTokensField: 'max_tokens', dropped: [] } as const
const sent = {
  model: 'm',
  messages: [],
  max_tokens: 5,
  temperature: 0.7,
  session_id: 's',
  return_token_ids: true,
  logprobs: true,
}

test.each([
  [
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    { maxTokensField: 'max_completion_tokens' },
  ],
  ['Unrecognized request argument supplied: session_id', { dropped: ['session_id'] }],
  [
    'Unrecognized request arguments supplied: return_token_ids, session_id',
    { dropped: ['session_id', 'return_token_ids'] },
  ],
  ['Unrecognized request argument supplied: something else of ours', { dropped: ['session_id', 'return_token_ids'] }],
  [
    "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
    { dropped: ['temperature'] },
  ],
  // `transformers serve`, with status 422 and the text as `detail`.
  ["Unexpected fields in the request: {'session_id'}", { dropped: ['session_id'] }],
  ['body.return_token_ids: Extra inputs are not permitted', { dropped: ['return_token_ids'] }],
])('a server that says %j is asked differently', (message, change) => {
  expect(learnQuirk(readFault(400, JSON.stringify({ error: { message } })), sent, quirks)).toEqual({
    ...quirks,
    ...change,
  })
})

test.each([
  [400, 'messages.0: invalid role'],
  [400, 'max_tokens is too large: 100000. This model supports at most 16384 completion tokens.'],
  [400, 'image input is not supported'],
  [500, 'Unrecognized request argument supplied: session_id'],
])('%i %s teaches nothing', (status, message) => {
  expect(learnQuirk(readFault(status, JSON.stringify({ error: { message } })), sent, quirks)).toBeNull()
})
