import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeTask } from '../../../test/fakes/tasks.ts'
import { loadTaskIndex, makeTaskIndex } from './task-index.ts'

const task = (name: string, instruction: string) => ({ name, taskDir: `/${name}`, dir: `/${name}`, instruction })

test('finds the task whose instruction stands in a prompt, the longest of several', () => {
  const index = makeTaskIndex([
    task('a', '# Sort\n\nSort it.'),
    task('b', '# Sort\n\nSort it.\n\nTwice.'),
    task('c', '# Other'),
  ])
  const prompt = (instruction: string) => `You are an agent.\n\nTask Description:\n${instruction}\n\nCurrent state:\n$ `
  expect(index.find(prompt('# Sort\n\nSort it.'))?.name).toBe('a')
  expect(index.find(prompt('# Sort\n\nSort it.\n\nTwice.'))?.name).toBe('b')
  expect(index.find(prompt('# Sort  \r\n\r\nSort it.\r\n\r\nTwice.\r\n'))?.name).toBe('b')
  expect(index.find('Your task: # Other')?.name).toBe('c')
  expect(index.find(prompt('# Unknown'))).toBeNull()
})

test('knows tasks and steps by their files, canary lines left out', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tasks-'))
  await writeTask(dir, 'one', { files: { 'instruction.md': '<!-- canary 123 -->\n\nDo one thing.\n' } })
  await writeTask(dir, 'steps', {
    toml: 'schema_version = "1.2"\n[[steps]]\nname = "first"\n[[steps]]\nname = "second"\n',
    files: {
      'instruction.md': null,
      'steps/first/instruction.md': 'Begin.\n',
      'steps/second/instruction.md': 'Go on.\n',
    },
  })
  const index = await loadTaskIndex([dir])
  expect(index.size).toBe(3)
  expect(index.find('x\nDo one thing.\ny')?.name).toBe('one')
  expect(index.find('Go on.')).toMatchObject({ name: 'steps/second', dir: join(dir, 'steps/steps/second') })
})

test('a folder without tasks is the user’s mistake', async () => {
  await expect(loadTaskIndex([tmpdir(), '/no/such'])).rejects.toMatchObject({ name: 'UserError' })
})
