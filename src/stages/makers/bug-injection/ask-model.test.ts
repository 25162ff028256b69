import { expect, test } from 'vitest'
import { realReply, recordedReply } from '../../../../test/fakes/real-replies.ts'
import { clientThat, replies } from '../../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import type { ModelClient } from '../../../core/model.ts'
import { askForIssue } from './ask-model.ts'
import type { Bench } from './bench.ts'
import type { IssueFacts } from './issue.ts'
import type { Answer, Example } from './reproduce/example.ts'

const value = (text: string): Answer => ({ kind: 'value', text, type: 'string', plain: true, listed: false })
const shorten: Example = {
  language: 'javascript',
  program: { imports: ["import { shorten } from './src/index.js'"], setup: [], expr: "shorten('abc', 3)" },
  expected: value('abc'),
  actual: value('ab…'),
}
const facts: IssueFacts = {
  ...{ name: 'tools', workdir: '/app', failToPass: [], symptoms: [], commands: ['npm test'] },
  ...{ examples: [shorten], areTestsVisible: false },
}
const write = async (model: ModelClient, more: Partial<IssueFacts> = {}) =>
  askForIssue(
    { ...facts, ...more },
    { changed: { 'src/words.js': 'x' }, bench: { files: {} } as unknown as Bench },
    {
      model,
      workDir: await makeTempDir(),
      signal: new AbortController().signal,
    },
  )
const good = "# Short text is cut\n\nI ran `shorten('abc', 3)` and expected\n`abc`, but I got `ab…`."

test('an issue shows a program with its result and the expected one', async () => {
  expect(await write(clientThat(replies(good)))).toMatchObject({ text: good, promptDigest: /^[0-9a-f]{64}$/ })
  const symptoms = ['TypeError: x is not a function']
  const seen = '# It fails\n\nI see TypeError: x is not a function.'
  expect(await write(clientThat(replies(seen)), { examples: [], symptoms })).toMatchObject({ text: seen })
})

test('an issue that a model never finished is not used', async () => {
  const model = clientThat(realReply('issueWithoutEnd'))
  expect(await write(model)).toMatchObject({ drop: 'reply-cut', detail: /it ends ".*error handling/ })
  expect(model.asked).toHaveLength(1)
})

test.each([
  ['is no report', recordedReply('issueWithoutEnd').text, /Markdown heading/],
  ['shows no program', '# Short text is cut\n\nThe text comes back shorter.', /one of the programs/],
  ['invents results', good.replace('`abc`', '`abd`'), /one of the programs/],
  ['has no end', `${good} ${'It is so. '.repeat(300)}`, /at most 200 words/],
])('an issue that %s is asked for twice, then dropped', async (_, text, detail) => {
  const model = clientThat(replies(text))
  expect(await write(model)).toMatchObject({ drop: 'bad-issue', detail: expect.stringMatching(detail) })
  expect(model.asked).toHaveLength(2)
})

test('an issue that gives the bug away is told why, and may be written again', async () => {
  const model = clientThat(replies(`${good} See src/words.js.`), replies(good))
  expect(await write(model)).toMatchObject({ text: good })
  expect(model.asked[1]?.messages.at(-1)?.content).toContain('names the file src/words.js')
  expect(await write(clientThat(replies(`${good} See src/words.js.`)))).toMatchObject({ drop: 'leaky-issue' })
})

test('a spent budget is no fault of the bug', async () => {
  const spent = clientThat(() => ({ kind: 'budget-exceeded', budget: '1 USD' }))
  await expect(write(spent)).rejects.toMatchObject({ boundary: 'model', message: /1 USD is spent/ })
})
