import { expect, test } from 'vitest'
import { PhraseTally } from './phrases.ts'

const say = (role: string, content: string) => ({ role, content })

test('times, messages and traces are counted by role', () => {
  const tally = new PhraseTally(['aa', '<think>'])
  tally.add([say('user', 'aaa aa'), say('assistant', '<think>aa</think>'), say('user', 'aa')])
  tally.add([say('user', 'aa')])
  tally.add([say('user', 'AA <Think>')])
  expect(tally.read()).toEqual([
    {
      phrase: 'aa',
      traces: 2,
      roles: [
        { role: 'assistant', times: 1, messages: 1, traces: 1 },
        { role: 'user', times: 4, messages: 3, traces: 2 },
      ],
    },
    { phrase: '<think>', traces: 1, roles: [{ role: 'assistant', times: 1, messages: 1, traces: 1 }] },
  ])
})
