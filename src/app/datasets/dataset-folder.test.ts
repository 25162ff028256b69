import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { HubStandIn } from '../../../test/fakes/hub/server.ts'
import { makeTask, makeTempDir, type TaskTree, writeTree } from '../../../test/make-task.ts'
import { chooseBenchmark, loadBenchmarks } from '../../formats/known-benchmarks.ts'
import { packTasks } from '../../formats/task-parquet/pack-tasks.ts'
import { planJob } from '../job/prepare-job.ts'
import type { TasksRequest } from '../job/tasks-request.ts'
import { benchmarkTasks, benchmarkTasksHere } from './benchmark-tasks.ts'

const place = mkdtempSync(join(tmpdir(), 'ot-agent-datasets-'))
const repository = join(place, 'repository')
const registry = join(place, 'registry.json')
let hub: HubStandIn
let commit: string

const harborTask = (name: string): TaskTree => ({
  ...{ [`${name}/task.toml`]: 'version = "1.0"\n', [`${name}/instruction.md`]: `Write ${name}.\n` },
  ...{ [`${name}/environment/Dockerfile`]: 'FROM debian\n', [`${name}/tests/test.sh`]: 'exit 0\n' },
})
const benchTask = (name: string): TaskTree => ({
  ...{ [`${name}/task.yaml`]: 'instruction: Write it.\n', [`${name}/Dockerfile`]: 'FROM debian\n' },
  [`${name}/run-tests.sh`]: 'exit 0\n',
})

beforeAll(async () => {
  hub = await HubStandIn.start()
  for (const [name, value] of Object.entries(hub.env)) vi.stubEnv(name, value)
  await writeTree(join(repository, 'tasks'), { ...harborTask('one'), ...harborTask('two'), ...harborTask('three') })
  await writeTree(join(repository, 'old'), { ...benchTask('a'), ...benchTask('b') })
  await writeTree(repository, { 'unrelated.txt': 'not a task' })
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@localhost', ...args], {
      ...{ cwd: repository, encoding: 'utf8' },
    })
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'tasks')
  commit = git('rev-parse', 'HEAD').trim()
  // The format of Harbor's own registry.json.
  const task = (name: string) => ({
    ...{ name, git_url: `file://${repository}`, git_commit_id: commit, path: `tasks/${name}` },
  })
  const described = { description: 'for a test', metrics: [{ type: 'mean' }] }
  const datasets = [
    { name: 'small', version: '1.0', ...described, tasks: [task('three')] },
    { name: 'small', version: '1.10', ...described, tasks: [task('one'), task('two')] },
    { name: 'small', version: '1.9', ...described, tasks: [] },
  ]
  writeFileSync(registry, JSON.stringify(datasets))
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await hub.close()
  await rm(place, { recursive: true, force: true })
})

async function plan(request: TasksRequest) {
  const notes: string[] = []
  const { config, tasks } = await planJob(request, (line) => notes.push(line))
  return { config, notes, names: tasks.map(({ task }) => task.name), sources: tasks.map(({ config }) => config.source) }
}

test('a dataset of a registry.json is fetched only with leave, then it is here', async () => {
  const asked = { dataset: 'small@1.10', registryPath: registry }
  await expect(plan(asked)).rejects.toMatchObject({
    message: 'the tasks of harbor:small@1.10 are not on this machine',
    hint: 'add --fetch, or pass their folder with -p',
    exitCode: 3,
  })
  const fetched = await plan({ ...asked, fetch: true })
  expect([fetched.names, fetched.sources]).toEqual([
    ['one', 'two'],
    ['small', 'small'],
  ])
  expect(fetched.notes[0]).toBe('fetching the tasks of small from harbor:small@1.10')
  const [dataset] = fetched.config.datasets
  expect(dataset).toMatchObject({ name: 'small', version: '1.10', registryPath: registry, path: null })
  expect(readdirSync(dataset?.downloadDir ?? '').sort()).toEqual(['one', 'two'])
  const again = await plan({ ...asked, include: ['t*'] })
  expect([again.names, again.notes]).toEqual([['two'], []])
})

test('without a version the newest is used, and the error names a missing version', async () => {
  expect((await plan({ dataset: 'small', registryPath: registry, fetch: true })).names).toEqual(['one', 'two'])
  await expect(plan({ dataset: 'small@3', registryPath: registry, fetch: true })).rejects.toMatchObject({
    hint: 'its versions: 1.0, 1.10, 1.9',
  })
})

test('the datasets of a Harbor job file are found by name', async () => {
  const file = join(place, 'job.json')
  const dataset = { name: 'small', version: '1.0', registry_path: registry }
  writeFileSync(file, JSON.stringify({ environment: { type: 'docker' }, datasets: [dataset] }))
  expect(await plan({ jobFile: file, fetch: true })).toMatchObject({ names: ['three'], sources: ['small'] })
})

test('one task of a git repository, and a folder of them', async () => {
  const git = { url: `file://${repository}`, commit }
  await expect(plan({ tasks: 'tasks/one', git })).rejects.toMatchObject({ exitCode: 3 })
  expect((await plan({ tasks: 'tasks/one', git, fetch: true })).names).toEqual(['one'])
  expect((await plan({ tasks: 'tasks/one', git })).names).toEqual(['one'])
  const folder = await plan({ dataset: `git:file://${repository}#tasks`, fetch: true })
  expect([folder.names, folder.sources[0]]).toEqual([['one', 'three', 'two'], 'repository'])
})

test('a dataset of the Hub, and a parquet file of tasks', async () => {
  for (const [path, text] of Object.entries(harborTask('one'))) hub.repo('lab/folders').put(path, text ?? '')
  const remote = await plan({ dataset: 'hf:lab/folders', fetch: true })
  expect([remote.names, remote.sources]).toEqual([['one'], ['folders']])
  const file = join(await makeTempDir(), 'packed.parquet')
  await packTasks([{ path: 'two', dir: await makeTask({}, 'two') }], file, {})
  for (const request of [{ dataset: file }, { tasks: file }])
    expect(await plan(request)).toMatchObject({ names: ['two'], sources: ['packed'] })
})

test.each([
  ['terminal-bench-22', /did you mean terminal-bench-2\b/],
  ['no-such-thing@1.0', /benchmarks list shows the known ones; other datasets are hf:/],
])('%s is no dataset', async (dataset, hint) => {
  await expect(plan({ dataset, fetch: true })).rejects.toMatchObject({
    message: `${dataset}: expected a folder of tasks or the name of a benchmark, found neither`,
    hint: expect.stringMatching(hint),
  })
})

const yaml = (name: string, more: string) =>
  `schema: benchmark/1\nname: ${name}\ntitle: T\nsummary: S\ntasks: 2\n${more}\nlicence: none\nhomepage: https://example.org\ncitation: made by a test\n`

test('Terminal-Bench tasks of a benchmark are converted, and a part of it needs no source of its own', async () => {
  const cwd = await makeTempDir()
  await writeTree(cwd, {
    'benchmarks/old.yaml': yaml('old', `sources: [{ git: 'file://${repository}', path: old }]`),
    'benchmarks/part.yaml': yaml('part', 'part_of: { benchmark: old, names: [b] }'),
    'benchmarks/wrong.yaml': yaml('wrong', 'part_of: { benchmark: old, names: [b, c] }'),
  })
  const all = await loadBenchmarks(cwd)
  const [old, part, wrong] = ['old', 'part', 'wrong'].map((name) => chooseBenchmark(all, name)) as [never, never, never]
  const at = { fetch: true, notify: () => {}, signal: new AbortController().signal }
  const alone = await benchmarkTasks(part, all, at)
  expect(readdirSync(alone.dir)).toEqual(['b'])
  expect(await benchmarkTasks(part, all, { ...at, fetch: false })).toEqual(alone)
  await rm(alone.dir, { recursive: true })
  await expect(benchmarkTasks(wrong, all, at)).rejects.toMatchObject({
    message: expect.stringContaining('expected 2 tasks by name, found 1 of them'),
  })
  expect(await benchmarkTasksHere(old, all)).toBe(null)
  const whole = await benchmarkTasks(old, all, at)
  expect(readdirSync(whole.dir).sort()).toEqual(['a', 'b'])
  expect(readFileSync(join(whole.dir, 'a/task.toml'), 'utf8')).toContain('schema_version')
  expect(await benchmarkTasksHere(part, all)).toEqual({ dir: whole.dir, source: 'part', names: ['b'] })
})
