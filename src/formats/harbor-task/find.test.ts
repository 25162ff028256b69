import { chmod, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTask, makeTempDir, type TaskTree, writeTree } from '../../../test/make-task.ts'
import { asOrdinaryUser } from '../../../test/ordinary-user.ts'
import { UserError } from '../../core/errors.ts'
import { findTasks } from './find.ts'

const task: TaskTree = {
  'task.toml': '',
  'instruction.md': 'x',
  'environment/Dockerfile': 'FROM scratch',
  'tests/test.sh': 'exit 0',
}

async function makeFolder(tasks: Readonly<Record<string, TaskTree>>): Promise<string> {
  const folder = await makeTempDir()
  for (const [name, tree] of Object.entries(tasks)) await writeTree(join(folder, name), tree)
  return folder
}

test('finds a task directory itself', async () => {
  const dir = await makeTask()
  expect(await findTasks(dir)).toEqual({ tasks: [dir], broken: [] })
})

test('finds the tasks of a folder by name, one level down', async () => {
  const folder = await makeFolder({
    b: task,
    a: task,
    B: task,
    'deep/c': task,
    notes: { 'x.md': '' },
    '.c.12ab.tmp': task,
  })
  await writeTree(folder, { 'README.md': 'x' })
  await symlink(join(folder, 'deep/c'), join(folder, 'linked'))
  expect(await findTasks(folder)).toEqual({
    tasks: ['B', 'a', 'b', 'linked'].map((name) => join(folder, name)),
    broken: [],
  })
})

test('finds multi-step tasks, windows tasks, prebuilt images and images that bring their tests', async () => {
  const folder = await makeFolder({
    steps: { 'task.toml': '[[steps]]\nname = "one"', 'steps/one/instruction.md': 'x', 'environment/x': '' },
    windows: { ...task, 'tests/test.sh': null, 'tests/test.bat': 'x' },
    image: { ...task, 'task.toml': '[environment]\ndocker_image = "x"', 'environment/Dockerfile': null },
    judge: { ...task, 'tests/test.sh': null, 'tests/Dockerfile': 'FROM x' },
    bench: { ...task, 'task.toml': '[verifier.environment]\ndocker_image = "x"', 'tests/test.sh': null },
  })
  const { tasks, broken } = await findTasks(folder)
  expect(broken).toEqual([])
  expect(tasks).toHaveLength(5)
})

test('says what is wrong with a directory that has a task.toml and is no task', async () => {
  const folder = await makeFolder({
    good: task,
    'no-environment': { ...task, 'environment/Dockerfile': null },
    'no-instruction': { ...task, 'instruction.md': null },
    'no-steps': { ...task, 'task.toml': '[[steps]]\nname = "x"', 'instruction.md': null },
    'no-tests': { ...task, 'tests/test.sh': null },
    'no-toml': { ...task, 'task.toml': '= 1' },
  })
  const { tasks, broken } = await findTasks(folder)
  expect(tasks).toEqual([join(folder, 'good')])
  expect(broken).toEqual([
    { dir: join(folder, 'no-environment'), reason: 'no environment/' },
    { dir: join(folder, 'no-instruction'), reason: 'no instruction.md' },
    { dir: join(folder, 'no-steps'), reason: 'no steps/' },
    { dir: join(folder, 'no-tests'), reason: 'no tests/test.sh' },
    { dir: join(folder, 'no-toml'), reason: expect.stringContaining('no-toml/task.toml:1:1: expected TOML') },
  ])
  expect((await findTasks(folder, { allowNoTests: true })).tasks).toEqual([
    join(folder, 'good'),
    join(folder, 'no-tests'),
  ])
})

test('reports a directory it may not look into', async () => {
  const folder = await makeFolder({ good: task, locked: task })
  await chmod(join(folder, 'locked'), 0o000)
  const { tasks, broken } = await asOrdinaryUser(() => findTasks(folder))
  await chmod(join(folder, 'locked'), 0o755)
  expect(tasks).toEqual([join(folder, 'good')])
  expect(broken).toEqual([{ dir: join(folder, 'locked'), reason: expect.stringContaining('permission denied') }])
})

test('says what it looked for when there is nothing', async () => {
  const folder = await makeTempDir()
  await expect(findTasks(folder)).rejects.toThrow(
    'expected a task.toml here or in an immediate subdirectory, found none',
  )
  await expect(findTasks(join(folder, 'nowhere'))).rejects.toThrow(
    'expected a task or a folder of tasks, found nothing there',
  )
  await writeTree(folder, { file: '' })
  await expect(findTasks(join(folder, 'file'))).rejects.toThrow('found a file')
  await mkdir(join(folder, 'empty'))
  await expect(findTasks(folder)).rejects.toThrow(UserError)
})
