import { mkdirSync, writeFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { makeRecipeRun, writeShareGpt } from '../../../test/view-data-kit.ts'
import { binsOf, type DataRequest } from '../../core/view-data-lists.ts'
import { type HeadRow, headRows } from '../traces/head-rows.ts'
import { viewDataRows } from './dataset-lists.ts'
import { numberOf, viewDataRow, viewRowText } from './dataset-row.ts'
import { DataShelf } from './dataset-shelf.ts'
import { viewDropped, viewRecipe } from './recipe-view.ts'

let dir: string
let shelf: DataShelf | null = null
beforeEach(async () => {
  dir = await makeTempDir()
})
afterEach(async () => {
  await shelf?.close()
  shelf = null
})

const all: DataRequest = {
  ...{ offset: 0, limit: 100, q: '', sort: '', descending: false, result: '', source: '' },
  ...{ turns: [0, 1e9], tokens: [0, 1e9] },
}
const noLink = async () => null

test('jobs and folders of jobs are no datasets, whatever files they hold', async () => {
  mkdirSync(join(dir, 'jobs', 'one'), { recursive: true })
  writeFileSync(join(dir, 'jobs', 'one', 'config.json'), '{}')
  writeFileSync(join(dir, 'jobs', 'one', 'spend.jsonl'), '{}\n')
  writeFileSync(join(dir, 'jobs', 'notes.jsonl'), '{}\n')
  writeShareGpt(join(dir, 'any.jsonl'))
  const paths = [join(dir, 'jobs'), join(dir, 'jobs', 'one'), join(dir, 'any.jsonl'), join(dir, 'none')]
  const opened = await DataShelf.open(paths)
  shelf = opened.shelf
  expect(opened.rest).toEqual([paths[0], paths[1], paths[3]])
  expect(opened.start).toBe('#/data/any.jsonl')
  expect(shelf.list().datasets.map(({ id }) => id)).toEqual(['any.jsonl'])
  // A folder with nothing but files of rows is a dataset too.
  const folder = await DataShelf.open([dir])
  expect(folder.rest).toEqual([])
})

test('rows of anyone are listed, found by their words, and read with bytes that are no text', async () => {
  writeShareGpt(join(dir, 'any.jsonl'))
  ;({ shelf } = await DataShelf.open([join(dir, 'any.jsonl')]))
  const opened = await shelf.dataset('any.jsonl')
  await opened.index.wait(10_000, () => false)
  const list = (ask: Partial<DataRequest>) => viewDataRows(opened.dataset, opened.index, { ...all, ...ask })
  expect(list({})).toMatchObject({ total: 3, complete: true, rows: 3, trouble: null })
  expect(list({ q: 'WEATHER depends' }).items.map(({ number }) => number)).toEqual([0])
  expect(list({ q: '?!' }).total).toBe(0)
  expect(list({ sort: 'tokens', descending: true, limit: 1 }).items[0]?.number).toBe(0)
  const row = await viewDataRow(opened, await numberOf(opened, '1'), { offset: 0, linkOf: noLink })
  expect(row.messages[0]?.content.text).toBe('bad \ufffd\ufffd bytes')
  expect(row.fields).toEqual([{ name: 'score', text: { text: '3' } }])
  await expect(numberOf(opened, '7')).rejects.toThrow('has no row "7"')
  await expect(numberOf(opened, '=x')).rejects.toThrow('has no row "=x"')
})

test('a dataset that breaks off shows what was read and why it stopped', async () => {
  writeFileSync(join(dir, 'broken.jsonl'), 'nonsense\n')
  ;({ shelf } = await DataShelf.open([join(dir, 'broken.jsonl')]))
  const opened = await shelf.dataset('broken.jsonl')
  await opened.index.wait(10_000, () => false)
  expect(viewDataRows(opened.dataset, opened.index, all)).toMatchObject({
    ...{ total: 0, complete: true, trouble: expect.stringContaining('expected one JSON object per line') },
  })
})

test('a run of a recipe shows its flow, what was dropped, and the way, signs and likes of a row', async () => {
  await makeRecipeRun(join(dir, 'small'))
  const opened = await DataShelf.open([join(dir, 'small')])
  shelf = opened.shelf
  expect(opened.rest).toEqual([join(dir, 'small', 'work', 'rollout', 'jobs', 'job')])
  const recipe = await viewRecipe(shelf, shelf.recipe('small'))
  expect(recipe.stages.map(({ id, from, given, dataset }) => [id, from, given, dataset])).toEqual([
    ['rollout', [], 28, 'small:rollout'],
    ['turns', ['rollout'], 25, 'small:turns'],
    ['hacks', ['turns'], 23, 'small:hacks'],
  ])
  const ask = { stage: 'hacks', reason: '', offset: 0, limit: 1 }
  const dropped = await viewDropped(shelf.recipe('small'), ask)
  expect(dropped).toMatchObject({ total: 2, reasons: { 'reads-grader': 1, 'writes-reward': 1 } })
  expect(dropped.items[0]).toMatchObject({
    ...{ reason: 'reads-grader', link: '#/data/small%3Aturns/rows/%3Djob%2Fhack-0__aaaaaaa%2Fmain' },
  })
  const set = await shelf.dataset('small:turns')
  const row = await viewDataRow(set, await numberOf(set, '=job/hack-0__aaaaaaa/main'), { offset: 0, linkOf: noLink })
  expect(row.evidence).toMatchObject([{ message: 3, sign: 'reads-grader', quote: '/tests/test_outputs.py' }])
  const [evidence] = row.evidence
  expect(row.messages[3]?.content.text.slice(evidence?.start, evidence?.end)).toBe('/tests/test_outputs.py')
  expect(row.lineage.map(({ kind, here, dropped: gone }) => [kind, here, gone])).toEqual([
    ...['source', 'task', 'trial', 'rollout'].map((kind) => [kind, false, false]),
    ['turns', true, false],
    ['hacks', false, true],
  ])
  const written = await shelf.dataset('small:dataset')
  await written.index.wait(30_000, () => false)
  const place = written.index.placeOf(await numberOf(written, '=job/task-5__aaaaaaa/main'))
  expect(written.index.similar(place, 0.5, 5).map(({ row: { task }, similarity }) => [task, similarity])).toEqual([
    ['twin', 1],
  ])
  const long = await viewDataRow(written, await numberOf(written, '=job/hostile__aaaaaaa/main'), {
    offset: 0,
    linkOf: noLink,
  })
  const content = long.messages[1]?.content
  expect([content?.text.length, content?.chars]).toEqual([20_000, 5_000_002])
  const rest = await viewRowText(written, long.row.number, { message: 1, part: 'content', from: 5_000_000 })
  expect(rest).toEqual({ text: 'yz', chars: 5_000_002 })
  const first: HeadRow[] = []
  for await (const head of headRows(join(dir, 'small'), 1)) first.push(head)
  expect(first.map(({ facts }) => facts.task)).toEqual(['task-1'])
  const before = shelf.list()
  expect(await shelf.include(join(dir, 'small'))).toEqual(opened.rest)
  expect(shelf.list()).toEqual(before)
  expect(await shelf.include(dir)).toEqual([])
})

test('a manifest that names a directory outside of its run is refused', async () => {
  await makeRecipeRun(join(dir, 'small'))
  const path = join(dir, 'small', 'manifest.json')
  await writeFile(path, (await readFile(path, 'utf8')).replaceAll('"dir": "', '"dir": "../'))
  await expect(DataShelf.open([join(dir, 'small')])).rejects.toThrow('inside the directory')
})

test('numbers fall into bins of one round width, and the few largest share the last', () => {
  expect(binsOf([])).toEqual([])
  expect(binsOf([3, 3, 4])).toEqual([
    { from: 3, to: 4, rows: 2 },
    { from: 4, to: null, rows: 1 },
  ])
  const bins = binsOf([...Array.from({ length: 1000 }, (_, i) => i), 1e9])
  expect(bins.reduce((sum, { rows }) => sum + rows, 0)).toBe(1001)
  expect(bins[0]).toEqual({ from: 0, to: 50, rows: 50 })
  expect(bins.at(-1)).toMatchObject({ to: null })
})
