import { expect, test } from 'vitest'
import { agentTurns } from './commands.ts'

const commandsIn = (content: string) =>
  agentTurns({
    context_messages: 0,
    conversations: [{ role: 'assistant', content }],
    tool_calls: [],
  } as unknown as Parameters<typeof agentTurns>[0]).flatMap(({ commands }) =>
    commands.map(({ text, start, end }) => ({ text, said: content.slice(start, end) })),
  )

test.each([
  ['<keystrokes duration="1">ls\n</keystrokes> and <keystrokes>pwd</keystrokes>', ['ls\n', 'pwd']],
  ['```bash\n\nls -l\n``` then ```text\nx\n``` and ```python\nprint(1)\n```', ['ls -l\n', 'print(1)\n']],
  ['<keystrokes>a<keystrokes>b</keystrokes>c</keystrokes>', ['a<keystrokes>b']],
  ['<think><keystrokes>no</keystrokes></think><keystrokes>yes</keystrokes>', ['yes']],
  ['<keystrokes>never closed', []],
])('commands of %j', (content, texts) => {
  expect(commandsIn(content).map(({ text }) => text)).toEqual(texts)
})

test('a tool call ends at the tag after its object', () => {
  const call = '<tool_call>\n{"name": "bash", "arguments": {"command": "echo </tool_call>"}}\n</tool_call>'
  expect(commandsIn(`first ${call} last`)).toEqual([{ text: 'echo </tool_call>', said: call }])
})

test('a message that opens very many commands and closes none takes no longer than others', () => {
  for (const part of ['<tool_call>{', '<keystrokes>', '<keystrokes ', '```bash\n', '<tool_call>{</tool_call>'])
    expect(commandsIn(part.repeat(30_000)).length).toBeLessThan(30_000)
})
