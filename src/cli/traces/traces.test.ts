import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { appendFile, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { failed } from '../../../test/records.ts'
import { agentRecord, fixtureRows, someTrajectory, storeJob, type TrialToStore } from '../../../test/traces.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import report from '../jobs/report.ts'
import exportTraces from './export.ts'
import head from './head.ts'
import show from './show.ts'
import stats from './stats.ts'

let dir: string
let out: string
beforeEach(async () => {
  dir = await makeTempDir()
  out = join(dir, 'dataset')
})

async function run(make: MakeCommand, ...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(make, ['ot-agent', 'traces'], argv)
  return printed()
}

const wrong = { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'finished' } } as const
const trials: readonly TrialToStore[] = [
  { record: agentRecord({ name: 'hello__Good111' }), files: 'plain' },
  { record: agentRecord({ name: 'hello__Wrong11', end: wrong }), files: 'tools' },
  { record: agentRecord({ name: 'hello__Long111' }), files: 'summarized' },
  {
    record: agentRecord({ name: 'hello__Broken1', end: failed({ boundary: 'model', code: 'ModelError' }) }),
    files: () => {},
  },
]

async function rowsOf(dataset: string) {
  const names = (await readdir(join(dataset, 'data'))).sort()
  const all = await Promise.all(
    names.map(async (name) => parquetReadObjects({ file: await asyncBufferFromFile(join(dataset, 'data', name)) })),
  )
  return all.flat()
}

const json = async (path: string) => JSON.parse(await readFile(path, 'utf8'))
const lines = async (path: string) =>
  (await readFile(path, 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

describe.each(['harbor', 'packed'] as const)('a job in %s layout', (layout) => {
  test('becomes a dataset with its card, its manifest and every drop', async () => {
    await storeJob(join(dir, 'jobs/one'), trials, layout)
    await run(
      exportTraces,
      '--form',
      'readable',
      '-p',
      join(dir, 'jobs/one'),
      '--out',
      out,
      '--format',
      'parquet,jsonl',
    )
    expect((await readdir(out)).sort()).toEqual(['README.md', 'data', 'drops.jsonl', 'jsonl', 'manifest.json'])
    const rows = await rowsOf(out)
    const byTrial = (trial: string) => rows.filter((row) => row.trial_name === trial)
    expect(byTrial('hello__Good111')).toMatchObject(fixtureRows('plain').slice(-1))
    expect(byTrial('hello__Wrong11')).toMatchObject([{ result: '0.0', ...fixtureRows('tools')[0] }])
    expect(byTrial('hello__Long111')).toMatchObject(fixtureRows('summarized').slice(2))
    expect(await lines(join(out, 'jsonl/train-00000-of-00001.jsonl'))).toHaveLength(5)
    expect(await lines(join(out, 'drops.jsonl'))).toMatchObject([
      { job: 'one', trial: 'hello__Broken1', task: 'org/hello', reason: 'no-trajectory' },
    ])
    expect(await json(join(out, 'manifest.json'))).toMatchObject({
      schema: 'traces/1',
      trials: 4,
      exported: 3,
      rows: 5,
      drops: { 'no-trajectory': 1 },
      inputs: [{ job: 'one', layout, trials: 4, exported: 3 }],
      files: [
        { path: 'data/train-00000-of-00001.parquet', rows: 5, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
        { path: 'jsonl/train-00000-of-00001.jsonl', rows: 5 },
      ],
    })
    const [, front = ''] = (await readFile(join(out, 'README.md'), 'utf8')).split('---\n')
    const card = parse(front)
    expect(card.dataset_info.splits).toMatchObject([{ name: 'train', num_examples: 5 }])
    expect(card.dataset_info.features[0]).toMatchObject({
      name: 'conversations',
      list: [{ name: 'role' }, { name: 'content' }],
    })
    expect(card.configs).toEqual([{ config_name: 'default', data_files: [{ split: 'train', path: 'data/train-*' }] }])
  })
})

test('a folder of jobs, a trial alone and trials outside any job are found', async () => {
  await storeJob(join(dir, 'jobs/one'), trials.slice(0, 1))
  await storeJob(join(dir, 'jobs/two'), trials.slice(1, 2), 'packed')
  await mkdir(join(dir, 'loose'))
  await cp(join(dir, 'jobs/one/hello__Good111'), join(dir, 'loose/hello__Good111'), { recursive: true })
  const exported = async (...argv: string[]) => {
    const result = JSON.parse(
      await run(exportTraces, '--form', 'readable', ...argv, '--out', out, '--overwrite', '--json'),
    )
    return result.inputs.map((input: { job: string; trials: number }) => [input.job, input.trials])
  }
  expect(await exported('-p', join(dir, 'jobs'))).toEqual([
    ['one', 1],
    ['two', 1],
  ])
  expect(await exported('-p', join(dir, 'loose'))).toEqual([['loose', 1]])
  expect(await exported('-p', join(dir, 'loose/hello__Good111'))).toEqual([['loose', 1]])
  expect(await exported('-p', dir, '--recursive')).toEqual([
    ['one', 1],
    ['two', 1],
    ['loose', 1],
  ])
  await expect(run(exportTraces, '--form', 'readable', '-p', dir, '--out', join(dir, 'x'))).rejects.toMatchObject({
    hint: expect.stringContaining('--recursive'),
  })
})

test('a directory that Harbor made is exported, and what has no trajectory is counted', async () => {
  await cp('test/fixtures/harbor-job/made-by-harbor', join(dir, 'made'), { recursive: true })
  await cp('test/fixtures/traces/plain/agent', join(dir, 'made/hello__AbC23de/agent'), { recursive: true })
  const result = JSON.parse(
    await run(exportTraces, '--form', 'readable', '-p', join(dir, 'made'), '--out', out, '--json'),
  )
  expect(result).toMatchObject({ trials: 4, exported: 1, rows: 1, drops: { 'no-trajectory': 3 } })
  expect(await rowsOf(out)).toMatchObject([
    { task: 'org/hello', result: '1.0', agent: 'terminus-2', job: 'made', input_tokens: 1200n, verifier_output: null },
  ])
})

test('filters, episodes and shards are as asked for', async () => {
  await storeJob(join(dir, 'one'), trials)
  await run(
    exportTraces,
    '--form',
    'readable',
    '-p',
    join(dir, 'one'),
    '--out',
    out,
    '--filter',
    'success',
    '--episodes',
    'all',
    '--subagents',
    'drop',
    '--shard-rows',
    '2',
  )
  expect((await readdir(join(out, 'data'))).sort()).toEqual([
    'train-00000-of-00003.parquet',
    'train-00001-of-00003.parquet',
    'train-00002-of-00003.parquet',
  ])
  const rows = await rowsOf(out)
  expect(rows).toHaveLength(6)
  expect(new Set(rows.map(({ result }) => result))).toEqual(new Set(['1.0']))
  expect((await json(join(out, 'manifest.json'))).drops).toEqual({ 'filtered-by-result': 2, 'subagent-left-out': 2 })
})

test('one broken job or trial does not keep the others out', async () => {
  await storeJob(join(dir, 'jobs/one'), [
    ...trials.slice(0, 1),
    {
      record: agentRecord({ name: 'hello__Cut1111' }),
      files: (trial) => void writeTrajectory(trial, '{"schema_version"'),
    },
  ])
  await mkdir(join(dir, 'jobs/broken'))
  await writeFile(join(dir, 'jobs/broken/config.json'), '{"n_attempts": "many"}')
  const result = JSON.parse(
    await run(exportTraces, '--form', 'readable', '-p', join(dir, 'jobs'), '--out', out, '--json'),
  )
  expect(result).toMatchObject({ rows: 1, drops: { 'job-unreadable': 1, 'trajectory-unreadable': 1 } })
})

test('an existing target is refused, and --overwrite replaces only an earlier export', async () => {
  await storeJob(join(dir, 'one'), trials.slice(0, 1))
  await mkdir(join(dir, 'precious'))
  await writeFile(join(dir, 'precious/thesis.txt'), 'years of work')
  const ask = (target: string, ...more: string[]) =>
    run(exportTraces, '--form', 'readable', '-p', join(dir, 'one'), '--out', target, ...more)
  await expect(ask(join(dir, 'precious'))).rejects.toMatchObject({ name: 'UserError' })
  await expect(ask(join(dir, 'precious'), '--overwrite')).rejects.toMatchObject({ name: 'UserError' })
  expect(await readFile(join(dir, 'precious/thesis.txt'), 'utf8')).toBe('years of work')
  await ask(out)
  await writeFile(join(out, 'stale'), '')
  await expect(ask(out)).rejects.toMatchObject({ name: 'UserError' })
  await ask(out, '--overwrite')
  expect(await readdir(out)).not.toContain('stale')
  expect((await readdir(dir)).filter((name) => name.startsWith('.'))).toEqual([])
})

test('nothing is left when an export fails', async () => {
  await storeJob(join(dir, 'one'), trials.slice(0, 2), 'packed')
  await rm(join(dir, 'one/packed/segment-00000.tar.gz'))
  // Without its data file, an index is not trusted, so the job is empty; without an index, it is no job of trials.
  await writeFile(join(dir, 'one/packed/index.jsonl'), 'no index\n')
  await expect(run(exportTraces, '--form', 'readable', '-p', join(dir, 'one'), '--out', out)).rejects.toMatchObject({
    name: 'UserError',
  })
  expect((await readdir(dir)).sort()).toEqual(['one'])
})

test.each([
  [['-p', '/nowhere/at/all'], 'nothing there'],
  [['-p', 'package.json'], 'a file'],
])('wrong paths are told in two lines: %s', async (argv, message) => {
  await expect(run(exportTraces, '--form', 'readable', ...argv, '--out', out)).rejects.toThrow(message)
})

test('stats say the same about a job and about the dataset made of it', async () => {
  await storeJob(join(dir, 'one'), trials)
  await run(exportTraces, '--form', 'readable', '-p', join(dir, 'one'), '--out', out)
  const ofJob = JSON.parse(await run(stats, '-p', join(dir, 'one'), '--json'))
  expect(ofJob).toMatchObject({
    schema: 'trace-stats/1',
    traces: 5,
    trials: 4,
    withoutTrace: 1,
    outcomes: { solved: 2, 'not solved': 1, 'failed: model: ModelError': 1 },
    turns: { count: 3, min: 3, max: 3 },
    tasks: [{ task: 'org/hello', trials: 4, solved: 2 }],
    prompts: { distinct: 3, acrossTasks: [] },
  })
  const ofDataset = JSON.parse(await run(stats, '-p', out, '--json'))
  const ofFile = JSON.parse(await run(stats, join(out, 'data/train-00000-of-00001.parquet'), '--json'))
  expect(ofFile).toEqual(ofDataset)
  expect(ofDataset).toMatchObject({
    traces: 5,
    trials: 3,
    turns: ofJob.turns,
    outputTokens: { ...ofJob.outputTokens, count: 3, sum: 240 },
  })
})

test('rows say why their trial failed, as a report of the jobs wrote it', async () => {
  await storeJob(join(dir, 'one'), trials)
  const labels = join(dir, 'labels.jsonl')
  await run(report, join(dir, 'one'), '--labels', labels)
  const judged = {
    job: 'one',
    trial: 'hello__Wrong11',
    task: 'x',
    judge: 'm',
    labels: [{ mode: 'gave up', quote: 'q' }],
  }
  await appendFile(labels, `${JSON.stringify(judged)}\n`)
  const exported = ['--form', 'readable', '-p', join(dir, 'one'), '--out', out, '--format', 'parquet,jsonl']
  await run(exportTraces, ...exported, '--labels', labels)
  const modesOf = (rows: Record<string, unknown>[]) =>
    new Map(
      rows.map((row) => [
        row.trial_name,
        (row.failure_modes as { mode: string; by: string }[]).map(({ mode, by }) => [mode, by]),
      ]),
    )
  const found = modesOf(await rowsOf(out))
  expect(found.get('hello__Good111')).toEqual([])
  expect(found.get('hello__Wrong11')?.at(-1)).toEqual(['gave up', 'm'])
  expect(found.get('hello__Wrong11')?.[0]?.[1]).toBe('rules')
  expect(modesOf(await lines(join(out, 'jsonl/train-00000-of-00001.jsonl')))).toEqual(found)
  expect(await readFile(join(out, 'README.md'), 'utf8')).toContain('| failure_modes |')
  await run(exportTraces, ...exported, '--overwrite')
  expect((await rowsOf(out))[0]).not.toHaveProperty('failure_modes')
})

test('labels that are none, or of other trials, are refused and nothing is written', async () => {
  await storeJob(join(dir, 'one'), trials)
  const labels = join(dir, 'labels.jsonl')
  const exported = () =>
    run(exportTraces, '--form', 'readable', '-p', join(dir, 'one'), '--out', out, '--labels', labels)
  await expect(exported()).rejects.toThrow('expected a file of labels, got ENOENT')
  await writeFile(labels, '{"job": "one"}\n')
  await expect(exported()).rejects.toThrow('line 1: expected labels of a trial')
  await writeFile(labels, '{"job": "two", "trial": "x", "labels": []}\n')
  await expect(exported()).rejects.toThrow('got those of other trials')
  expect(await readdir(dir)).toEqual(['labels.jsonl', 'one'])
})

test('stats count phrases by who said them, in a job and in the dataset made of it alike', async () => {
  await storeJob(join(dir, 'one'), trials)
  await run(exportTraces, '--form', 'readable', '--turns', 'recorded', '-p', join(dir, 'one'), '--out', out)
  const [row] = (await rowsOf(out)) as { conversations: { role: string; content: string }[] }[]
  const said = row?.conversations.find(({ role }) => role === 'assistant')?.content.slice(0, 12) ?? ''
  const counted = ['--count', said, '--count', 'never said', '--count', said]
  const ofJob = JSON.parse(await run(stats, '-p', join(dir, 'one'), ...counted, '--json'))
  const ofDataset = JSON.parse(await run(stats, '-p', out, ...counted, '--json'))
  expect(ofJob.phrases).toEqual(ofDataset.phrases)
  expect(ofJob.phrases).toEqual([
    {
      phrase: said,
      traces: expect.any(Number),
      roles: expect.arrayContaining([expect.objectContaining({ role: 'assistant' })]),
    },
    { phrase: 'never said', traces: 0, roles: [] },
  ])
  expect(await run(stats, '-p', out, ...counted)).toMatch(/never said +- +0 +0 +0/)
  await expect(run(stats, '-p', out, '--count', '')).rejects.toThrow('--count: expected a text')
  expect(JSON.parse(await run(stats, '-p', out, '--json'))).not.toHaveProperty('phrases')
})

test('a page of stats goes into a pipe without taking its place', async () => {
  await storeJob(join(dir, 'one'), [{ record: agentRecord(), files: 'plain' }])
  const pipe = join(dir, 'pipe')
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0)
  const reader = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'inherit'] })
  // Start reading at once: output that is still unread when a program exits is discarded.
  const read = text(reader.stdout)
  await run(stats, '-p', join(dir, 'one'), '--html', pipe)
  expect(await read).toContain('</html>')
})

test('stats are a table, a page and plots, and names in them stay text', async () => {
  const name = '<script>alert(1)</script>\u001b[2J'
  const base = agentRecord()
  const record = agentRecord({ task: { ...base.task, name } })
  await storeJob(join(dir, 'one'), [{ record, files: 'plain' }])
  const printed = await run(
    stats,
    '-p',
    join(dir, 'one'),
    '--html',
    join(dir, 'page.html'),
    '--svg',
    join(dir, 'plots'),
  )
  expect(printed).toContain('1 traces of 1 trials')
  expect(printed).not.toContain('\u001b')
  const page = await readFile(join(dir, 'page.html'), 'utf8')
  expect(page).toContain('&#60;script&#62;')
  expect(page).not.toContain('<script')
  expect((await readdir(join(dir, 'plots'))).sort()).toEqual([
    'cost-usd.svg',
    'input-tokens.svg',
    'outcomes.svg',
    'output-tokens.svg',
    'results.svg',
    'solved-by-task.svg',
    'turns.svg',
  ])
})

test('stats of a file that is no parquet, or of another kind, are the user’s error', async () => {
  await writeFile(join(dir, 'x.parquet'), 'PAR1 not really')
  await expect(run(stats, join(dir, 'x.parquet'))).rejects.toMatchObject({ name: 'UserError' })
  await expect(run(stats, 'test/fixtures/task-parquet')).rejects.toMatchObject({ name: 'UserError' })
  await expect(run(stats)).rejects.toMatchObject({ name: 'UserError' })
  await expect(run(stats, join(dir, 'missing.parquet'))).rejects.toThrow('nothing there')
})

test.each(['harbor', 'packed'] as const)(
  'show prints the steps of a trial in %s layout, continuations too',
  async (layout) => {
    await storeJob(join(dir, 'one'), trials, layout)
    const all = await run(show, join(dir, 'one/hello__Long111'))
    expect(all.match(/^\[\d+\] \w+/gm)).toEqual(
      ['user', 'agent', 'system', 'user', 'user', 'agent', 'user', 'agent', 'agent'].map(
        (who, i) => `[${i + 1}] ${who}`,
      ),
    )
    const step = await run(show, 'one/hello__Good111', '--jobs-dir', dir, '--step', '2')
    expect(step).toContain('thinks:\n    An echo will do.')
    expect(step).toContain('"duration": 1.0')
    expect(step).not.toContain('[3]')
    await expect(run(show, join(dir, 'one/hello__Good111'), '--step', '9')).rejects.toThrow('up to 4')
    await expect(run(show, join(dir, 'one/hello__Broken1'))).rejects.toThrow('no agent/trajectory.json')
    await expect(run(show, join(dir, 'one/nobody'))).rejects.toMatchObject({ name: 'UserError' })
    await expect(run(show, 'hello__Good111')).rejects.toThrow('JOB/TRIAL')
  },
)

test('show sends no control character to the terminal and shortens what is long', async () => {
  const steps = [
    {
      step_id: 1,
      source: 'user',
      message: [
        { type: 'text', text: 'look' },
        { type: 'image', source: {} },
      ],
    },
    { step_id: 2, source: 'agent\u001b', message: 'x' },
  ]
  const hostile = {
    step_id: 2,
    source: 'agent',
    message: `\u001b]0;owned\u0007${'long '.repeat(5000)}end`,
    model_name: 'm\u001b[1m',
  }
  await storeJob(join(dir, 'one'), [
    {
      record: agentRecord({ name: 'a__1' }),
      files: (trial) => writeTrajectory(trial, JSON.stringify(someTrajectory({ steps: [steps[0], hostile] }))),
    },
    {
      record: agentRecord({ name: 'a__2' }),
      files: (trial) => writeTrajectory(trial, JSON.stringify(someTrajectory({ steps }))),
    },
  ])
  const printed = await run(show, join(dir, 'one/a__1'))
  expect(printed).toContain('[image]')
  expect(printed).toContain('\\x1b]0;owned\\x07')
  expect(printed).toMatch(/\[\.\.\. \d+ more characters/)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(printed).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
  expect(await run(show, join(dir, 'one/a__1'), '--full')).toContain('long end')
  await expect(run(show, join(dir, 'one/a__2'))).rejects.toMatchObject({ name: 'UserError' })
})

function writeTrajectory(trial: string, text: string): void {
  mkdirSync(join(trial, 'agent'))
  writeFileSync(join(trial, 'agent/trajectory.json'), text)
}

test('head prints the first rows of an export, and of JSON lines of anyone, with nothing a terminal obeys', async () => {
  await storeJob(join(dir, 'job'), trials, 'harbor')
  await run(exportTraces, '-p', join(dir, 'job'), '--out', out, '--form', 'readable')
  const printed = await run(head, out, '-n', '2')
  expect(printed.match(/^== row /gm)).toHaveLength(2)
  expect(printed).toMatch(/^== row 0 · task org.hello · from tasks · result 1\.0 · /m)
  expect(printed).toMatch(/^user:\n {4}\S/m)
  const file = join(dir, 'any.jsonl')
  const rows = ['\x1b[2Jhidden', 'x'.repeat(5000)].map((text) => ({ messages: [{ role: 'user', content: text }] }))
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const hostile = await run(head, file)
  expect(hostile).not.toContain('\x1b')
  expect(hostile).toContain('more characters, --full shows them')
})

test('head prints whole rows as JSON, and refuses what is no dataset', async () => {
  await writeFile(join(dir, 'any.jsonl'), '{"messages":[{"role":"user","content":"a\\u001bb"}],"score":3}\n')
  const line = await run(head, join(dir, 'any.jsonl'), '--json')
  expect(line).not.toContain('\x1b')
  expect(JSON.parse(line)).toEqual({ messages: [{ role: 'user', content: 'a\x1bb' }], score: 3 })
  await expect(run(head, join(dir, 'none'))).rejects.toThrow('expected a dataset, found nothing there')
})
