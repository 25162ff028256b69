import { expect, test } from 'vitest'
import { programsIn, shellCalls } from './shell-calls.ts'
import type { TraceStep } from './trajectory.ts'

const step = (over: Partial<TraceStep>): TraceStep => ({ source: 'agent', ...over })
const call = (function_name: string, args: Readonly<Record<string, unknown>>) => ({
  function_name,
  arguments: { ...args },
})

test('scripts of terminals, of shells and of argument lists are found, and other tools have none', () => {
  const calls = [
    call('bash_command', { keystrokes: 'ls\n', duration: 1 }),
    call('Bash', { command: 'make', description: 'x' }),
    call('shell', { command: ['bash', '-lc', 'cd a && ls'] }),
    call('shell', { command: ['git', 'status'] }),
    call('Read', { file_path: '/a' }),
    call('toString', {}),
  ]
  expect(shellCalls(step({ tool_calls: calls }))).toEqual([
    { tool: 'bash_command', script: 'ls\n' },
    { tool: 'Bash', script: 'make' },
    { tool: 'shell', script: 'cd a && ls' },
    { tool: 'shell', script: 'git status' },
    { tool: 'Read', script: null },
    { tool: 'toString', script: null },
  ])
})

test('commands in blocks of a message count where there are no tools', () => {
  const message = 'I look.\n```bash\nls\npwd\n```\n```python\nprint()\n```\n'
  expect(shellCalls(step({ message }))).toEqual([{ tool: 'block in the message', script: 'ls\npwd\n' }])
})

test('keys are not programs', () => {
  expect(['C-c', 'q', '', 'y\n', 'ls\n', ':wq\n', 'Enter'].map(programsIn)).toEqual([
    ['key C-c'],
    ['key'],
    [],
    ['y'],
    ['ls'],
    [],
    ['key Enter'],
  ])
})
