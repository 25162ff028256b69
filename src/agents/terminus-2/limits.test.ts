import { expect, test } from 'vitest'
import { playedClient } from '../../../test/fakes/model-client.ts'
import { limitsOf, refuseTooLong } from './limits.ts'
import { makeSettings, optionsSchema } from './options.ts'

const settings = (options: Readonly<Record<string, unknown>> = {}) => makeSettings(optionsSchema.parse(options))
const model = (contextTokens?: number) => playedClient([], contextTokens === undefined ? {} : { contextTokens })

test.each([
  [4096, 1024, 512, 4096],
  [8192, 2048, 1024, 8192],
  [16_384, 4096, 2048, 10_000],
  [32_000, 8000, 4000, 10_000],
  [32_768, 8000, 4000, 10_000],
  [131_072, 8000, 4000, 10_000],
  [undefined, 8000, 4000, 10_000],
])('of %s tokens of context %s are kept free', (contextTokens, keepFreeTokens, unwindFreeTokens, observationBytes) => {
  expect(limitsOf(settings(), model(contextTokens))).toEqual({
    contextTokens: contextTokens ?? 1_000_000,
    keepFreeTokens,
    unwindFreeTokens,
    observationBytes,
  })
})

test('a requested threshold is taken as it is', () => {
  const asked = settings({ proactive_summarization_threshold: 8000, model_info: { max_input_tokens: 16_000 } })
  expect(limitsOf(asked, model(4096))).toMatchObject({ contextTokens: 16_000, keepFreeTokens: 8000 })
})

test('a prompt that leaves no room for a reply is refused, with what to do', () => {
  const prompt = 'word '.repeat(1600)
  expect(() => refuseTooLong(prompt, settings(), model(4096))).not.toThrow()
  expect(() => refuseTooLong(prompt, settings(), model(2048))).toThrow(
    /^model fake\/played: the first prompt takes \d+ tokens and a reply 512, but its context has only 2048$/,
  )
  const wantsMuch = settings({ llm_kwargs: { max_tokens: 4000 } })
  expect(() => refuseTooLong(prompt, wantsMuch, model(4096))).toThrow(/and a reply 4000/)
  // A model's input and output may have separate limits.
  const separate = settings({ llm_kwargs: { max_tokens: 4000 }, model_info: { max_input_tokens: 4096 } })
  expect(() => refuseTooLong(prompt, separate, model(4096))).not.toThrow()
})
