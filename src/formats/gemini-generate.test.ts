import fc from 'fast-check'
import { expect, test } from 'vitest'
import { geminiGenerate as dialect } from './gemini-generate.ts'

const how = { stream: false, quirks: { maxTokensField: 'max_tokens', dropped: [] }, defaultOutputTokens: 4096 } as const
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

function streamed(documents: readonly unknown[]) {
  const stream = dialect.makeStream({ messages: [] }, () => {})
  for (const document of documents) if (stream.push(JSON.stringify(document))) break
  return stream.end()
}

test('the model is part of the path, and a key never is', () => {
  expect(dialect.path('gemini-x', false)).toBe('/v1beta/models/gemini-x:generateContent')
  expect(dialect.path('a/b', true)).toBe('/v1beta/models/a%2Fb:streamGenerateContent?alt=sse')
  expect(dialect.headers('k')).toEqual({ 'x-goog-api-key': 'k' })
})

test('a conversation with tools is rendered', () => {
  const body = dialect.render(
    'm',
    {
      messages: [
        { role: 'system', content: 'be good' },
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: '',
          toolCalls: [{ id: 'c', name: 'run', arguments: '{"x":1}', signature: 'sig' }],
        },
        { role: 'tool', content: 'done', toolCallId: 'c' },
      ],
      temperature: 0.1,
      topP: 0.9,
      maxOutputTokens: 9,
      stop: ['END'],
      reasoningEffort: 'low',
      tools: [{ name: 'run', description: 'runs', parameters: { type: 'object' } }],
      toolChoice: 'required',
      jsonSchema: { name: 'answer', schema: { type: 'object' } },
    },
    how,
  )
  expect(plain(body)).toEqual({
    systemInstruction: { parts: [{ text: 'be good' }] },
    contents: [
      { role: 'user', parts: [{ text: 'go' }] },
      { role: 'model', parts: [{ functionCall: { id: 'c', name: 'run', args: { x: 1 } }, thoughtSignature: 'sig' }] },
      { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'run', response: { result: 'done' } } }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'run', description: 'runs', parametersJsonSchema: { type: 'object' } }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY' } },
    generationConfig: {
      temperature: 0.1,
      topP: 0.9,
      maxOutputTokens: 9,
      stopSequences: ['END'],
      thinkingConfig: { thinkingLevel: 'low', includeThoughts: true },
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object' },
    },
  })
})

test('a reply is read, whole and streamed', () => {
  const usageMetadata = {
    promptTokenCount: 10,
    cachedContentTokenCount: 4,
    candidatesTokenCount: 3,
    thoughtsTokenCount: 2,
  }
  const call = { functionCall: { name: 'run', args: { x: 1 } }, thoughtSignature: 'sig' }
  const parts = [{ text: 'hm', thought: true }, { text: 'hello' }, call]
  const whole = dialect.parse(
    { candidates: [{ content: { parts }, finishReason: 'STOP' }], usageMetadata },
    { messages: [] },
  )
  expect(whole).toEqual({
    kind: 'reply',
    reply: {
      text: 'hello',
      reasoning: 'hm',
      toolCalls: [{ id: 'call_0', name: 'run', arguments: '{"x":1}', signature: 'sig' }],
      finish: 'tool-calls',
      usage: { inputTokens: 10, cacheTokens: 4, outputTokens: 5 },
      tokens: null,
    },
  })
  const pieces = parts.map((part, i) => ({
    candidates: [{ content: { parts: [part] }, ...(i === 2 && { finishReason: 'STOP' }) }],
    usageMetadata,
  }))
  expect(streamed(pieces)).toEqual(whole)
  expect(streamed(pieces.slice(0, 2))).toEqual({ kind: 'cut' })
})

test.each([
  [{ candidates: [{ finishReason: 'MAX_TOKENS' }] }, 'length'],
  [{ candidates: [{ finishReason: 'SAFETY' }] }, 'content-filter'],
  [{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }, 'content-filter'],
])('%j ends as %s', (document, finish) => {
  expect(dialect.parse(document, { messages: [] })).toMatchObject({ reply: { finish } })
})

test('any JSON at all is a reply, a fault, malformed or cut, and never a crash', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (document) => {
      expect(['reply', 'fault', 'malformed']).toContain(dialect.parse(document, { messages: [] }).kind)
      expect(['fault', 'malformed', 'cut', 'reply']).toContain(streamed([document]).kind)
    }),
  )
})

test('one model or a list of them is read', () => {
  const model = { name: 'models/a', inputTokenLimit: 5, outputTokenLimit: 6 }
  const expected = [{ id: 'a', contextTokens: 5, outputTokens: 6 }]
  expect(dialect.parseModels({ models: [model] })).toEqual(expected)
  expect(dialect.parseModels(model)).toEqual(expected)
})
