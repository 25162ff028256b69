import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packTasks } from '../../src/formats/task-parquet/pack-tasks.ts'
import { lfsFile } from '../fakes/hub/repo.ts'
import { HubStandIn } from '../fakes/hub/server.ts'
import { makeTask, makeTempDir, writeTree } from '../make-task.ts'
import { scratch } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
const nobody = 'http://127.0.0.1:9/registry.json'
let hub: HubStandIn
beforeAll(async () => {
  hub = await HubStandIn.start()
})
afterAll(() => hub.close())

async function run(cwd: string, args: readonly string[]) {
  const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache'), ...hub.env }
  const child = spawn(process.execPath, [bin, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { status, stdout, stderr }
}

const words = (name: string) =>
  `Write the word ${name} to the file /app/${name}.txt, then count how many letters it has.`

/** A git repository with two tasks, and a Harbor registry that lists them. */
async function registryWith(names: readonly string[]): Promise<{ registry: string; repository: string }> {
  const repository = await makeTempDir()
  for (const name of names)
    await writeTree(join(repository, 'tasks', name), {
      ...{ 'task.toml': 'version = "1.0"\n', 'instruction.md': words(name), 'environment/Dockerfile': 'FROM debian\n' },
      'tests/test.sh': 'exit 0\n',
    })
  await writeTree(repository, { 'unrelated.txt': 'not a task' })
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@localhost', ...args], {
      cwd: repository,
      encoding: 'utf8',
    })
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-qm', 'tasks')
  const at = { git_url: `file://${repository}`, git_commit_id: git('rev-parse', 'HEAD').trim() }
  const tasks = names.map((name) => ({ name, path: `tasks/${name}`, ...at }))
  const registry = join(await makeTempDir(), 'registry.json')
  writeFileSync(
    registry,
    JSON.stringify([
      { name: 'small', version: '1.0', tasks: [] },
      { name: 'small', version: '1.2', tasks },
    ]),
  )
  return { registry, repository }
}

test('list tells which packs and tasks are here and which are missing', async () => {
  const cwd = await makeTempDir()
  const { status, stdout } = await run(cwd, ['benchmarks', 'list'])
  expect(status).toBe(0)
  expect(stdout).toMatch(/^terminal-bench-2 +89 +here +not fetched +harbor:terminal-bench@2.0 +Terminal-Bench 2.0$/m)
  expect(stdout).toMatch(/^example-bench +12 +missing +\S+examples\/tasks /m)
  expect(stdout).toMatch(/^swe-bench-verified-100 +100 +in swe-bench-verified /m)
  expect(stdout).toMatch(/^gaia +165 +missing /m)
  const { benchmarks } = JSON.parse((await run(cwd, ['benchmarks', 'list', '--json'])).stdout)
  expect(benchmarks.find(({ name }: { name: string }) => name === 'bfcl')).toMatchObject({
    tasks: 4696,
    ...{ pack: { tasks: 4696, words: 8 }, tasksIn: null },
  })
})

test('tasks of a Harbor registry are fetched and packed, and the pack is found by its name', async () => {
  const { registry, repository } = await registryWith(['one', 'two'])
  const cwd = await makeTempDir()
  const fetched = await run(cwd, [
    'benchmarks',
    'fetch',
    'tblite',
    '--from',
    'harbor:small',
    '--registry',
    registry,
    '--json',
  ])
  expect([fetched.status, fetched.stderr]).toEqual([0, 'openthoughts-tblite has 100 tasks, but 2 were found\n'])
  expect(JSON.parse(fetched.stdout)).toMatchObject({ benchmark: 'openthoughts-tblite', tasks: 2 })
  expect(readdirSync(join(cwd, 'openthoughts-tblite'))).toEqual(['one', 'two'])
  expect((await run(cwd, ['benchmarks', 'list'])).stdout).toMatch(
    /^openthoughts-tblite .* openthoughts-tblite +harbor:/m,
  )
  const again = await run(cwd, ['benchmarks', 'fetch', 'tblite', '--from', 'harbor:small', '--registry', registry])
  expect([again.status, again.stderr.split('\n')[0]]).toEqual([
    2,
    'error: openthoughts-tblite: expected a new path, but it already exists',
  ])
  const ways = [`harbor:small@1.2`, 'openthoughts-tblite', `git:file://${repository}#tasks`]
  const digests = []
  for (const from of ways) {
    const packed = await run(cwd, [
      'benchmarks',
      'pack',
      'tblite',
      '--from',
      from,
      '--registry',
      registry,
      '--source',
      'here',
    ])
    expect(packed.status, packed.stderr).toBe(0)
    digests.push(
      createHash('sha256')
        .update(readFileSync(join(cwd, 'benchmarks/openthoughts-tblite.pack')))
        .digest('hex'),
    )
  }
  expect(new Set(digests).size).toBe(1)
  expect((await run(cwd, ['benchmarks', 'list'])).stdout).toMatch(/^openthoughts-tblite +100 +here, 2 tasks /m)
})

test('datasets of the Hub are packed: rows, folders of tasks and packed tasks', async () => {
  const cwd = await makeTempDir()
  const rows = ['one', 'two'].map((id) => JSON.stringify({ task_id: id, Question: words(id) })).join('\n')
  hub.repo('lab/rows').put('data/test.jsonl', rows)
  for (const name of ['one', 'two']) {
    hub.repo('lab/parts').put(`part-${name}.json`, JSON.stringify([{ task_id: name, Question: words(name) }]))
    hub.repo('lab/folders').put(`${name}/task.toml`, 'version = "1.0"\n')
    hub.repo('lab/folders').put(`${name}/instruction.md`, words(name))
  }
  const file = join(cwd, 'tasks.parquet')
  const tasks = await Promise.all(
    ['one', 'two'].map(async (path) => ({ path, dir: await makeTask({ 'instruction.md': words(path) }, path) })),
  )
  await packTasks(tasks, file, {})
  const packedRepo = hub.repo('lab/packed')
  const data = readFileSync(file)
  packedRepo.add(
    'main',
    'tasks',
    new Map([['tasks.parquet', lfsFile(data, createHash('sha256').update(data).digest('hex'))]]),
  )
  packedRepo.objects.set(createHash('sha256').update(data).digest('hex'), data)
  const packs = []
  for (const [name, ...files] of [
    ['rows'],
    ['folders'],
    ['packed'],
    ['parts', '--files', '*-one.json', '*-two.json'],
  ]) {
    const out = join(cwd, `${name}.pack`)
    const done = await run(cwd, [
      'benchmarks',
      'pack',
      'gaia',
      '--from',
      `hf:lab/${name}`,
      '-o',
      out,
      '--source',
      'lab',
      '--json',
      ...files,
    ])
    expect(done.status, done.stderr).toBe(0)
    expect(JSON.parse(done.stdout)).toMatchObject({ benchmark: 'gaia', tasks: 2, words: 8 })
    packs.push(readFileSync(out).toString('latin1'))
  }
  expect(new Set(packs).size).toBe(1)
  const fetched = await run(cwd, ['benchmarks', 'fetch', 'gaia', '--from', 'hf:lab/packed', '-o', 'got'])
  expect(fetched.stdout).toBe('fetched 2 tasks of gaia from hf:lab/packed: got\n')
  expect(statSync(join(cwd, 'got/two/instruction.md')).isFile()).toBe(true)
})

test('a recipe drops what a pack knows, and says so on its card', async () => {
  const cwd = await makeTempDir()
  await writeTree(cwd, { 'held.jsonl': `${JSON.stringify({ id: 'h', instruction: words('secret') })}\n` })
  for (const [name, instruction] of [
    ['clean', 'Sort the names in names.txt.'],
    ['copied', `Please help. ${words('secret')}`],
  ] as const)
    await writeTree(join(cwd, 'tasks', name), {
      ...{ 'task.toml': 'version = "1.0"\n', 'instruction.md': instruction, 'environment/Dockerfile': 'FROM debian\n' },
      'tests/test.sh': 'exit 0\n',
    })
  const packed = await run(cwd, ['benchmarks', 'pack', 'my-held-out', '--from', 'held.jsonl'])
  expect(packed.status, packed.stderr).toBe(0)
  writeFileSync(
    join(cwd, 'recipe.ts'),
    `export default { name: 'mine', stages: [
      { use: 'sources/task-folder', with: { path: 'tasks' } },
      { id: 'benchmarks', use: 'filters/tasks/decontaminated', with: { benchmarks: ['my-held-out', 'tb2', 'gaia'], waive: ['gaia'] } },
      { use: 'exporters/rl' },
    ] }`,
  )
  const made = await run(cwd, ['recipe', 'run', 'recipe.ts', '-o', 'out', '-q'])
  expect(made.status, made.stderr).toBe(0)
  expect(made.stdout).toMatch(/^benchmarks +2 +1 +contaminated 1$/m)
  const card = readFileSync(join(cwd, 'out/out/rl/README.md'), 'utf8')
  expect(card).toContain('| my-held-out | 1 |')
  expect(card).toContain('| tb2 | 89 of terminal-bench-2 |')
  expect(card).toContain('Not compared, by the recipe’s own word: gaia.')
})

const rowsFile = {
  'rows.jsonl': '{"foo": "x"}\n',
  'none.jsonl': '\n',
  'twins.jsonl': '{"id":"a","text":"x"}\n{"id":"a","text":"y"}\n',
}
test.each([
  [['pack', 'terminal-bench-3', '--from', 'rows.jsonl'], 2, 'unknown benchmark "terminal-bench-3"'],
  [['pack', 'gaia', '--from', 'rows.jsonl'], 2, 'expected a column with the text of a task, found foo'],
  [['pack', 'gaia', '--from', 'rows.jsonl', '--text-column', 'q'], 2, 'expected the column q, found foo'],
  [['pack', 'gaia', '--from', 'none.jsonl'], 2, 'none.jsonl: expected tasks, found none'],
  [['pack', 'gaia', '--from', 'twins.jsonl'], 2, 'expected different task ids, got "a"'],
  [['pack', 'gaia', '--from', 'empty'], 2, 'empty: expected tasks, found none'],
  [['pack', 'gaia', '--from', 'nowhere'], 2, 'nowhere: expected tasks or rows, found nothing there'],
  [
    ['pack', 'gaia', '--from', 'twins.jsonl', '-o', 'rows.jsonl'],
    2,
    'rows.jsonl: expected a new path or an earlier pack',
  ],
  [
    ['pack', 'gaia', '--from', 'twins.jsonl', '-o', resolve('benchmarks/bfcl.pack')],
    2,
    'expected an earlier pack of gaia, found one of bfcl',
  ],
  [['pack', 'gaia', '--from', 'hf:lab/nothing'], 2, 'lab/nothing'],
  [['pack', 'gaia', '--from', 'harbor:gaia', '--registry', 'rows.jsonl'], 2, 'expected a Harbor registry'],
  [
    ['pack', 'tblite', '--registry', nobody],
    3,
    'could not fetch the tasks of openthoughts-tblite: http://127.0.0.1:9/registry.json',
  ],
  [['fetch', 'terminal-bench'], 2, 'unknown benchmark "terminal-bench"'],
  [
    ['fetch', 'tblite', '--registry', nobody],
    3,
    'could not fetch the tasks of openthoughts-tblite: http://127.0.0.1:9/registry.json',
  ],
  [['fetch', 'gaia', '--from', 'git:file:///nowhere/at/all'], 3, 'git could not fetch it'],
] as const)('%j ends with %i in two lines and writes nothing', async (args, status, message) => {
  const cwd = await makeTempDir()
  await writeTree(cwd, { ...rowsFile, 'empty/README.md': 'no tasks' })
  const ended = await run(cwd, ['benchmarks', ...args])
  expect([ended.status, ended.stdout]).toEqual([status, ''])
  expect(ended.stderr).toContain(message)
  expect(ended.stderr).toMatch(/^(error|failed): .+\nhint: .+\n$/)
  expect(readdirSync(cwd).sort()).toEqual(['empty', ...Object.keys(rowsFile)].sort())
})
