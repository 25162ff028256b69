import { describe, expect, test } from 'vitest'
import type { ChatMessage, ModelRequest, ToolDefinition } from '../../core/model.ts'
import { mannerOf, shellArguments } from './manner.ts'
import { nextTurn } from './next-turn.ts'
import { progressMark } from './progress.ts'
import { renderTurn } from './render-turn.ts'
import { type Turn, work } from './turn.ts'

const json = 'Answer with {"analysis": "", "plan": "", "commands": [{"keystrokes": "ls\\n"}]}.\nTask: sort it.'
const xml =
  'Answer with <response><commands><keystrokes duration="1">ls</keystrokes></commands></response>.\nTask: sort it.'

const turns: readonly Turn[] = [
  work({ plan: 'look', commands: [{ keystrokes: 'ls\n', durationSec: 1 }] }),
  work({ plan: 'sort', commands: [{ keystrokes: 'sort a > b\n', durationSec: 1 }], until: /sorted/ }),
]

/** Plays on, answering each reply with the result of `hears`, until the script says that it is complete. */
function play(first: string, tools: readonly ToolDefinition[], hears: (said: string, n: number) => string): string[] {
  const messages: ChatMessage[] = [{ role: 'user', content: first }]
  const said: string[] = []
  while (said.length < 10) {
    const request: ModelRequest = { messages, ...(tools.length > 0 && { tools }) }
    const next = nextTurn(request, turns, 0)
    const { text, toolCalls } = renderTurn(next.turn, next.manner)
    said.push(toolCalls[0]?.arguments ?? text)
    if (next.turn.kind === 'work' && next.turn.complete) return said
    const calls = toolCalls.map((call, i) => ({ ...call, id: `c${said.length}${i}` }))
    messages.push({ role: 'assistant', content: text, ...(calls.length > 0 && { toolCalls: calls }) })
    messages.push({ role: calls.length > 0 ? 'tool' : 'user', content: hears(said.at(-1) ?? '', said.length) })
  }
  return said
}

describe('a play', () => {
  test.each([json, xml])('goes through its turns in the requested manner, and completes', (first) => {
    const said = play(first, [], () => 'New Terminal Output:\nsorted')
    expect(said).toHaveLength(3)
    expect(said[0]).toContain('ls')
    expect(said[1]).toContain('sort a > b')
    expect(said[2]).toMatch(/"task_complete": true|<task_complete>true/)
  })

  test('tells an agent that takes blocks of bash, and ends with the mark its rules name', () => {
    const rules: ChatMessage = { role: 'system', content: 'One block of bash. When all is done, write ALL_DONE.' }
    const messages: ChatMessage[] = [rules, { role: 'user', content: 'Sort it by SORT_KEY.' }]
    const said = Array.from({ length: 3 }, () => {
      const { turn, manner } = nextTurn({ messages }, turns, 0)
      const { text } = renderTurn(turn, manner)
      messages.push({ role: 'assistant', content: text }, { role: 'user', content: 'exit code 0' })
      return text
    })
    expect(said[0]).toBe('look\n```bash\nls\n```')
    expect(said.map((text) => /ALL_DONE|SORT_KEY/.exec(text)?.[0])).toEqual([undefined, undefined, 'ALL_DONE'])
  })

  test('says the same word of completion as often as it is asked', () => {
    const messages: ChatMessage[] = [{ role: 'user', content: json }]
    for (const turn of turns) {
      messages.push({ role: 'assistant', content: renderTurn(turn as never, { kind: 'json' }).text })
      messages.push({ role: 'user', content: 'New Terminal Output:\nsorted' })
    }
    const first = nextTurn({ messages }, turns, 0)
    const text = renderTurn(first.turn, first.manner).text
    messages.push({ role: 'assistant', content: text }, { role: 'user', content: 'Are you sure?' })
    const second = nextTurn({ messages }, turns, 0)
    expect(renderTurn(second.turn, second.manner).text).toBe(text)
  })

  test('waits for a command that the terminal does not show the end of', () => {
    const said = play(json, [], (_, n) => (n === 3 ? 'sorted' : 'New Terminal Output:\n'))
    expect(said.map((text) => JSON.parse(text).commands.map((c: { keystrokes: string }) => c.keystrokes))).toEqual([
      ['ls\n'],
      ['sort a > b\n'],
      [''],
      [],
    ])
  })

  test('repeats a turn whose reply was spoilt on the way', () => {
    const messages: ChatMessage[] = [
      { role: 'user', content: json },
      { role: 'assistant', content: '{"analysis": ""' },
      { role: 'user', content: 'Previous response had parsing errors' },
    ]
    expect(nextTurn({ messages }, turns, 0)).toMatchObject({ turn: turns[0], number: 1, wasted: 1 })
  })

  test('goes on from a summary that says how far it had come, without waiting for what only the summary tells of', () => {
    const messages: ChatMessage[] = [
      { role: 'user', content: json },
      { role: 'user', content: `You are going to take over. The account: all is well. ${progressMark(2, 2)}` },
      { role: 'assistant', content: 'Which file?' },
      {
        role: 'user',
        content: 'Here are the answers the other agent provided.\n\nb\n\nContinue working on this task.',
      },
    ]
    expect(nextTurn({ messages }, turns, 0)).toMatchObject({ turn: { complete: true } })
  })

  test.each([
    'The conversation has become too long and another agent will go on with the task. Write a full account.',
    'You are about to hand off your work to another AI agent. Please provide a comprehensive summary.',
    'The agent that takes over has these questions for you:\n\n1. Which file?',
    'The next agent has a few questions for you, please answer each of them.',
  ])('answers in prose, with its place in it: %s', (question) => {
    const messages: ChatMessage[] = [
      { role: 'user', content: json },
      { role: 'assistant', content: renderTurn(turns[0] as never, { kind: 'json' }).text },
      { role: 'user', content: question },
    ]
    const { turn } = nextTurn({ messages }, turns, 0)
    expect(turn).toMatchObject({ kind: 'say', text: expect.stringContaining(progressMark(1, 2)) })
  })

  test('gives up on an unknown task', () => {
    const { turn } = nextTurn({ messages: [{ role: 'user', content: json }] }, null, 0)
    expect(turn).toMatchObject({ kind: 'work', complete: true, analysis: expect.stringContaining('stand-in') })
  })
})

describe('tools', () => {
  const tool = (name: string, properties: object, required: string[]): ToolDefinition => ({
    name,
    description: '',
    parameters: { type: 'object', properties, required },
  })
  const text = { type: 'string' }

  test.each([
    [tool('Bash', { command: text, timeout: { type: 'number' } }, ['command']), { command: 'ls', timeout: 600_000 }],
    [
      tool('exec_command', { cmd: text, yield_time_ms: { type: 'number' } }, ['cmd']),
      { cmd: 'ls', yield_time_ms: 30_000 },
    ],
    [
      tool('bash', { command: text, description: text }, ['command', 'description']),
      { command: 'ls', description: 'runs the next step' },
    ],
    [
      tool('run_shell_command', { command: text, is_background: { type: 'boolean' } }, ['command', 'is_background']),
      { command: 'ls', is_background: false },
    ],
    [tool('shell', { command: { type: 'array', items: text } }, ['command']), { command: ['bash', '-lc', 'ls'] }],
  ])('are called by whatever names their schema has: $name', (shell, expected) => {
    const request = { messages: [], tools: [tool('read', { path: text }, ['path']), shell] }
    expect(mannerOf(request)).toEqual({ kind: 'tools', tool: shell })
    expect(shellArguments(shell, 'ls')).toEqual(expected)
  })

  test('play the turns one call at a time, and a plain message ends', () => {
    const shell = tool('bash', { command: text }, ['command'])
    const said = play('Please sort it.', [shell], () => '(no output)')
    expect(said.slice(0, 2).map((call) => JSON.parse(call))).toEqual([{ command: 'ls' }, { command: 'sort a > b' }])
    expect(said[2]).toMatch(/^All steps are done/)
  })
})
