import { spawnSync } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { runCommand } from '../../app/flags/command.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import init from './init.ts'

async function run(...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(init, ['ot-agent', 'tasks', 'init'], argv)
  return printed()
}

/** Runs a task's script with /app and /logs moved into `root`; proving the point needs no sandbox. */
async function runScript(root: string, path: string): Promise<void> {
  const text = (await readFile(path, 'utf8')).replaceAll(/\/(app|logs)\b/g, `${root}/$1`)
  const { status, stderr } = spawnSync('bash', ['-c', text], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
}

async function makeRoot(task: string): Promise<string> {
  const root = await makeTempDir()
  await mkdir(join(root, 'app'))
  await mkdir(join(root, 'logs/verifier'), { recursive: true })
  await writeFile(join(root, 'app/numbers.txt'), await readFile(join(task, 'environment/numbers.txt')))
  return root
}

async function rewardOf(root: string): Promise<string> {
  return (await readFile(join(root, 'logs/verifier/reward.txt'), 'utf8')).trim()
}

test('writes a task whose oracle scores 1 and where doing nothing scores 0', async () => {
  const folder = await makeTempDir()
  const dir = join(folder, 'sum')
  expect(await run('sum', '--path', folder)).toBe(`${dir}\n`)
  const task = await loadTask(dir)
  expect(task.name).toBe('sum')
  const root = await makeRoot(dir)
  await runScript(root, join(dir, 'tests/test.sh'))
  expect(await rewardOf(root)).toBe('0')
  await runScript(root, join(dir, 'solution/solve.sh'))
  await runScript(root, join(dir, 'tests/test.sh'))
  expect(await rewardOf(root)).toBe('1')
})

test('writes a multi-step task in which each step is scored by its own work', async () => {
  const folder = await makeTempDir()
  await run('lab/chain', '--path', folder, '--steps', '3')
  const task = await loadTask(join(folder, 'chain'))
  expect(task.steps.map((step) => [step.name, step.minReward])).toEqual([
    ['step-1', { reward: 1 }],
    ['step-2', { reward: 1 }],
    ['step-3', undefined],
  ])
  const root = await makeRoot(task.dir)
  for (const step of task.steps) {
    await runScript(root, join(step.dir, 'tests/test.sh'))
    expect(await rewardOf(root)).toBe('0')
    await runScript(root, join(step.dir, 'solution/solve.sh'))
    await runScript(root, join(step.dir, 'tests/test.sh'))
    expect(await rewardOf(root)).toBe('1')
  }
})

test('keeps who wrote it and what it is, with an organisation or without', async () => {
  const folder = await makeTempDir()
  const about = ['--description', 'Adds up', '--author', 'Ada Example <ada@example.org>', '--author', 'Ben']
  const printed = JSON.parse(await run('sum', '--org', 'lab', '--path', folder, '--no-solution', '--json', ...about))
  expect(printed).toEqual({ name: 'lab/sum', dir: join(folder, 'sum'), steps: 0 })
  const task = await loadTask(join(folder, 'sum'))
  expect(task).toMatchObject({
    name: 'lab/sum',
    description: 'Adds up',
    authors: [{ name: 'Ada Example', email: 'ada@example.org' }, { name: 'Ben' }],
  })
  expect(await readdir(task.dir)).not.toContain('solution')
  await run('plain', '--path', folder, ...about)
  expect((await loadTask(join(folder, 'plain'))).metadata).toMatchObject({
    description: 'Adds up',
    author_name: 'Ada Example',
    author_email: 'ada@example.org',
  })
})

test('refuses a directory that exists and leaves it alone', async () => {
  const folder = await makeTempDir()
  await mkdir(join(folder, 'sum'))
  await expect(run('sum', '--path', folder)).rejects.toThrow('expected a new path, but it already exists')
  expect(await readdir(folder)).toEqual(['sum'])
  expect(await readdir(join(folder, 'sum'))).toEqual([])
})

test('refuses names that are no names', async () => {
  const folder = await makeTempDir()
  for (const name of ['../up', 'a/b/c', '-x/y', '.hidden', 'a..b', 'with space', '']) {
    await expect(run('--path', folder, '--', name)).rejects.toThrow('expected a task name')
  }
  await expect(run('lab/x', '--org', 'other', '--path', folder)).rejects.toThrow('expected one organization')
  await expect(run('x', '--author', '<a@b.c>', '--path', folder)).rejects.toThrow('expected "Name <mail>"')
  await expect(run('x', '--steps', 'two', '--path', folder)).rejects.toThrow('expected a whole number')
  expect(await readdir(folder)).toEqual([])
})
