import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { agentRecord, storeJob } from '../../../test/traces.ts'
import { makeViewJobs } from '../../../test/view-kit.ts'
import { makeViewTasks, packViewTasks } from '../../../test/view-tasks-kit.ts'
import { Library } from '../../app/view/library.ts'
import { digestTask } from '../../formats/harbor-task/digests.ts'
import { serveView, type ViewServer } from './serve-view.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-agent-view-tasks-'))
const tasksDir = makeViewTasks(join(scratch, 'tasks'))
let jobsDir: string
const opened: { library: Library; server: ViewServer }[] = []

async function serve(...paths: string[]) {
  const { library, start } = await Library.open(paths)
  const server = await serveView(library, { host: '127.0.0.1', port: 0, token: null, assetsDir: scratch })
  opened.push({ library, server })
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
  const ask = async (path: string): Promise<any> => {
    const response = await fetch(`${server.origin}/api/${path}`)
    return { status: response.status, ...((await response.json()) as object) }
  }
  await vi.waitFor(async () => expect((await ask('tasks')).complete).toBe(true), { timeout: 120_000 })
  return { ask, start, library }
}

beforeAll(async () => {
  jobsDir = await makeViewJobs(join(scratch, 'jobs'))
})

afterAll(async () => {
  for (const { server, library } of opened) {
    await server.close()
    await library.close()
  }
  rmSync(scratch, { recursive: true })
})

describe('a folder of tasks', () => {
  let ask: Awaited<ReturnType<typeof serve>>['ask']
  let start: string
  beforeAll(async () => {
    ;({ ask, start } = await serve(tasksDir, jobsDir))
  })

  test('lists its tasks with those of the jobs', async () => {
    const list = await ask('tasks')
    expect(start).toBe('')
    expect(list.items.find(({ id }: { id: string }) => id === '1:task-1')).toBeUndefined()
    const byId = new Map(list.items.map((item: { id: string }) => [item.id, item]))
    expect(byId.get('task-1')).toMatchObject({
      ...{ name: 'task-1', set: 'tasks', family: 'files', difficulty: 'hard', verdict: 'rejected', law: 'oracle' },
      ...{ reason: 'scored 0, expected 1', trials: 6, mean: 1 },
    })
    expect(byId.get('task-3')).toMatchObject({ family: 'databases', verdict: null, trials: 6, mean: 2 / 3 })
    expect(byId.get('@task-9')).toMatchObject({ set: null, trials: 6 })
    expect(list.broken).toEqual([{ name: 'broken', why: 'no environment/' }])
    expect((await ask('sections')).tasks).toBe(true)
  })

  test('searches instructions, filters by family, difficulty, verdict and law, sorts and pages', async () => {
    const names = async (query: string) => (await ask(`tasks?${query}`)).items.map(({ name }: { name: string }) => name)
    expect(await names('q=zebras')).toEqual(['task-2'])
    expect(await names('family=databases')).toEqual(['task-3'])
    expect(await names('family=files&difficulty=hard')).toEqual(['task-1'])
    expect(await names('check=accepted')).toEqual(['task-0'])
    expect(await names('check=law:oracle')).toEqual(['task-1'])
    const page = await ask('tasks?q=task-&sort=-name&offset=1&limit=2')
    expect([page.total, page.known]).toEqual([10, 16])
    expect(page.items.map(({ name }: { name: string }) => name)).toEqual(['task-8', 'task-7'])
    expect((await ask('tasks?q=task-&family=files')).checks).toContainEqual(['law:oracle', 1])
  })

  test('has a page for each task with files, checks and solve rates by model', async () => {
    const task = await ask('tasks/task-1')
    expect(task.files).toContainEqual({
      path: 'environment/Dockerfile',
      bytes: expect.any(Number),
      part: 'environment',
    })
    expect(task.files.filter(({ part }: { part: string }) => part === 'solution')).toHaveLength(1)
    expect(task.facts).toContainEqual(['Agent time limit', '600 s'])
    expect(task.checks.map(({ name, outcome }: { name: string; outcome: string }) => [name, outcome])).toContainEqual([
      'oracle',
      'fail',
    ])
    expect(task.isOld).toBe(true)
    expect((await ask('tasks/task-0')).isOld).toBe(false)
    expect((await ask('tasks/task-3')).rates).toEqual([
      expect.objectContaining({
        model: 'openai/gpt-x',
        agent: 'terminus-2',
        trials: 6,
        solved: 4,
        mean: 2 / 3,
        unscored: 0,
      }),
    ])
    expect((await ask('tasks/%40task-1')).item.id).toBe('task-1')
    const trials = await ask('tasks/task-1/trials?limit=2&offset=1')
    expect([trials.total, trials.items.length]).toEqual([6, 2])
    expect(['better', 'worse', 'packed']).toContain(trials.items[0].job)
  })

  test('sends hostile texts in windows and nothing from outside of the task', async () => {
    const { text, size, to } = await ask('tasks/hostile/text?path=instruction.md&bytes=65536')
    expect([text.length <= 65536, to <= 65536, size > 5_000_000]).toEqual([true, true, true])
    expect((await ask('tasks/hostile/text?path=tests/data.bin')).text).toContain('\ufffd')
    for (const path of ['tests/link', 'environment/etc/passwd', '../task-0/task.toml', '/etc/passwd', 'tests', 'none'])
      expect([path, (await ask(`tasks/hostile/text?path=${encodeURIComponent(path)}`)).status]).toEqual([path, 404])
    const { files } = await ask('tasks/hostile')
    expect(files.map(({ path }: { path: string }) => path)).not.toContain('tests/link')
  })

  test('reports what does not exist', async () => {
    for (const path of ['tasks/nothing', 'tasks/%40nothing', 'tasks/..%2Fjobs', 'tasks/nothing/trials'])
      expect([path, (await ask(path)).status]).toEqual([path, 404])
  })
})

test('a pack opens, and its tasks are unpacked one by one and removed again', async () => {
  const left = () => readdirSync(tmpdir()).filter((name) => name.startsWith('ot-agent-view-task-')).length
  const before = left()
  const { ask, start, library } = await serve(await packViewTasks(join(scratch, 'pack.parquet')))
  expect(start).toBe('#/tasks')
  expect((await ask('tasks?q=number')).items).toEqual(
    [0, 1, 2].map((i) =>
      expect.objectContaining({ id: `set/packed-${i}`, name: `packed-${i}`, begins: `Pack number ${i}.` }),
    ),
  )
  expect((await ask('tasks/set%2Fpacked-1/text?path=instruction.md')).text).toBe('Pack number 1.\n')
  expect((await ask('tasks/set%2Fpacked-2')).files).toHaveLength(5)
  expect((await ask('sections')).tasks).toBe(true)
  await library.close()
  expect(left()).toBe(before)
})

test('one task opens on its page, and a report may lie elsewhere', async () => {
  const report = join(scratch, 'later.json')
  const task = { task: 'task-2', digest: null, verdict: 'accepted', checks: [], findings: [], notes: [] }
  writeFileSync(report, JSON.stringify({ schema: 'tasks-check/1', tasks: [task] }))
  const { ask, start } = await serve(join(tasksDir, 'task-2'), report)
  expect(start).toBe('#/tasks/task-2')
  expect((await ask('tasks')).items).toMatchObject([{ id: 'task-2', verdict: 'accepted' }])
  writeFileSync(report, JSON.stringify({ schema: 'tasks-check/1', tasks: [{ task: 'x' }] }))
  await expect(Library.open([tasksDir, report])).rejects.toThrow(/expected a report of tasks check: tasks.0.digest/)
})

test('a job leads to the very task that ran, as long as it is there', async () => {
  const dir = join(tasksDir, 'task-0')
  const { content, dirhash } = await digestTask(dir)
  const task = { name: 'task-0', path: dir, source: null, digest: content, checksum: dirhash }
  const stored = join(scratch, 'other-jobs', 'job')
  await storeJob(stored, [
    { record: agentRecord({ name: 'task-0__a', task }), files: 'plain' },
    { record: agentRecord({ name: 'etc__a', task: { ...task, name: 'etc', path: '/etc' } }), files: 'plain' },
  ])
  writeFileSync(join(dir, 'private.txt'), 'not part of the task')
  const { ask } = await serve(stored)
  const found = await ask('tasks/%40task-0')
  expect([found.path, found.trouble]).toEqual([dir, null])
  expect(found.files.map(({ path }: { path: string }) => path)).not.toContain('private.txt')
  expect((await ask('tasks/%40task-0/text?path=private.txt')).status).toBe(404)
  expect((await ask('tasks/%40task-0/text?path=task.toml')).text).toContain('difficulty')
  expect(await ask('tasks/%40etc')).toMatchObject({ path: null, files: [], rates: [{ solved: 1 }] })
  expect((await ask('tasks/%40etc/text?path=passwd')).status).toBe(404)
  writeFileSync(join(dir, 'instruction.md'), 'Something else.')
  const { ask: later } = await serve(stored)
  expect((await later('tasks/%40task-0')).trouble).toBe('The files of this task have changed since it ran.')
  expect(existsSync(dir)).toBe(true)
})
