import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ot-agent-recipe-check-'))
  await mkdir(join(dir, 'mine/data'), { recursive: true })
  await mkdir(join(dir, 'elsewhere'))
  await cp(resolve('data/nl2bash'), join(dir, 'mine/data/own'), { recursive: true })
})
afterAll(() => rm(dir, { recursive: true, force: true }))

/** Runs the program from a directory that contains nothing of the recipe. */
async function program(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [resolve('bin/ot-agent.js'), ...words], {
    cwd: join(dir, 'elsewhere'),
    env: { PATH: process.env.PATH ?? '', HOME: dir, ...env },
  })
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ])
  return { status, stdout, stderr }
}

async function recipe(name: string, stages: readonly object[]): Promise<string> {
  const file = join(dir, 'mine', `${name}.ts`)
  await writeFile(file, `export default ${JSON.stringify({ name, stages }, null, 2)}\n`)
  return file
}

const own = { id: 'own', use: 'sources/pipeline', with: { pipeline: './data/own/generate.ts', args: { check: false } } }

async function missingOf(file: string, env: Readonly<Record<string, string>> = {}, ...more: string[]) {
  const { status, stdout, stderr } = await program(['recipe', 'check', file, '--json', ...more], env)
  expect(stderr).toBe('')
  const { missing } = JSON.parse(stdout) as { missing: { stages: string[]; what: string; provide: string }[] }
  return { status, missing }
}

describe('recipe check', () => {
  test('finds pipelines and files from the recipe, wherever it is called, and writes nothing', async () => {
    await writeFile(join(dir, 'mine/rows.jsonl'), '{"nl": "list files", "bash": "find . -type f"}\n')
    const file = await recipe('paths', [
      { ...own, with: { ...own.with, args: { check: false, source: 'rows.jsonl' } } },
      { use: 'exporters/rl' },
    ])
    expect(await missingOf(file)).toEqual({ status: 0, missing: [] })
    expect(await readdir(join(dir, 'elsewhere'))).toEqual([])
    const typed = await program(['recipe', 'check', file, '--set', 'own.args.source=rows.jsonl'])
    expect(typed).toMatchObject({ status: 3, stdout: expect.stringContaining(join(dir, 'elsewhere/rows.jsonl')) })
  })

  test('lists everything that is missing, each with what provides it', async () => {
    const file = await recipe('lacking', [
      { ...own, with: { ...own.with, args: { check: false, source: 'none.jsonl' } } },
      { id: 'tasks', use: 'sources/task-folder', with: { path: 'no-such-folder' } },
      { id: 'mix', use: 'mixers/weighted' },
      { id: 'away', use: 'filters/tasks/decontaminated', with: { benchmarks: ['gaia', 'no-such-benchmark'] } },
      { id: 'score', use: 'maps/score', with: { rows: 'task', prompt: 'x', into: 's', model: { model: 'openai/x' } } },
      { id: 'verified', use: 'filters/tasks/verified', with: { sandbox: 'daytona' } },
      {
        id: 'rollout',
        use: 'rollouts/agent',
        with: { teacher: { model: 'm', apiBase: 'http://127.0.0.1:9/v1' }, sandbox: 'daytona' },
      },
      { use: 'exporters/sharegpt' },
    ])
    const { status, missing } = await missingOf(file)
    expect(status).toBe(3)
    expect(missing.map(({ stages, what, provide }) => `${stages.join('+')}: ${what} -> ${provide}`)).toEqual([
      expect.stringContaining(`own: the rows of the source: expected a file at ${join(dir, 'mine/none.jsonl')}`),
      expect.stringContaining(
        `tasks: the tasks of the source: expected a folder at ${join(dir, 'mine/no-such-folder')}`,
      ),
      expect.stringMatching(/^away: the decontamination pack of gaia .* -> ot-agent benchmarks /),
      expect.stringMatching(/^away: the decontamination pack of no-such-benchmark .*-> ot-agent benchmarks /),
      expect.stringMatching(/^score: .*OPENAI_API_KEY.* -> export OPENAI_API_KEY/),
      expect.stringMatching(/^verified\+rollout: .* -> export DAYTONA_API_KEY/),
      expect.stringMatching(/^rollout: model m: no model server answers .* -> vllm serve m --port 9/),
    ])
    const offline = await missingOf(file, {}, '--offline')
    expect(offline.missing).toHaveLength(missing.length - 1)
    const started = await program(['recipe', 'run', file])
    expect(started).toMatchObject({ status: 3, stdout: '' })
    expect(started.stderr).toMatch(/^error: recipe lacking cannot start: 6 things are missing\n {2}own: /)
    expect(started.stderr.trimEnd().split('\n')).toHaveLength(8)
    expect(await readdir(join(dir, 'elsewhere'))).toEqual([])
  })

  test('asks a model server for the model, and takes a server that is named', async () => {
    const server = createServer((_, response) =>
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'served' }] })),
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const apiBase = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    const stage = (model: string) => ({ use: 'rollouts/agent', with: { teacher: { model, apiBase } } })
    const good = await recipe('served', [own, stage('served'), { use: 'exporters/sharegpt' }])
    const bad = await recipe('not-served', [own, stage('other'), { use: 'exporters/sharegpt' }])
    expect((await missingOf(good)).missing.filter(({ what }) => what.startsWith('model'))).toEqual([])
    expect((await missingOf(bad)).missing.at(-1)?.what).toMatch(/does not serve other; it serves served/)
    server.close()
    server.closeAllConnections()
  })

  test.each([
    ['no such pipeline by name', { ...own, with: { pipeline: 'nl2bsh' } }, /unknown pipeline "nl2bsh"/],
    ['no such pipeline by path', { ...own, with: { pipeline: './none.ts' } }, /none\.ts: expected a TypeScript/],
    [
      'a wrong argument of a pipeline',
      { ...own, with: { ...own.with, args: { colour: 'red' } } },
      /unknown argument "colour"/,
    ],
    ['a wrong option of an engine', { ...own, id: 'x' }, /stage length.*temprature/],
  ])('a recipe with %s is wrong, in two lines', async (name, source, message) => {
    const model = { model: 'scripted/x', engine: 'scripted', options: { temprature: 1 } }
    const length = name.includes('engine')
      ? [{ id: 'length', use: 'filters/tasks/response-length', with: { model } }]
      : []
    const file = await recipe('wrong', [source, ...length, { use: 'exporters/rl' }])
    const { status, stdout, stderr } = await program(['recipe', 'check', file])
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr.trimEnd().split('\n')).toHaveLength(2)
  })
})

test('a run that has everything continues when its sources are gone', async () => {
  const needed = join(dir, 'mine/needed.txt')
  await writeFile(needed, 'anything\n')
  await writeFile(
    join(dir, 'mine/like.ts'),
    `import { definePlugin, z } from 'ot-agent'
const needs = () => [{ kind: 'file', path: ${JSON.stringify(needed)}, what: 'what it looks at', provide: 'write it' }]
export default definePlugin({
  name: 'like', summary: 'x', options: z.strictObject({}),
  make: () => ({ kind: 'filter', takes: 'task', keep: () => true, needs }),
})
`,
  )
  const file = await recipe('resumed', [own, { id: 'like', use: './like.ts' }, { id: 'prompts', use: 'exporters/rl' }])
  const run = ['recipe', 'run', file, '-o', join(dir, 'resumed'), '-q', '--json']
  expect(await program(run)).toMatchObject({ status: 0 })
  await rm(needed)
  const again = await program(run)
  expect(JSON.parse(again.stdout).cached).toEqual(['own', 'like'])
  const anew = await program([...run, '--set', 'seed=5'])
  expect(anew).toMatchObject({ status: 3, stdout: '', stderr: expect.stringContaining('like: what it looks at') })
})

test('a stage is made again when the examples that it learned from changed, and stops when they are gone', async () => {
  const examples = ['good.jsonl', 'bad.jsonl'].map((name) => join(dir, 'mine', name))
  for (const example of examples) await writeFile(example, '{"instruction": "List the files of a folder."}\n')
  const file = await recipe('examples', [
    own,
    { id: 'like', use: 'filters/tasks/classifier', with: { positives: 'good.jsonl', negatives: 'bad.jsonl' } },
    { id: 'prompts', use: 'exporters/rl' },
  ])
  const run = ['recipe', 'run', file, '-o', join(dir, 'examples'), '-q', '--json']
  expect(await program(run)).toMatchObject({ status: 0 })
  expect(JSON.parse((await program(run)).stdout).cached).toEqual(['own', 'like'])
  await writeFile(examples[0] ?? '', '{"instruction": "Sort the lines of a file."}\n')
  expect(JSON.parse((await program(run)).stdout).cached).toEqual(['own'])
  await rm(examples[0] ?? '')
  const gone = await program(run)
  expect(gone).toMatchObject({ status: 3, stdout: '', stderr: expect.stringMatching(/like.*good\.jsonl.*\nhint: /) })
})
