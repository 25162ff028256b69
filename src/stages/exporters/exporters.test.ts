import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { makeTempDir } from '../../../test/make-task.ts'
import { someTrace } from '../../../test/recipe-traces.ts'
import type { ChatMessage } from '../../core/model.ts'
import type { TaskLineage, TaskRow } from '../../core/row.ts'
import type { Sink } from '../../core/stage.ts'
import type { MadeSoFar, SinkInput, SinkReport } from '../../core/whole-set.ts'
import { unpackTasks } from '../../formats/task-parquet/unpack-tasks.ts'
import { inlineReasoning } from '../../formats/traces/exact-row.ts'
import { shareGptOf } from '../../formats/traces/sharegpt.ts'
import { SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { encodeRow, rowColumns } from '../../store/rows/columns.ts'
import { selectNumbered } from '../../store/rows/shard-sql.ts'
import { taskRowOf } from '../shared/task-row.ts'
import ladder from './ladder.ts'
import rl from './rl.ts'
import sharegpt from './sharegpt.ts'

const plugin = { env: {}, stateDir: '/nonexistent' }
const made: MadeSoFar = {
  recipe: 'test',
  seed: 7,
  sources: { 'shell *tasks*': 12, puzzles: 6 },
  stages: [
    {
      ...{ id: 'few', use: 'filters/few', with: {}, from: [], form: 'stream', takes: 'trace', gives: 'trace' },
      ...{ count: { id: 'few', use: 'filters/few', taken: 9, given: 7, drops: { 'too-few': 2 } }, result: null },
    },
  ],
}

interface Run {
  readonly dir: string
  readonly report: SinkReport
  rows(glob: string): Promise<readonly Readonly<Record<string, unknown>>[]>
}

/** Runs a sink over rows in files of `partRows` each, and passes its directory to `look`. */
async function exporting(
  sink: Sink,
  rows: readonly object[],
  look: (run: Run) => Promise<void>,
  { partRows = 4, seed = 7, stages = made.stages } = {},
): Promise<void> {
  const kind = sink.takes as 'task' | 'trace'
  const work = await makeTempDir()
  const outDir = join(work, 'out')
  await mkdir(outDir)
  await using sql = await SqlDatabase.open({ memoryMb: 300, threads: 2, tempDir: join(work, 'tmp') })
  const parts: SinkInput['parts'][number][] = []
  for (let first = 0; first === 0 || first < rows.length; first += partRows) {
    const some = rows.slice(first, first + partRows)
    const file = join(work, `part-${first}.parquet`)
    await sql.fill(
      'filled',
      rowColumns[kind],
      some.map((row) => encodeRow(kind, row)),
    )
    await sql.run(`COPY filled TO ${sqlText(file)} (FORMAT parquet)`)
    await sql.run('DROP TABLE filled')
    parts.push({ select: selectNumbered({ part: file, kept: null, rows: some.length }, first), rows: some.length })
  }
  await sql.run(`CREATE VIEW input_0 AS ${parts.map(({ select }) => select).join(' UNION ALL ')}`)
  const input = { stage: 'above', view: 'input_0', rows: rows.length, parts }
  const report = await sink.write(input, {
    ...{ seed, signal: new AbortController().signal, workDir: work, log: () => {} },
    ...{ sql, outDir, made: { ...made, stages } },
  })
  const read = (glob: string) => sql.rows(`SELECT * FROM read_parquet(${sqlText(join(outDir, glob))})`)
  await look({ dir: outDir, report, rows: read })
}

const lineageOf = (row: number): TaskLineage => ({
  ...{ pipeline: 'p', strategy: 's', rowId: `row-${row}`, rowDigest: `digest-${row}`, seed: 1 },
})
/** Traces of the given tasks; two tasks per source row, so that a row's tasks could end up on both sides. */
const traces = (tasks: readonly number[]) =>
  tasks.map((task, i) =>
    someTrace({ id: `trace-${i}`, task: `task-${task}`, task_digest: `task-${task}`, lineage: lineageOf(task >> 1) }),
  )
const makeSharegpt = (options: object = {}) => sharegpt.make(sharegpt.options.parse(options), plugin)

test('every row is in the dataset once, in order, and no source task is on both sides', async () => {
  const anyTasks = fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(
      anyTasks,
      fc.double({ min: 0, max: 0.5, noNaN: true }),
      fc.nat(99),
      async (tasks, validation, seed) => {
        const sink = makeSharegpt({ validation, formats: ['parquet'] })
        await exporting(
          sink,
          traces(tasks),
          async ({ rows, report }) => {
            const train = await rows('data/train-*.parquet')
            const held = report.counts.validation === 0 ? [] : await rows('data/validation-*.parquet')
            const ids = (list: typeof train) => list.map(({ id }) => Number(String(id).slice(6)))
            expect([...ids(train), ...ids(held)].sort((a, b) => a - b)).toEqual(tasks.map((_, i) => i))
            for (const side of [ids(train), ids(held)]) expect(side).toEqual(side.toSorted((a, b) => a - b))
            const sources = (list: typeof train) =>
              new Set(list.map(({ lineage }) => JSON.parse(String(lineage)).rowDigest))
            expect([...sources(train)].filter((source) => sources(held).has(source))).toEqual([])
            const distinct = new Set(tasks.map((task) => task >> 1)).size
            if (validation > 0 && distinct > 1) expect(held.length).toBeGreaterThan(0)
          },
          { seed },
        )
      },
    ),
    { numRuns: 6 },
  )
})

test('rungs of the ladder have their size, each holds the one before, and none holds a task of the validation', async () => {
  const sizes = [2, 5, 9, 1000]
  const tasks = Array.from({ length: 24 }, (_, i) => i % 14)
  const held = new Set<unknown>()
  await exporting(makeSharegpt({ validation: 0.2 }), traces(tasks), async ({ rows }) => {
    for (const { task } of await rows('data/validation-*.parquet')) held.add(task)
  })
  await exporting(
    ladder.make(ladder.options.parse({ sizes, validation: 0.2 }), plugin),
    traces(tasks),
    async ({ rows, report, dir }) => {
      expect(report.counts).toEqual({ 2: 2, 5: 5, 9: 9 })
      let before = new Set<unknown>()
      for (const size of [2, 5, 9]) {
        const rung = await rows(`${size}/train-*.parquet`)
        const ids = new Set(rung.map(({ id }) => id))
        expect(ids.size).toBe(size)
        for (const id of before) expect(ids).toContain(id)
        for (const { task } of rung) expect(held).not.toContain(task)
        before = ids
      }
      expect(await readFile(join(dir, 'README.md'), 'utf8')).toContain('config_name: "9"')
    },
  )
  expect(held.size).toBeGreaterThan(0)
})

test.each([
  ['sharegpt', { from: 'human', value: 'Count the words in /app/text.' }, ['from', 'value', 'human', 'gpt']],
  ['messages', { role: 'user', content: 'Count the words in /app/text.' }, ['role', 'content', 'user', 'assistant']],
])('the LLaMA-Factory description of %s rows matches them', async (spelling, first, words) => {
  await exporting(makeSharegpt({ spelling }), traces([0, 2, 4, 6, 8]), async ({ dir, rows }) => {
    const info = JSON.parse(await readFile(join(dir, 'dataset_info.json'), 'utf8'))
    const training = parse(await readFile(join(dir, 'train.yaml'), 'utf8'))
    // Rows are ordered attempt by attempt; a trainer must shuffle them.
    expect(training).not.toHaveProperty('disable_shuffling')
    const named = [...training.dataset.split(','), ...training.eval_dataset.split(',')]
    expect(named).toEqual(Object.keys(info))
    for (const { file_name, columns, tags } of Object.values<never>(info)) {
      const [row = {}] = await rows(file_name)
      const [said, answered] = row[(columns as { messages: string }).messages] as never[]
      expect(said).toMatchObject(first)
      const { role_tag, content_tag, user_tag, assistant_tag } = tags
      expect([role_tag, content_tag, user_tag, assistant_tag]).toEqual(words)
      expect(answered).toMatchObject({ [role_tag]: assistant_tag })
    }
    const [line = ''] = (await readFile(join(dir, 'jsonl/train-00000-of-00001.jsonl'), 'utf8')).split('\n')
    expect(Object.values(JSON.parse(line)).find(Array.isArray)?.[0]).toMatchObject(first)
  })
})

test('files are cut by rows and numbered, and the card tells counts, drops and decontamination', async () => {
  const report = { schema: 'decontamination/1', words: 8, similarity: 0.8, dropped: 3, waived: ['gaia'] }
  const result = { ...report, benchmarks: [{ name: 'terminal-bench-2', tasks: 89 }] }
  const stages = made.stages.map((stage) => ({ ...stage, result }))
  const sink = makeSharegpt({ fileRows: 8, validation: 0, formats: ['parquet'] })
  await exporting(
    sink,
    traces(Array.from({ length: 18 }, (_, i) => i)),
    async ({ dir, report: told }) => {
      expect((await readdir(join(dir, 'data'))).sort()).toEqual([0, 1, 2].map((i) => `train-0000${i}-of-00003.parquet`))
      expect(told.counts).toEqual({ train: 18, validation: 0 })
      const card = await readFile(join(dir, 'README.md'), 'utf8')
      expect(parse(card.split('---')[1] ?? '').configs).toEqual([
        { config_name: 'default', data_files: [{ split: 'train', path: 'data/train-*' }] },
      ])
      for (const text of [
        '| few | filters/few | 9 | 7 | too-few 2 |',
        '| shell \\*tasks\\* | 12 | 66.7 % |',
        '| terminal-bench-2 | 89 |',
        'gaia',
        'alike: 3 rows',
      ])
        expect(card).toContain(text)
    },
    { stages },
  )
})

test('no rows make a dataset that opens and is empty', async () => {
  await exporting(makeSharegpt(), [], async ({ rows, report }) => {
    expect(report.counts).toEqual({ train: 0, validation: 0 })
    expect(await rows('data/train-00000-of-00001.parquet')).toEqual([])
  })
})

test("tasks for reinforcement learning are named in every trainer's prompts, and unpack again", async () => {
  const task = (await taskRowOf('examples/tasks/csv-to-json', 'examples')) as TaskRow
  const tasks = [0, 1, 2, 3].map((i) => ({ ...task, id: `examples.${i}`, lineage: lineageOf(i) }))
  await exporting(rl.make(rl.options.parse({ validation: 0.25 }), plugin), tasks, async ({ dir, rows, report }) => {
    expect(report.counts).toEqual({ train: 3, validation: 1 })
    const paths = (await rows('tasks/train-*.parquet')).map(({ path }) => path)
    const [skyrl = {}, verl = {}, trl = {}] = await Promise.all(
      ['skyrl', 'verl', 'trl'].map(async (trainer) => (await rows(`${trainer}/train-*.parquet`))[0]),
    )
    const prompt = [{ role: 'user', content: task.instruction }]
    expect(skyrl).toMatchObject({ prompt, env_class: 'harbor', reward_spec: { ground_truth: task.digest } })
    expect(verl).toMatchObject({ prompt, data_source: 'examples', reward_model: { style: 'rule' } })
    expect(trl).toMatchObject({ prompt, task: paths[0], task_digest: task.digest })
    expect(verl.extra_info).toMatchObject({ task: paths[0], split: 'train' })
    const out = join(dir, 'unpacked')
    expect(await unpackTasks(join(dir, 'tasks/train-00000-of-00001.parquet'), out)).toMatchObject({ unpacked: 3 })
    expect(await taskRowOf(join(out, String(paths[0])), 'examples')).toMatchObject({ digest: task.digest })
  })
})

test('a task that comes again has another prompt and is packed once; one that only shares its name is told apart', async () => {
  const task = (await taskRowOf('examples/tasks/csv-to-json', 'examples')) as TaskRow
  const namesake = { ...((await taskRowOf('examples/tasks/fix-ledger', 'examples')) as TaskRow), id: task.id }
  const other = { ...task, id: 'examples.other' }
  const sink = rl.make(rl.options.parse({ validation: 0 }), plugin)
  await exporting(sink, [task, other, namesake, task, other, other], async ({ dir, rows, report }) => {
    expect(report.counts).toEqual({ train: 6 })
    const names = [`${task.id}-${task.digest.slice(0, 8)}`, other.id, `${task.id}-${namesake.digest.slice(0, 8)}`]
    expect((await rows('tasks/train-*.parquet')).map(({ path }) => path)).toEqual(names)
    const prompts = await rows('trl/train-*.parquet')
    expect(prompts.map((row) => row.task)).toEqual([0, 1, 2, 0, 1, 1].map((i) => names[i]))
    const out = join(dir, 'unpacked')
    expect(await unpackTasks(join(dir, 'tasks/train-00000-of-00001.parquet'), out)).toMatchObject({ unpacked: 3 })
    expect(await readFile(join(dir, 'README.md'), 'utf8')).toContain('3 tasks to learn on and 0 held out')
  })
})

const words = fc.constantFrom('', 'a', 'b\n', '{"x"}', "it's", '\u00e9')
const call = fc.record({
  id: words,
  name: fc.constantFrom('run', 'read'),
  arguments: fc.constantFrom('{"c": "ls"}', '', 'no json'),
})
const anyMessage = fc.record({
  role: fc.constantFrom('system', 'user', 'assistant', 'tool'),
  content: words,
  calls: fc.array(call, { maxLength: 2 }),
})

test('conversations with tools are written as they are elsewhere, whatever follows what', async () => {
  const talks = fc.array(fc.array(anyMessage, { minLength: 1, maxLength: 6 }), { minLength: 20, maxLength: 20 })
  const [sample = []] = fc.sample(talks, { numRuns: 1, seed: 3 })
  const rows = sample.map((talk, i) =>
    someTrace({
      id: `trace-${i}`,
      conversations: talk.map(({ role, content }) => ({ role, content })),
      tool_calls: talk.flatMap(({ role, calls }, message) =>
        role === 'assistant' ? calls.map((each) => ({ message, ...each })) : [],
      ),
    }),
  )
  await exporting(makeSharegpt({ validation: 0, formats: ['parquet'] }), rows, async (run) => {
    const written = await run.rows('data/train-*.parquet')
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value))
    for (const [i, talk] of sample.entries()) {
      const messages = talk.map(
        ({ role, content, calls }): ChatMessage => ({
          role: role as ChatMessage['role'],
          content,
          ...(role === 'assistant' && { toolCalls: calls }),
        }),
      )
      const found = plain(written.find(({ id }) => id === `trace-${i}`)?.conversations)
      // White space inside the JSON of a call is not the model's.
      const loose = (said: readonly { from: string; value: string }[]) =>
        said.map(({ from, value }) => [from, value.replaceAll(': "ls"', ':"ls"')])
      expect(loose(found)).toEqual(loose(shareGptOf(messages)))
    }
  })
})

const marked = (over: object = {}) =>
  someTrace({
    conversations: [
      { role: 'user', content: 'do' },
      { role: 'assistant', content: 'bad' },
      { role: 'user', content: 'what?' },
      { role: 'assistant', content: 'good' },
    ],
    reasoning: [{ message: 3, content: 'hm' }],
    ...over,
  })

test("a trainer's configuration matches how the rows are to be trained on", async () => {
  const last = marked({ train_on: 'last', tool_definitions: '[]' })
  await exporting(makeSharegpt({ validation: 0, reasoning: 'inline' }), [last], async ({ dir, rows }) => {
    expect(parse(await readFile(join(dir, 'train.yaml'), 'utf8'))).toMatchObject({ mask_history: true })
    expect(JSON.parse(await readFile(join(dir, 'dataset_info.json'), 'utf8'))).toMatchObject({
      train_00000: { columns: { messages: 'conversations', tools: 'tools' }, tags: { function_tag: 'function_call' } },
    })
    const [row = {}] = await rows('data/train-*.parquet')
    expect((row.conversations as { value: string }[])[3]?.value).toBe(inlineReasoning('hm', 'good'))
  })
  await exporting(makeSharegpt({ validation: 0 }), [marked()], async ({ dir }) => {
    expect(parse(await readFile(join(dir, 'train.yaml'), 'utf8'))).not.toHaveProperty('mask_history')
    expect(JSON.parse(await readFile(join(dir, 'dataset_info.json'), 'utf8')).train_00000.columns).toEqual({
      messages: 'conversations',
    })
  })
  const flagged = marked({ turn_marks: [{ message: 1, mark: 'masked' }] })
  await exporting(makeSharegpt({ validation: 0, spelling: 'messages' }), [flagged], async ({ rows }) => {
    const [row = {}] = await rows('data/train-*.parquet')
    expect((row.messages as { train: boolean }[]).map(({ train }) => train)).toEqual([false, false, false, true])
  })
  const split = makeSharegpt({ validation: 0, spelling: 'prompt-completion' })
  await exporting(split, [last], async ({ dir, rows }) => {
    const [row = {}] = await rows('data/train-*.parquet')
    expect((row.prompt as { content: string }[]).map(({ content }) => content)).toEqual(['do', 'bad', 'what?'])
    expect(row.completion).toMatchObject([{ role: 'assistant', content: 'good' }])
    expect(await readdir(dir)).not.toContain('train.yaml')
  })
  const nothing = async () => {}
  await expect(exporting(makeSharegpt(), [flagged], nothing)).rejects.toThrow('single messages')
  await expect(exporting(makeSharegpt(), [last, marked({ id: 'other' })], nothing)).rejects.toThrow('1 of 2 rows')
  await expect(exporting(split, [marked()], nothing)).rejects.toThrow('every reply')
})
