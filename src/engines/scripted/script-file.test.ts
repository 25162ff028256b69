import { expect, test } from 'vitest'
import { parseScript } from './script-file.ts'

test('a list applies to every conversation', () => {
  const script = parseScript(
    `
- just words
- { analysis: a, commands: ["ls\\n", { keystrokes: C-c, duration: 0.5 }] }
- { tool_calls: [{ name: bash, arguments: { command: ls } }] }
- { fault: rate-limit }
- { reply: cut, finish: length, reasoning: hm }
- { task_complete: true }
`,
    's.yaml',
  )
  expect(script).toMatchObject({
    order: 'conversation',
    tasks: [],
    turns: [
      { kind: 'say', text: 'just words', finish: 'stop' },
      {
        kind: 'work',
        analysis: 'a',
        commands: [
          { keystrokes: 'ls\n', durationSec: 1 },
          { keystrokes: 'C-c', durationSec: 0.5 },
        ],
      },
      { kind: 'call', calls: [{ name: 'bash', arguments: { command: 'ls' } }] },
      { kind: 'fault', fault: { kind: 'rate-limit', retry_after_sec: 0.05 } },
      { kind: 'say', text: 'cut', finish: 'length', reasoning: 'hm' },
      { kind: 'work', complete: true },
    ],
  })
})

test('tasks have lists of their own', () => {
  const text = JSON.stringify({ order: 'conversation', tasks: [{ match: 'sort', turns: ['a'] }] })
  expect(parseScript(text, 's.json')).toMatchObject({ turns: null, tasks: [{ match: 'sort', turns: [{ text: 'a' }] }] })
})

test.each([
  ['{}', /expected turns or tasks/],
  ['{"turn": []}', /turn is not a known key/],
  ['{"order": "requests", "tasks": [{"match": "a", "turns": []}]}', /expected turns for the order requests/],
  ['[{"fault": "no-such"}]', /s\.json: turns\[0\]/],
  ['[{"commands": [3]}]', /s\.json: turns\[0\]/],
  ['nonsense', /expected JSON/],
])('%s is refused by the place of the mistake', (text, message) => {
  expect(() => parseScript(text, 's.json')).toThrow(message)
})
