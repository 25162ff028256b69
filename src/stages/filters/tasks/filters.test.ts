import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StageEntry } from '../../../core/recipe.ts'
import type { TaskRow } from '../../../core/row.ts'
import type { AnyStage, StageServices } from '../../../core/stage.ts'
import { packDirToBytes } from '../../../lib/tar.ts'
import { makeAnyStage } from '../../../plugins/make-stage.ts'
import { resolveRecipe } from '../../../run/recipe/resolve.ts'
import { runRecipe } from '../../../run/recipe/run-recipe.ts'

let dir: string
/** The filter's result, as passed to the sink below it. */
let told: unknown
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

type Made = Partial<TaskRow> & { readonly id: string }

/** Runs one filter over rows; returns the ids it kept and why it dropped the others. */
async function filter(rows: readonly Made[], entry: StageEntry): Promise<{ kept: string[]; drops: object }> {
  const source: AnyStage = {
    kind: 'source',
    gives: 'task',
    async *rows() {
      for (const row of rows) yield taskRow(row)
    },
  }
  let kept: string[] = []
  told = null
  const sink: AnyStage = {
    kind: 'exporter',
    takes: 'task',
    async write({ view }, { sql, made }) {
      told = made.stages.find(({ id }) => id === 'filter')?.result
      kept = (await sql.rows(`SELECT id FROM ${view} ORDER BY row`)).map(({ id }) => String(id))
      return { counts: {}, files: [] }
    },
  }
  const own: Record<string, AnyStage> = { source, sink }
  const recipe = await resolveRecipe(
    { name: 'test', seed: 7, stages: [{ use: 'source' }, { ...entry, id: 'filter' }, { use: 'sink' }] },
    async (use, options) => own[use] ?? makeAnyStage(use, options),
  )
  const signal = new AbortController().signal
  const { steps } = await runRecipe({
    recipe,
    dir: join(dir, 'run'),
    services: {} as StageServices,
    signal,
    shardRows: 3,
  })
  const counts = steps.flatMap(({ manifest }) => manifest.counts).find(({ id }) => id === 'filter')
  return { kept, drops: counts?.drops ?? {} }
}

function taskRow({ id, ...rest }: Made): TaskRow {
  const plain = { name: id, source: 'a', instruction: `do ${id}`, digest: id, lineage: null, signals: {} }
  return { id, ...plain, archive: new Uint8Array(), ...rest }
}

const long = 'find every log file under the data folder that mentions the word timeout and count its lines per day'

test('the first of tasks with the same instruction stays, however it is laid out', async () => {
  const rows = [
    { id: 'a', instruction: 'Sort the file' },
    { id: 'b', instruction: 'sort  the\nfile' },
    { id: 'c', instruction: 'sort the files' },
  ]
  expect(await filter(rows, { use: 'filters/tasks/exact-duplicates' })).toEqual({
    kept: ['a', 'c'],
    drops: { duplicate: 1 },
  })
})

test('the first of tasks that say nearly the same stays', async () => {
  const filler =
    'then write the totals to a report in the same folder sorted by day with one line for each of them please'
  const rows = [
    { id: 'a', instruction: `${long} ${filler}` },
    { id: 'b', instruction: `${long} ${filler} today` },
    { id: 'c', instruction: 'rename all photos by the date they were taken' },
  ]
  expect(await filter(rows, { use: 'filters/tasks/near-duplicates' })).toEqual({
    kept: ['a', 'c'],
    drops: { 'near-duplicate': 1 },
  })
})

test("a task that contains a benchmark's words is dropped, and the report says which benchmark", async () => {
  const packs = join(dir, 'packs')
  mkdirSync(packs)
  const pack = [
    { id: 'tb-1', instruction: `Please ${long}.` },
    { id: 'tb-2', instruction: 'hello world' },
  ]
  writeFileSync(join(packs, 'bench.jsonl'), pack.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const rows = [
    { id: 'copied', instruction: `An old task. ${long.toUpperCase()} And more.` },
    { id: 'whole', instruction: 'Hello, world!' },
    { id: 'clean', instruction: 'count the lines of a log file per day' },
  ]
  const result = await filter(rows, {
    use: 'filters/tasks/decontaminated',
    with: { packs, benchmarks: ['bench', 'absent'], waive: ['absent'] },
  })
  expect(result).toEqual({ kept: ['clean'], drops: { contaminated: 2 } })
  expect(told).toMatchObject({ benchmarks: [{ name: 'bench', tasks: 2 }], waived: ['absent'], dropped: 2 })
})

test('what decontamination tells readers is told of the rows they get, not of those that were made last', async () => {
  writeFileSync(join(dir, 'bench.jsonl'), `${JSON.stringify({ id: 'tb-1', instruction: `Please ${long}.` })}\n`)
  const rows = [{ id: 'copied', instruction: `An old task. ${long} And more.` }, { id: 'clean' }]
  const words = (count: number) => ({
    ...{ use: 'filters/tasks/decontaminated', with: { packs: dir, benchmarks: ['bench'], words: count } },
  })
  for (const [count, dropped] of [8, 40, 8].map((words) => [words, words === 8 ? 1 : 0] as const)) {
    await filter(rows, words(count))
    expect(told).toMatchObject({ words: count, dropped })
  }
})

test('a missing pack of a benchmark is an error unless it is waived by name', async () => {
  const missing = { use: 'filters/tasks/decontaminated', with: { packs: dir, benchmarks: ['gaia'] } }
  await expect(filter([{ id: 'a' }], missing)).rejects.toThrow(/expected a pack of gaia/)
})

const numbered = Array.from({ length: 10 }, (_, i) => ({
  id: `t${i}`,
  source: i < 7 ? 'x' : 'y',
  signals: { score: i },
}))

test('a random sample has the size asked for and is the same each time', async () => {
  const entry = { use: 'filters/tasks/random', with: { keep: 4 } }
  const first = await filter(numbered, entry)
  expect(first.kept).toHaveLength(4)
  rmSync(join(dir, 'run'), { recursive: true })
  expect(await filter(numbered, entry)).toEqual(first)
})

test('a stratified sample takes as many of each source, or all there are', async () => {
  const { kept, drops } = await filter(numbered, { use: 'filters/tasks/stratified', with: { each: 4 } })
  expect([kept.filter((id) => id < 't7').length, kept.filter((id) => id >= 't7').length]).toEqual([4, 3])
  expect(drops).toEqual({ 'stratum-full': 3 })
})

test('a sample by skills has enough of each, of rare ones all there are, and says what is missing', async () => {
  const rows = Array.from({ length: 40 }, (_, i) => ({
    id: `t${String(i).padStart(2, '0')}`,
    instruction: i === 39 ? 'use awk and sed' : i % 10 === 3 ? 'use sed' : 'use find',
  }))
  const skills = { find: '\\bfind\\b', sed: { pattern: '\\bsed\\b', least: 3 }, awk: '\\bawk\\b', perl: 'perl' }
  const { kept, drops } = await filter(rows, {
    use: 'filters/tasks/skills',
    with: { keep: 5, skills, least: 2, look: 'instruction' },
  })
  expect(drops).toEqual({ 'skills-covered': 35 })
  expect(kept).toContain('t39')
  expect(told).toEqual({
    skills: [
      { name: 'find', wanted: 2, kept: 2 },
      { name: 'sed', wanted: 3, kept: 3 },
      { name: 'awk', wanted: 2, kept: 1 },
      { name: 'perl', wanted: 2, kept: 0 },
    ],
  })
})

test('a sample by skills looks at the solutions in the archives of tasks', async () => {
  const rows = []
  for (const [id, command] of Object.entries({ a: 'sort x', b: 'sort y', c: 'cut -f 1 x' })) {
    const task = join(dir, id)
    mkdirSync(join(task, 'solution'), { recursive: true })
    writeFileSync(join(task, 'solution/solve.sh'), `#!/bin/sh\n${command}\n`)
    writeFileSync(join(task, 'instruction.md'), 'cut and sort\n')
    rows.push({ id, archive: await packDirToBytes(task) })
  }
  const entry = { use: 'filters/tasks/skills', with: { keep: 1, skills: { cut: '^cut ' }, least: 1 } }
  expect((await filter(rows, entry)).kept).toEqual(['c'])
  const wrong = { use: 'filters/tasks/skills', with: { keep: 1, skills: { cut: '(' } } }
  await expect(filter(rows, wrong)).rejects.toThrow(/regular expression/)
})

test('a range of a signal keeps what lies in it', async () => {
  const rows = [...numbered, { id: 'none' }]
  expect(
    await filter(rows, { use: 'filters/tasks/signal-range', with: { signal: 'score', least: 3, most: 5 } }),
  ).toEqual({
    kept: ['t3', 't4', 't5'],
    drops: { 'score-too-low': 3, 'score-too-high': 4, 'no-score': 1 },
  })
})

test('the top of a signal keeps its order in the set', async () => {
  const rows = [{ id: 'none' }, ...numbered]
  const top = await filter(rows, { use: 'filters/tasks/top-by-signal', with: { signal: 'score', keep: 2 } })
  expect(top).toEqual({ kept: ['t8', 't9'], drops: { 'no-score': 1, 'not-among-the-top': 8 } })
  const scores = { signal: 'score', count: 10, missing: 1, min: 0, median: 4.5, mean: 4.5, max: 9 }
  expect(told).toEqual({ scores: { ...scores, kept: 2, threshold: 8, lowest: false } })
  await filter(rows, { use: 'filters/tasks/top-by-signal', with: { signal: 'score', keep: 3, lowest: true } })
  expect(told).toEqual({ scores: { ...scores, kept: 3, threshold: 2, lowest: true } })
})

test('without any scores, the report has no statistics', async () => {
  await filter([{ id: 'none' }], { use: 'filters/tasks/top-by-signal', with: { signal: 'score', keep: 2 } })
  expect(told).toMatchObject({ scores: { count: 0, missing: 1, min: null, median: null, kept: 0, threshold: null } })
})

const shell = ['sort a file by size', 'list files in a folder', 'count lines of a log', 'rename files in a folder']
const poems = ['write a poem about love', 'tell a story of a king', 'write a song about rain', 'a poem about the sea']
const examples = (name: string, texts: readonly string[]) => {
  const file = join(dir, name)
  writeFileSync(file, texts.map((instruction) => `${JSON.stringify({ instruction })}\n`).join(''))
  return file
}
const candidates = [
  { id: 'shell', instruction: 'sort the lines of a file in a folder by size' },
  { id: 'poem', instruction: 'write a poem about a king and the sea' },
]

test('a classifier learns from examples which tasks are wanted', async () => {
  const sources = { positives: examples('good.jsonl', shell), negatives: examples('bad.jsonl', poems) }
  const result = await filter(candidates, { use: 'filters/tasks/classifier', with: { ...sources, least: 0.5 } })
  expect(result).toEqual({ kept: ['shell'], drops: { 'classifier-too-low': 1 } })
})

test('tasks near wanted examples and far from others are kept, by hashed words', async () => {
  const sources = { positives: examples('good.jsonl', shell), negatives: examples('bad.jsonl', poems) }
  const result = await filter(candidates, { use: 'filters/tasks/similar-to', with: { ...sources, least: 0 } })
  expect(result).toEqual({ kept: ['shell'], drops: { 'not-similar': 1 } })
})

test('embeddings of an endpoint are asked for, and one that is down is blamed on the model', async () => {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const { input } = JSON.parse(body) as { input: string[] }
      const data = input.map((text) => ({ embedding: text.includes('poem') ? [0, 1] : [1, 0] }))
      response.end(JSON.stringify({ data }))
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const embeddings = { apiBase: `http://127.0.0.1:${port}/v1`, model: 'e' }
  const entry = {
    use: 'filters/tasks/similar-to',
    with: { positives: examples('good.jsonl', shell), least: 0.5, embeddings },
  }
  expect((await filter(candidates, entry)).kept).toEqual(['shell'])
  await new Promise((done) => server.close(done))
  rmSync(join(dir, 'run'), { recursive: true })
  await expect(filter(candidates, entry)).rejects.toMatchObject({ boundary: 'model' })
})
