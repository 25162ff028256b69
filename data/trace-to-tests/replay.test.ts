import { expect, test } from 'vitest'
import { replayScript, taskIn } from './replay.ts'

const reply = (...keystrokes: string[]) => ({
  role: 'assistant',
  content: JSON.stringify({
    analysis: '',
    plan: '',
    commands: keystrokes.map((keys) => ({ keystrokes: keys, duration: 1 })),
  }),
})
const scriptOf = (...turns: unknown[]) => {
  const made = replayScript(turns)
  return 'script' in made ? made.script.split('\n').slice(2, -2).join('\n') : made.problem
}

test('only a completed line is used', () => {
  expect(
    scriptOf(reply('ls', '\n', 'echo a'), reply(' > b\n', 'rm -rf x', 'C-c', 'q', 'echo c', 'Enter', 'echo d')),
  ).toBe('ls\necho a > b\necho c')
})

test('thinking before a reply is not part of it', () => {
  const { content } = reply('echo a\n')
  expect(scriptOf({ from: 'gpt', value: `<think>{ maybe }</think>\n${content}` })).toBe('echo a')
})

test.each(['vim a.txt\n', 'python3\n', 'sudo nano /etc/x\n', 'less log\n'])(
  '%j cannot be done again by a script',
  (keys) => {
    expect(scriptOf(reply('ls\n', keys, 'iabc\n'))).toContain('takes keys')
  },
)

test('python with a program is not interactive', () => {
  expect(scriptOf(reply("python3 - <<'E'\nprint(1)\nE\n", 'python3 a.py\n'))).toContain('python3 a.py')
})

test('the task is found in the first turn, too', () => {
  const content =
    'You are an agent.\n\nTask Description:\nCount.\n\nTwice.\n\nCurrent terminal state:\nNew Terminal Output:\n$'
  expect(taskIn([{ role: 'user', content }])).toBe('Count.\n\nTwice.')
  expect(taskIn([{ role: 'user', content: 'Hello' }])).toBeNull()
})

test('a script starts where the terminal was', () => {
  const first = { role: 'user', content: 'Current terminal state:\nroot@box:/srv/data# \n' }
  expect(replayScript([first, reply('ls\n')])).toEqual({ script: '#!/bin/bash\ncd /srv/data\nls\nexit 0\n' })
})
